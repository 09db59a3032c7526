"""Distributions: the shapes of what they are made of, asked and drawn.

A distribution keeps the shape of its batch and of one event. A draw has both; a log-probability has that of the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jaxaudit.analyses.shapes.broadcast import broadcast, shape_text
from jaxaudit.analyses.shapes.facts import NOTHING, Dims, Layer, ShapeFact, array
from jaxaudit.analyses.shapes.literals import array_like, shape_of
from jaxaudit.analyses.shapes.transfer.look import Look
from jaxaudit.ir import Value
from jaxaudit.libraries.lookup import plays
from jaxaudit.libraries.rows import Row

SHAPES = frozenset(("batch", "event", "dtype"))
"""What the fact of a distribution says about it."""
_EACH = "bijector.each"
_ROLES = frozenset(f"distribution.{kind}" for kind in ("numbers", "choices", "vectors"))


def made(look: Look, name: str, row: Row) -> ShapeFact | None:
    """Return a new distribution with the shapes of its batch and of one event; None where it is none that is known."""
    if _EACH in row.roles:
        return ShapeFact(layer=Layer(name, texts=((_EACH, ""),))) if _is_each(look) else NOTHING
    if "distribution.transformed" in row.roles or "distribution.independent" in row.roles:
        return _composed(look, name, row)
    if not row.roles & _ROLES:
        return None
    given = {key: value for key, value in look.op.arguments.items() if value is not None}
    known = given.keys() <= row.plain | set(row.params)
    dims, _ = broadcast([array_like(look.of(value)).dims for key, value in given.items() if key not in row.plain])
    if not known or dims is None or not (dims or "distribution.numbers" in row.roles):
        return NOTHING
    event = () if "distribution.numbers" in row.roles else dims[-1:]
    batch = dims[: len(dims) - len(event)]
    event = () if "distribution.choices" in row.roles else event
    texts = (("dtype", "asked for"),) if "dtype" in given else ()
    return ShapeFact(layer=Layer(name, (("batch", array(batch)), ("event", array(event))), texts))


def _is_each(look: Look) -> bool:
    """Whether a new bijector changes each number by itself, as all do that it is made of."""
    inner = [fact for one in ("bijector", "bijectors") if look.has(one) for fact in _each_of(look.fact(one))]
    made_of = look.op.arguments.keys() & {"bijector", "bijectors"}
    known = look.op.arguments.keys() <= {"bijector", "bijectors", "ndims", "name"}
    return known and (bool(inner) or not made_of) and all(map(_is_elementwise, inner))


def _each_of(fact: ShapeFact) -> tuple[ShapeFact, ...]:
    return (fact,) if fact.items is None else fact.items


def _is_elementwise(fact: ShapeFact) -> bool:
    return fact.layer is not None and _EACH in fact.layer.names


def _composed(look: Look, name: str, row: Row) -> ShapeFact:
    """Return a distribution of what a bijector makes of another one, or one over arrays of those over their entries."""
    shapes = _shapes_of(look.fact("distribution"))
    if shapes is None or not look.op.arguments.keys() <= row.plain | set(row.params):
        return NOTHING
    batch, event = shapes
    if "distribution.independent" in row.roles:
        count = look.raw("reinterpreted_batch_ndims")
        if not isinstance(count, int) or not 0 <= count <= len(batch):
            return NOTHING
        batch, event = batch[: len(batch) - count], (*batch[len(batch) - count :], *event)
    elif not _is_elementwise(look.fact("bijector")):
        return NOTHING
    return ShapeFact(layer=Layer(name, (("batch", array(batch)), ("event", array(event)))))


def _shapes(look: Look) -> tuple[Dims, Dims] | None:
    """Return the shapes of the batch and of one event."""
    return _shapes_of(look.fact("self"))


def _shapes_of(distribution: ShapeFact) -> tuple[Dims, Dims] | None:
    layer = distribution.layer
    batch, event = (None, None) if layer is None else (layer.get("batch"), layer.get("event"))
    if batch is None or event is None or batch.dims is None or event.dims is None:
        return None
    return batch.dims, event.dims


def _dtype(look: Look) -> str | None:
    layer = look.fact("self").layer
    plain = layer is not None and plays(layer.name, "distribution.choices") and not layer.text("dtype")
    return "int32" if plain else None


def _of_batch(look: Look) -> ShapeFact:
    shapes = _shapes(look)
    return NOTHING if shapes is None else array(shapes[0], "float32")


def _whole(look: Look) -> ShapeFact:
    shapes = _shapes(look)
    return NOTHING if shapes is None else array((*shapes[0], *shapes[1]), _dtype(look))


def _scored(look: Look, name: str) -> ShapeFact:
    """Return the log-probability of a value: its own axes, without those of an event, meet those of the batch."""
    shapes, value = _shapes(look), array_like(look.fact(name)).dims
    if shapes is None or value is None or len(value) < len(shapes[1]):
        return NOTHING
    dims, fit = broadcast([value[: len(value) - len(shapes[1])], shapes[0]])
    look.judge(fit, f"a value {shape_text(value)} and distributions {shape_text((*shapes[0], *shapes[1]))}")
    return array(dims, "float32")


def _compared(look: Look, name: str) -> ShapeFact:
    shapes, other = _shapes(look), look.fact(name).layer
    theirs = None if other is None else other.get("batch")
    dims, _ = broadcast([None if shapes is None else shapes[0], None if theirs is None else theirs.dims])
    return array(dims, "float32") if shapes is not None else NOTHING


def _asked_for(look: Look, name: str) -> Dims | None:
    given = look.raw(name)
    return () if given is None else None if isinstance(given, Value) else shape_of(look.of(given))


def _drawn(look: Look, name: str) -> ShapeFact:
    shapes, shape = _shapes(look), _asked_for(look, name)
    return NOTHING if shapes is None or shape is None else array((*shape, *shapes[0], *shapes[1]), _dtype(look))


def _drawn_scores(look: Look, name: str) -> ShapeFact:
    shapes, shape = _shapes(look), _asked_for(look, name)
    return NOTHING if shapes is None or shape is None else array((*shape, *shapes[0]), "float32")


FUNCTIONS: Mapping[str, Callable[..., ShapeFact]] = {
    "of_batch": _of_batch,
    "whole": _whole,
    "scored": _scored,
    "compared": _compared,
    "drawn": _drawn,
    "drawn_scores": _drawn_scores,
}
"""What distributions are asked for, by the names that rows use."""
