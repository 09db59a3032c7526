"""Trees that say something of the leaves of another tree: axes, specs and shardings, one for each leaf or many."""

from __future__ import annotations

from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.regions import data_leaves
from jaxaudit.frontends.source.values.arguments import known_items
from jaxaudit.frontends.source.values.heap import DictBox
from jaxaudit.frontends.source.values.model import Abstract, Const, Leaf, Ref, Sequence, TupleValue
from jaxaudit.ir import Value

OPTIONS = ("in_axes", "out_axes", "in_shardings", "out_shardings", "in_specs", "out_specs")
"""The options of transformations that speak of the leaves of arguments or results."""


def over_arguments(it: Interpreter, prefix: Abstract, given: tuple[Abstract, ...]) -> list[Abstract | None]:
    """Return the part of a prefix that speaks of each leaf of some arguments: a tuple has one entry for each."""
    entries = entries_of(it, prefix)
    found: list[Abstract | None] = []
    for position, value in enumerate(given):
        missing = entries is not None and position >= len(entries)
        own = prefix if entries is None else None if missing else entries[position]
        found += [None] * len(data_leaves(it, value)) if own is None else over_leaves(it, own, value)
    return found


def entries_of(it: Interpreter, prefix: Abstract) -> tuple[Abstract, ...] | None:
    """Return the entries of a prefix for one argument each; None where it speaks of all of them, or is not known."""
    return known_items(it, prefix) if isinstance(prefix, TupleValue | Ref) and not is_dict(it, prefix) else None


def over_leaves(it: Interpreter, prefix: Abstract, value: Abstract) -> list[Abstract | None]:
    """Return the part of a prefix tree that speaks of each leaf of a value; None where the two cannot be matched."""
    if isinstance(prefix, Const | Leaf):
        return [prefix] * len(data_leaves(it, value))
    if isinstance(prefix, Sequence) and isinstance(value, Sequence):
        return over_leaves(it, prefix.item, value.item)
    if (own := _entries(it, prefix)) is not None and (other := _entries(it, value)) is not None:
        if own.keys() == other.keys():
            return [part for key, one in other.items() for part in over_leaves(it, own[key], one)]
    elif not is_dict(it, value) and (parts := known_items(it, value)) is not None:
        said = known_items(it, prefix)
        if said is not None and len(said) == len(parts):
            return [one for own, part in zip(said, parts, strict=True) for one in over_leaves(it, own, part)]
    return [None] * len(data_leaves(it, value))


def placings(it: Interpreter, prefix: Abstract, given: tuple[Abstract, ...]) -> tuple[Value | None, ...]:
    """Return the values that say where the leaves of arguments live; None where nothing does, or it is not known."""
    entries = entries_of(it, prefix)
    fits = entries is None or len(entries) == len(given)
    return tuple(map(placing, over_arguments(it, prefix, given))) if fits else ()


def placing(part: Abstract | None) -> Value | None:
    """Return the value that says where a leaf lives."""
    return part.value if isinstance(part, Leaf) else None


def axis(part: Abstract | None) -> int | str | None:
    """Return the axis that an entry of `in_axes` or `out_axes` names, also for arrays alone: `eqx.if_array(0)`.

    It is `?` where it is not known.
    """
    part = part.holds if isinstance(part, Leaf) else part
    known = isinstance(part, Const) and (part.value is None or isinstance(part.value, int))
    return part.value if known else "?"  # type: ignore[union-attr,return-value]


def is_dict(it: Interpreter, value: Abstract) -> bool:
    """Whether a value is a dict whose entries are known."""
    return _entries(it, value) is not None


def _entries(it: Interpreter, value: Abstract) -> dict[object, Abstract] | None:
    box = it.heap[value] if isinstance(value, Ref) else None
    return dict(box.entries) if isinstance(box, DictBox) else None
