"""Steps in two halves around a move: the second half needs the force where the first one has moved to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.moments import same_parts, same_step
from jaxaudit.analyses.lineage.products import Ratio, Sums
from jaxaudit.analyses.queries import behind, walk
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import SUMS_OF_TWO
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import DERIVATIVES, LOOPS, PASSED_ON
from jaxaudit.ir.record import replace
from jaxaudit.rules.base import Obligation, Severity, Step, named
from jaxaudit.rules.flow._shared.sameness import is_same

_ELEMENTS = PASSED_ON | {"array.map"}


def second_kicks(program: Program, facts: Facts) -> Iterator[Obligation]:
    """Find parts of a loop's state that get one and the same amount before and after what it is computed from moves."""
    flow = facts.flow
    for op in program.named(*sorted(LOOPS)):
        loop = Loop.of(op)
        pairs = [(old, new) for old, new in loop.successors if old is not new] if loop is not None else []
        for kicked, after in pairs if len(pairs) > 1 else ():
            found = _twice(kicked, after, flow)
            if found is None:
                continue
            first, second, factors = found
            for moved, later in pairs:
                met = set(same_step(flow, (later,))) if moved is not kicked else set[Value]()
                others = (one for one in factors if one not in (moved, kicked))
                of = {one: sure for one in others if (sure := _field(one, moved, later, pairs, flow)) is not None}
                # It moves by what the first half has made, and the second half is no part of it.
                if of and not met.isdisjoint(first.results) and met.isdisjoint(second.results) and moved in met:
                    force = next(iter(of))
                    yield _finding(first, second, kicked, moved, force, later, sure=of[force])


def _twice(old: Value, new: Value, flow: Flow) -> tuple[Op, Op, tuple[Value, ...]] | None:
    """Return the two sums in which a part of the state gets the same amount one after the other, and its factors."""
    sums = Sums.of(flow, {})
    second = sums.maker(new)
    between = _amount(second, sums)
    first = None if between is None else sums.maker(between[0])
    before = _amount(first, sums)
    if between is None or before is None or first is None or second is None or first.function != second.function:
        return None
    same = sums.source(before[0]) is sums.source(old) and _alike(before[1], between[1], sums)
    parts = (*sums.products(between[1]), *(part.above for part in sums.ratios(between[1])))
    factors = tuple(dict.fromkeys(factor for part in parts for factor in part.factors))
    return (first, second, factors) if same else None


def _amount(op: Op | None, sums: Sums) -> tuple[Value, Value] | None:
    """Return what a sum adds to, and what it adds."""
    if op is None or op.function not in SUMS_OF_TWO or len(op.operands) != 2:
        return None
    return op.operands[0], op.operands[1]


def _alike(first: Value, second: Value, sums: Sums) -> bool:
    one, other = sums.ratios(first), sums.ratios(second)
    return len(one) == len(other) > 0 and all(any(_is_equal(part, like, sums.flow) for like in other) for part in one)


def _is_equal(one: Ratio, other: Ratio, flow: Flow) -> bool:
    """Whether two parts are the same number, also where one factor is computed twice."""
    apart = [
        tuple((Counter(a.above.factors) - Counter(b.above.factors)).elements()) for a, b in ((one, other), (other, one))
    ]
    if [len(some) for some in apart] != [1, 1]:
        return one.is_like(other)
    twice = replace(other, above=replace(other.above, factors=one.above.factors))
    return one.is_like(twice) and is_same(apart[0][0], apart[1][0], flow) is True


def _field(factor: Value, moved: Value, later: Value, pairs: Sequence[tuple[Value, Value]], flow: Flow) -> bool | None:
    """Whether a factor is what the place alone decides: a slope there for sure; None where it is something else.

    What is carried is that of the old place where each turn makes it anew of the place that it has moved to. It is
    no field where anything else that the loop carries has a say in it, as in what a controller does.
    """
    new = next((new for old, new in pairs if old is factor), None)
    if new is None:
        return True if moved in same_step(flow, (factor,)) else None
    carried = {old for old, _ in pairs}
    made = set(walk((new,), lambda one: () if one is later else same_parts(flow, one)))
    return _is_slope(new, later, flow) if later in made and carried.isdisjoint(made) else None


def _is_slope(value: Value, place: Value, flow: Flow) -> bool:
    """Whether a value is a gradient by a place, or is computed of it element by element."""
    made = walk((value,), lambda one: behind(flow, one, lambda op: op.name in _ELEMENTS))
    ops = (op for one in made if (op := flow.own_maker(one)) is not None and op.name in DERIVATIVES)
    sums = Sums.of(flow, {})
    return any(sums.source(op.operands[at]) is sums.source(place) for op in ops for at in op.differentiated or ())


def _finding(
    first: Op, second: Op, kicked: Value, moved: Value, force: Value, later: Value, *, sure: bool
) -> Obligation:
    place, part = named(moved, "what it is computed from"), named(kicked, "this")
    name = "it" if force.name in ("", moved.name) else named(force, "it")
    return Obligation(
        second.span,
        severity=Severity.ERROR if sure else Severity.WARNING,
        message=f"{part} gets the same amount again, though {place}, which {name} is computed from, has moved since",
        current=f"both halves of the step use {name} of the old {place}",
        expected=f"the second half uses what is computed from the newer {place}",
        steps=(Step(first.span, "the first half is added here"), Step(later.span, f"the newer {place} is made here")),
        suggestion=f"compute {name} again from the newer {place}",
    )
