"""Steps in two halves around a move: the second half needs the force where the first one has moved to."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.moments import same_step
from jaxaudit.analyses.lineage.products import Sums
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import SUMS_OF_TWO
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import LOOPS
from jaxaudit.rules.base import Obligation, Step, named


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
                of = [one for one in factors if one not in (moved, kicked) and moved in same_step(flow, (one,))]
                # It moves by what the first half has made, and the second half is no part of it.
                if of and not met.isdisjoint(first.results) and met.isdisjoint(second.results) and moved in met:
                    yield _finding(first, second, kicked, moved, of[0], later)


def _twice(old: Value, new: Value, flow: Flow) -> tuple[Op, Op, tuple[Value, ...]] | None:
    """Return the two sums in which a part of the state gets the same amount one after the other, and its factors."""
    sums = Sums(flow, {})
    second = sums.maker(new)
    between = _amount(second, sums)
    first = None if between is None else sums.maker(between[0])
    before = _amount(first, sums)
    if between is None or before is None or first is None or second is None or first.function != second.function:
        return None
    same = sums.source(before[0]) is sums.source(old) and _alike(before[1], between[1], sums)
    factors = tuple(factor for part in sums.products(between[1]) for factor in part.factors)
    return (first, second, factors) if same else None


def _amount(op: Op | None, sums: Sums) -> tuple[Value, Value] | None:
    """Return what a sum adds to, and what it adds."""
    if op is None or op.function not in SUMS_OF_TWO or len(op.operands) != 2:
        return None
    return op.operands[0], op.operands[1]


def _alike(first: Value, second: Value, sums: Sums) -> bool:
    one, other = sums.products(first), sums.products(second)
    both = [{(part.coefficient, frozenset(part.factors)) for part in parts} for parts in (one, other)]
    return both[0] == both[1] and len(one) == len(other) > 0


def _finding(first: Op, second: Op, kicked: Value, moved: Value, force: Value, later: Value) -> Obligation:
    place, part = named(moved, "what it is computed from"), named(kicked, "this")
    name = "it" if force.name in ("", moved.name) else named(force, "it")
    return Obligation(
        second.span,
        message=f"{part} gets the same amount again, though {place}, which {name} is computed from, has moved since",
        current=f"both halves of the step use {name} of the old {place}",
        expected=f"the second half uses what is computed from the newer {place}",
        steps=(Step(first.span, "the first half is added here"), Step(later.span, f"the newer {place} is made here")),
        suggestion=f"compute {name} again from the newer {place}",
    )
