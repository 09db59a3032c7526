"""What is donated to a call, and which results can take these buffers. JAX leaves the others alone, and warns."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from string import ascii_lowercase

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.facts import ShapeFact
from jaxaudit.ir import Op, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.interfaces import given_to
from jaxaudit.ir.ops import NOTES
from jaxaudit.ir.trees import Tree
from jaxaudit.rules.trees import nodes

_HELD = ("py.item", "py.attr")
_WHOLE = {
    **dict.fromkeys(("all", "warn"), slice(None)),
    **dict.fromkeys(("all-except-first", "warn-except-first"), slice(1, None)),
}
"""Which arguments the words of `equinox.filter_jit` give away."""


def donated(op: Op, shapes: Shapes) -> list[Value] | None:
    """Return the values that are donated, of trees those in it; None where that is not known."""
    places, border = donated_places(op), op.border
    if places == []:
        return []
    if border is None or border.open_ended or places is None:
        return None
    parts = [node for one in places for node in nodes(border.trees[one])]
    if op.option("donate") is not None:
        # Everything may be used, and what nothing takes the place of stays as it is.
        heirs = [node for node in parts if has_heir(node, op, shapes)]
        return list(dict.fromkeys(value for node in heirs for value in node.values()))
    if any(node.kind == "outside" for node in parts):
        return None
    return [node.value for node in parts if node.value is not None]


def donated_places(op: Op) -> list[int] | None:
    """Return the positions of the arguments that a call may donate; None where they are not known."""
    said = [op.option(name) for name in ("donate_argnums", "donate_argnames", "donate")]
    given = [one for part in said if part is not None for one in (part if isinstance(part, tuple) else (part,))]
    border = op.border
    if border is None or not all(isinstance(one, int | str) for one in given):
        return None if given else []
    count = len(border.trees)
    words = _WHOLE.get(str(said[2]), slice(0, 0))
    numbers = [one % count for one in given if isinstance(one, int) and -count <= one < count]
    return sorted({*numbers, *range(count)[words], *(at for at in range(count) if border.name(at) in given)})


def has_heir(node: Tree, op: Op, shapes: Shapes) -> bool:
    """Whether a call gives something of the same type, which takes the buffer over."""
    given = nodes(op.returned) if op.returned is not None else ()
    if node.name and any(one.kind == node.kind and one.name == node.name for one in given):
        return True
    fact = ShapeFact() if node.value is None else shapes.of(node.value)
    made = ((one.dims, one.dtype) for one in map(shapes.of, op.results))
    return bool(fact.dims) and (fact.dims, fact.dtype) in made


def is_left_alone(call: Op, value: Value, flow: Flow, shapes: Shapes) -> bool:
    """Whether each result of a call surely has another size than an argument."""
    made = call.regions[0].results if call.regions else ()
    return bool(made) and all(
        _is_other(shapes.of(one), shapes.of(value)) or _is_joined(one, value, call, flow) for one in made
    )


def _is_other(made: ShapeFact, given: ShapeFact) -> bool:
    """Whether two arrays surely take up different amounts of memory: a buffer goes to another shape and dtype too."""
    first, second = _bits(made), _bits(given)
    return first is not None and second is not None and first != second


def _bits(fact: ShapeFact) -> int | None:
    """Return how large an array is, where that is known."""
    sizes = [size for size in fact.dims or () if isinstance(size, int)]
    width = (fact.dtype or "").lstrip(ascii_lowercase)
    if fact.dims is None or len(sizes) < len(fact.dims) or not width.isdigit():
        return None
    return prod(sizes) * int(width)


def _is_joined(made: Value, value: Value, call: Op, flow: Flow) -> bool:
    """Whether a result is an argument and something else, one behind the other."""
    maker = flow.maker(made)
    if maker is not None and maker.name == "tree.map" and len(maker.regions[0].results) == 1:
        maker = flow.maker(maker.regions[0].results[0])
    items = [*values_in(maker.arguments.get("arrays"))] if maker is not None and maker.name == "array.join" else []
    inside = {param for param, given in given_to(call, call.regions[0]) if given is value}
    parts = {one for part in items for one in (part, *_trees(part, flow))}
    return len(items) > 1 and not inside.isdisjoint(parts)


def _trees(part: Value, flow: Flow) -> Iterator[Value]:
    """Return the trees that a map over leaves takes a leaf from."""
    region = flow.places.owner.get(part)
    holder = None if region is None else flow.places.holder.get(id(region))
    if region is not None and holder is not None and holder.name == "tree.map":
        yield from (given for param, given in given_to(holder, region) if param is part)


def is_held_on(value: Value, flow: Flow) -> bool:
    """Whether the object that a value was taken from is used further."""
    maker = flow.maker(value)
    if maker is None or maker.name not in _HELD or not maker.operands:
        return False
    base = maker.operands[0]
    used = (one for one in flow.readers.get(base, ()) if one.name not in _HELD and _reads(one))
    return base in flow.leaving or any(used) or is_held_on(base, flow)


def _reads(op: Op) -> bool:
    return op.name not in NOTES and op.name != "array.shape"
