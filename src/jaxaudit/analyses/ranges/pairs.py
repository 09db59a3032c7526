"""Differences of all pairs, `x[:, None] - x[None, :]`: every element meets itself, and their difference is zero."""

from __future__ import annotations

from jaxaudit.analyses.ranges.facts import Axes, Zero
from jaxaudit.analyses.ranges.look import Look
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.values import index_parts, is_whole

_REASON = "each element minus itself is 0, on the diagonal"


def pairwise(look: Look, x: Argument, y: Argument) -> Zero | None:
    """Return the zeros of an array minus itself in another layout; None for any other difference."""
    first, second = _placed(look, x), _placed(look, y)
    if first is None or second is None or first[0] is not second[0] or first[1] == second[1]:
        return None
    if first[2] and second[2] and first[2] != second[2]:
        return None
    return Zero(_REASON, ordinary=True, fixed=True, along=frozenset(range(2 - max(first[2], second[2]), 0)))


def _placed(look: Look, argument: Argument) -> tuple[Value, Axes, int] | None:
    """Return an array, the place of the one axis that was put in near its front, and the new rank, 0 if unknown."""
    maker = look.maker(argument)
    if maker is None:
        return None
    base = next(iter(maker.arguments.values()), None)
    if maker.name == "array.expand" and maker.qualified.endswith(("broadcast_to", "expand_dims")):
        # A trace puts the axis in first, and then copies along it.
        before = _placed(look, base) if isinstance(base, Value) else None
        return _merged(before, _expanded(look, maker, base), base)
    new = _indexed(look, maker, base) if maker.name == "py.item" else None
    return (base, *new) if new is not None and isinstance(base, Value) else None


def _merged(
    before: tuple[Value, Axes, int] | None, new: tuple[Axes, int] | None, base: Argument
) -> tuple[Value, Axes, int] | None:
    if before is not None and new is not None and not new[0] and before[2] == new[1]:
        return before
    return (base, *new) if new is not None and new[0] and isinstance(base, Value) else None


def _indexed(look: Look, maker: Op, base: Argument) -> tuple[Axes, int] | None:
    index = maker.arguments.get("index", "")
    parts = index_parts(index)
    if not all(one is None or is_whole(one) for one in parts):
        return None
    sizes = look.sizes(base)
    rank = len(sizes) + 1 if sizes is not None else len(parts) if len(parts) > 2 else 0
    places = frozenset(i for i, one in enumerate(parts) if one is None)
    return (places, rank) if len(places) == 1 and places <= {0, 1} else None


def _expanded(look: Look, maker: Op, base: Argument) -> tuple[Axes, int] | None:
    kept, shape = maker.arguments.get("broadcast_dimensions"), maker.arguments.get("shape")
    if isinstance(kept, tuple) and isinstance(shape, tuple):
        places = frozenset(i for i in range(len(shape)) if i not in kept)
        return (places, len(shape)) if len(places) <= 1 and places <= {0, 1} else None
    axis = maker.arguments.get("axis")
    sizes = look.sizes(base)
    if isinstance(axis, int) and axis in (0, 1) and sizes is not None:
        return frozenset({axis}), len(sizes) + 1
    return None
