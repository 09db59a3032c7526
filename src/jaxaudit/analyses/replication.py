"""Along which axes of a mesh the results of a `shard_map` differ from device to device.

They are followed from the specs of the arguments through the body to the results: collectives make values equal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Region, Value
from jaxaudit.ir.functions import SAME_ON_ALL_DEVICES
from jaxaudit.ir.ops import CARRYING

_Axes = frozenset[str]


class Spread(NamedTuple):
    """The axes of a mesh along which a value surely differs, and those of which that cannot be told."""

    sure: _Axes = frozenset()
    open: _Axes = frozenset()

    def __or__(self, other: Spread) -> Spread:
        unclear = self.open | other.open
        return Spread((self.sure | other.sure) - unclear, unclear)

    def unclear(self) -> Spread:
        """Return the same with nothing sure."""
        return Spread(frozenset(), self.sure | self.open)

    def without(self, axes: _Axes) -> Spread:
        """Return what is left after a reduction."""
        return Spread(self.sure - axes, self.open - axes)


_SAME = Spread()
_Known = dict[Value, Spread]


def left_unequal(op: Op, shapes: Shapes | None) -> list[tuple[Value, Spread]] | None:
    """Return the results of a `shard_map`, each with the axes along which it differs though `out_specs` names none.

    None where the specs are not known, or do not fit what they are for.
    """
    region = op.regions[0]
    if shapes is not None:
        return _left_unequal(op, shapes)
    given, out = _axes_named(op.in_specs), _axes_named(op.out_specs)
    if given is None or out is None or len(given) != len(region.params) or len(out) != len(region.results):
        return None
    many = frozenset(name for name, size in re.findall(r"'(\w+)': (\d+)", op.mesh) if int(size) > 1)
    known = {param: Spread(axes & many) for param, axes in zip(region.params, given, strict=True)}
    _walk(region, known)
    return [(value, known.get(value, _SAME).without(axes)) for value, axes in zip(region.results, out, strict=True)]


def _left_unequal(op: Op, shapes: Shapes) -> list[tuple[Value, Spread]] | None:
    """Answer the same where specs are values of the program."""
    region = op.regions[0]
    given, out = axes_split(op.placed_in, shapes), axes_split(op.placed_out, shapes)
    if len(given) != len(region.params) or len(out) != len(region.results) or None in given:
        return None
    known = {param: Spread(axes or frozenset()) for param, axes in zip(region.params, given, strict=True)}
    _walk(region, known)
    pairs = zip(region.results, out, strict=True)
    return [(value, known.get(value, _SAME).without(axes)) for value, axes in pairs if axes is not None]


def axes_split(specs: tuple[Value | None, ...] | None, shapes: Shapes) -> list[_Axes | None]:
    """Return for each of some specs the axes of the mesh that it names; None where that is not known."""
    placings = [None if value is None else shapes.of(value).placing for value in specs or ()]
    return [
        None
        if one is None or one.spec is None or None in one.spec
        else frozenset(name for names in one.spec for name in names or ())
        for one in placings
    ]


def _axes_named(specs: object) -> list[_Axes] | None:
    return [frozenset(re.findall(r"'(\w+)'", str(spec))) for spec in specs] if isinstance(specs, tuple) else None


def _walk(region: Region, known: _Known) -> None:
    for op in region.ops:
        operands = [known.get(value, _SAME) for value in op.operands]
        if op.name == "collective":
            results = [_collected(op, _joined(operands))] * len(op.results)
        elif op.regions:
            results = _inside(op, operands, known)
        else:
            whole = _joined(operands)
            results = [whole.unclear() if op.name == "py.call_unknown" else whole] * len(op.results)
        known.update(zip(op.results, results, strict=True))


def _joined(spreads: Sequence[Spread]) -> Spread:
    return reduce(Spread.__or__, spreads, _SAME)


def axes_reduced(op: Op) -> _Axes | None:
    """Return the axes of the mesh that a collective goes over; None where they are not written out."""
    given = op.arguments.get("axis_name", op.axis_name or "")
    parts = given if isinstance(given, tuple) else (given,)
    return frozenset(str(part) for part in parts) if all(isinstance(part, str) for part in parts) else None


def _collected(op: Op, given: Spread) -> Spread:
    name = op.function
    axes = axes_reduced(op)
    if axes is None:
        return given.unclear()
    if name == "axis_index":
        return Spread(axes)
    grouped = op.arguments.get("axis_index_groups", op.axis_index_groups) is not None
    if name in SAME_ON_ALL_DEVICES and not grouped:
        return given.without(axes)
    # Data that are sent around may well be all that there are in the end.
    return Spread(given.sure - axes, given.open | axes)


def _inside(op: Op, operands: Sequence[Spread], known: _Known) -> list[Spread]:
    """Follow values through a body; what comes back into a loop, or cannot be matched, is unclear."""
    whole = _joined(operands)
    found = [_SAME] * len(op.results)
    for region in op.regions:
        given = operands[len(operands) - len(region.params) :]
        if len(given) != len(region.params) or len(region.results) != len(op.results) or op.name == "while":
            return [whole.unclear()] * len(op.results)
        known.update(zip(region.params, given, strict=True))
        _walk(region, known)
        left = [known.get(value, _SAME) for value in region.results]
        found = [one | other for one, other in zip(found, left, strict=True)]
    if op.name in CARRYING:
        return [Spread(one.sure, (one.open | whole.sure | whole.open) - one.sure) for one in found]
    chooses = _joined(operands[: len(operands) - len(op.regions[0].params)])
    return [one | chooses for one in found]
