"""Trees that say something of the leaves of another tree: axes, specs and shardings, one for each leaf or many."""

from __future__ import annotations

from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.regions import data_leaves
from jaxaudit.frontends.source.values.arguments import known_items
from jaxaudit.frontends.source.values.heap import DictBox
from jaxaudit.frontends.source.values.model import Abstract, Const, Leaf, Ref, TupleValue
from jaxaudit.ir import Value


def over_arguments(it: Interpreter, prefix: Abstract, given: tuple[Abstract, ...]) -> list[Abstract | None]:
    """Return the part of a prefix that speaks of each leaf of some arguments: a tuple has one entry for each."""
    entries = known_items(it, prefix) if isinstance(prefix, TupleValue | Ref) and not is_dict(it, prefix) else None
    found: list[Abstract | None] = []
    for position, value in enumerate(given):
        missing = entries is not None and position >= len(entries)
        own = prefix if entries is None else None if missing else entries[position]
        found += [None] * len(data_leaves(it, value)) if own is None else over_leaves(it, own, value)
    return found


def over_leaves(it: Interpreter, prefix: Abstract, value: Abstract) -> list[Abstract | None]:
    """Return the part of a prefix tree that speaks of each leaf of a value; None where the two cannot be matched."""
    if isinstance(prefix, Const | Leaf):
        return [prefix] * len(data_leaves(it, value))
    if (own := _entries(it, prefix)) is not None and (other := _entries(it, value)) is not None:
        if own.keys() == other.keys():
            return [part for key, one in other.items() for part in over_leaves(it, own[key], one)]
    elif not is_dict(it, value) and (parts := known_items(it, value)) is not None:
        said = known_items(it, prefix)
        if said is not None and len(said) == len(parts):
            return [one for own, part in zip(said, parts, strict=True) for one in over_leaves(it, own, part)]
    return [None] * len(data_leaves(it, value))


def placings(parts: list[Abstract | None]) -> tuple[Value | None, ...]:
    """Return the values that say where leaves live; None where nothing does, or it is not known."""
    return tuple(part.value if isinstance(part, Leaf) else None for part in parts)


def is_dict(it: Interpreter, value: Abstract) -> bool:
    """Whether a value is a dict whose entries are known."""
    return _entries(it, value) is not None


def _entries(it: Interpreter, value: Abstract) -> dict[object, Abstract] | None:
    box = it.heap[value] if isinstance(value, Ref) else None
    return dict(box.entries) if isinstance(box, DictBox) else None
