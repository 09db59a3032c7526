"""Whether two terms name the same key, different keys, or keys that may or may not be the same."""

from __future__ import annotations

from enum import Enum

from jaxaudit.analyses.keys.terms import END, Each, Fold, Number, Part, Repeat, Row, Steps, Term, View


class Overlap(Enum):
    """How two terms relate."""

    SAME = "same"
    DISJOINT = "disjoint"
    MAYBE = "maybe"


class _Mark(Enum):
    ALL = "all"
    SOME = "some"


_Step = int | str | Term | tuple[int, int | None] | _Mark
"""One step from an array of keys to some of its rows."""


def overlap(first: Term, second: Term) -> Overlap:
    """Compare two terms."""
    if first is second:
        return Overlap.SAME
    first_root, first_way = way(first)
    second_root, second_way = way(second)
    if first_root is not second_root:
        relation = _folded(first_root, second_root)
        # Which of several keys a row is does not show in the numbers of all of them.
        return Overlap.MAYBE if relation is Overlap.SAME and first_way + second_way else relation
    found = Overlap.SAME
    for one, other in zip(first_way, second_way, strict=False):
        relation = _compare(one, other)
        if relation is Overlap.DISJOINT:
            return relation
        found = relation if relation is Overlap.MAYBE else found
    return found if found is Overlap.MAYBE else _longer(first_way, second_way)


def _folded(first: Term, second: Term) -> Overlap:
    """Compare two keys that start apart: they meet where the same is folded into one key."""
    if not (isinstance(first, Fold) and isinstance(second, Fold)) or first.parent is not second.parent:
        return Overlap.DISJOINT
    one, other = _index(first.data), _index(second.data)
    if isinstance(one, int) and isinstance(other, int):
        return Overlap.SAME if one == other else Overlap.DISJOINT
    if _first_of(one) is not None and _first_of(one) == _first_of(other):
        return Overlap.SAME
    return _compare(one, other)


def _first_of(step: _Step) -> int | None:
    """Return the first number of those that a step stands for; a loop that never runs draws nothing to compare."""
    match step:
        case int(number) | (int(number), _) | Steps(Number(int(number))):
            return number
    return None


def _longer(first: list[_Step], second: list[_Step]) -> Overlap:
    """One term is part of the other, such as `keys[0]` of `keys`: the same unless it is a field of a record."""
    rest = max(first, second, key=len)[min(len(first), len(second)) :]
    field = any(isinstance(step, str) and step.startswith(".") for step in rest)
    return Overlap.MAYBE if field or _Mark.SOME in rest else Overlap.SAME


_TAKEN = frozenset((Row, Part, Each, Repeat, View))
"""Terms that are taken from another one."""


def way(term: Term) -> tuple[Term, list[_Step]]:
    """Take a term apart into the key it starts from and the steps to its rows."""
    if type(term) not in _TAKEN:
        return term, []
    steps: list[_Step] = []
    while True:
        match term:
            case Row(base, index):
                steps.append(_index(index))
            case Part(base, start, stop):
                steps.append((start, stop))
            case Each(Repeat(base, _)) | Repeat(base, _):
                pass
            case Each(base):
                steps.append(_Mark.ALL)
            case View(base, _):
                steps.append(_Mark.SOME)
            case _:
                return term, _whole(steps[::-1])
        term = base


def _index(index: Term) -> _Step:
    match index:
        case Number(value):
            return value
        case Steps(Number(int(start)), Number(stop), Number(1)) if isinstance(stop, int) or stop == END:
            return (start, stop if isinstance(stop, int) else None)
    return index


def _whole(steps: list[_Step]) -> list[_Step]:
    """Every row of a slice is the slice itself."""
    kept: list[_Step] = []
    for step in steps:
        if not (step is _Mark.ALL and kept and isinstance(kept[-1], tuple)):
            kept.append(step)
    return kept


def _compare(one: _Step, other: _Step) -> Overlap:
    if one is other or one is _Mark.ALL or other is _Mark.ALL:
        return Overlap.MAYBE if _Mark.SOME in (one, other) else Overlap.SAME
    if isinstance(one, tuple) and isinstance(other, (int, tuple)):
        return _compare_ranges(one, other)
    if isinstance(other, tuple) and isinstance(one, int):
        return _compare_ranges(other, one)
    if isinstance(one, int) and isinstance(other, int):
        return _compare_numbers(one, other)
    if isinstance(one, str) and isinstance(other, str):
        return Overlap.SAME if one == other else Overlap.DISJOINT
    return Overlap.MAYBE


def _compare_numbers(one: int, other: int) -> Overlap:
    if one == other:
        return Overlap.SAME
    # keys[0] and keys[-1] are the same key when there is only one.
    return Overlap.DISJOINT if (one < 0) == (other < 0) else Overlap.MAYBE


def _compare_ranges(one: tuple[int, int | None], other: int | tuple[int, int | None]) -> Overlap:
    start, stop = one
    low, high = (other, other + 1) if isinstance(other, int) else other
    if min(start, low) < 0 or (stop is not None and stop < 0) or (high is not None and high < 0):
        return Overlap.MAYBE
    apart = (stop is not None and low >= stop) or (high is not None and start >= high)
    return Overlap.DISJOINT if apart else Overlap.SAME
