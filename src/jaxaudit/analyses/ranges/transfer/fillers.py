"""What stands at the unused places of arrays of a fixed size, such as the edges that a graph is padded with.

Two arrays that hold the same at the same unused places differ by zero there, whatever they hold elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jaxaudit.analyses.ranges.facts import Filler
from jaxaudit.analyses.ranges.look import Look
from jaxaudit.ir import Argument, Value
from jaxaudit.ir.ops import PASSED_ON
from jaxaudit.ir.values import index_parts, is_whole

_LISTED = ("argwhere", "nonzero")


def filler_of(look: Look) -> Filler | None:
    """Return what stands at the unused places of what an op gives; None where it is not known to have any."""
    found = _TABLE.get(look.op.name)
    return None if found is None else found(look)


def _same(look: Look) -> Filler | None:
    value = look.first_value()
    return None if value is None else look.read(value).filler


def _listed(look: Look) -> Filler | None:
    """The places of what is true, as many as are asked for: the rest is filled up."""
    if look.function not in _LISTED or not look.has("size"):
        return None
    filled = 0.0 if not look.has("fill_value") else look.of(look.raw("fill_value")).constant
    # Who does not say what to fill up with may know that nothing is left over.
    return None if filled is None else Filler(look.op, filled, sure=look.has("fill_value"))


def _chosen(look: Look) -> Filler | None:
    """A mask that puts a number in the place of indices."""
    condition, arms = look.raw("condition", "pred"), (look.raw("x", "on_true"), look.raw("y", "on_false"))
    for arm, other in (arms, arms[::-1]):
        number = look.of(other).constant
        if isinstance(condition, Value) and isinstance(arm, Value) and number is not None and look.of(arm).integer:
            # One answer for all of them may be a rare one.
            return Filler((condition, arm is arms[0]), number, sure=bool(look.sizes(condition)))
    return None


def _padded(look: Look) -> Filler | None:
    widths, value = look.raw("pad_width"), look.raw("constant_values")
    number = 0.0 if value is None else look.of(value).constant
    plain = look.function == "pad" and look.raw("mode") in (None, "constant") and number is not None
    known = look.first().integer and _is_written(widths)
    return Filler(("pad", widths), number, sure=True) if plain and known and number is not None else None


def _is_written(widths: Argument) -> bool:
    """Whether widths are numbers and values, by themselves or in tuples."""
    if isinstance(widths, tuple):
        return all(map(_is_written, widths))
    return isinstance(widths, Value | int)


def _item(look: Look) -> Filler | None:
    base, index = look.raw("base"), look.raw("index")
    parts = index_parts(index)
    if parts and isinstance(parts[0], Value) and all(map(is_whole, parts[1:])):
        return _rows(look, base, parts[0])
    # Whoever takes columns of an array, or one of several, takes the same places of each.
    taken = all(one is None or is_whole(one) or _is_number(one) for one in parts)
    found = look.of(base).filler if isinstance(base, Value) and taken else None
    return None if found is None else found._replace(alike=0)


def _unpacked(look: Look) -> Filler | None:
    found = _same(look)
    return None if found is None else found._replace(alike=0)


def _taken(look: Look) -> Filler | None:
    index = look.raw("indices")
    along_first = look.function == "take" and look.raw("axis") == 0
    found = _rows(look, look.leading(), index) if along_first and isinstance(index, Value) else None
    # Beyond the end `take` gives NaN, and not the last row.
    return found if found is not None and look.of(index).filler == Filler(found.places, 0.0, found.sure) else None


def _rows(look: Look, base: Argument, index: Value) -> Filler | None:
    """At unused places stands one and the same row of an array."""
    found, sizes = look.of(index).filler, look.sizes(base)
    if found is None or not isinstance(base, Value) or not look.sizes(index):
        return None
    return Filler(found.places, (base, found.what), found.sure, max(len(sizes or ()) - 1, 0))


def _is_number(one: Argument) -> bool:
    return isinstance(one, int) and not isinstance(one, bool)


_TABLE: Mapping[str, Callable[[Look], Filler | None]] = {
    **dict.fromkeys(PASSED_ON, _same),
    "array.order": _listed,
    "array.select": _chosen,
    "array.move": _padded,
    "array.gather": _taken,
    "py.item": _item,
    "py.unpack": _unpacked,
}
