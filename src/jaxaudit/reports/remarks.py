"""What a step of the data flow does beside making values: which axes it maps, how often it runs, what it cuts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.ir import Op

_MOST_NAMES = 4


def note_of(ops: Sequence[Op]) -> str:
    """Return the note of a step; empty where there is nothing to add."""
    return "; ".join(dict.fromkeys(words for op in ops for words in _notes(op)))


def _notes(op: Op) -> Iterator[str]:
    size, length, trips = op.axis_size, op.length, op.trips
    if op.name == "grad.stop" and op.api in ("", "stop_gradient") and not op.library:
        yield "stops the gradient"
    elif op.name == "vmap" and op.regions:
        yield from _mapped(op, size)
    elif op.name in ("scan", "fori") and isinstance(steps := length if op.name == "scan" else trips, int):
        yield f"{steps} step{'' if steps == 1 else 's'}" + (", last to first" if op.reverse else "")


def _mapped(op: Op, size: object) -> Iterator[str]:
    """Return which axis of which arguments is mapped, those with the same axis together."""
    axes = op.in_axes
    by_axis: dict[int, list[str]] = {}
    for param, axis in zip(op.regions[-1].params, axes if isinstance(axes, tuple) else (), strict=False):
        if isinstance(axis, int):
            by_axis.setdefault(axis, []).append(_head(param.name))
    told = [f"axis {axis}{_listed(names)}" for axis, names in by_axis.items()]
    if told:
        yield f"maps {', '.join(told)}" + (f" ({size})" if isinstance(size, int) else "")


def _head(name: str) -> str:
    """Return the argument that a leaf belongs to: `params` for `params['w']`."""
    return name.partition("[")[0].partition(".")[0]


def _listed(names: Sequence[str]) -> str:
    known = list(dict.fromkeys(name for name in names if name))
    more = len(known) - _MOST_NAMES
    words = " and ".join([*known[:_MOST_NAMES], *([f"{more} more"] if more > 0 else [])])
    return f" of {words}" if words else ""
