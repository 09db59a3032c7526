"""Sums over the steps to come: a loop from the last step to the first that adds to a share of what it added up so far.

Advantages, discounted returns, lambda-returns and V-trace are such sums, whatever runs them. What is added, what the
share is made of and which flags stop it are told here, each with the step that it belongs to (`moments.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from jaxaudit.analyses.lineage.courses import Course, course
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.lineage.moments import Moment, moment
from jaxaudit.analyses.lineage.origins import Context, contexts
from jaxaudit.analyses.lineage.products import Product, Sums
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import complement
from jaxaudit.ir.ops import LOOPS
from jaxaudit.ir.record import record, replace


@record
class Flag:
    """A factor or a condition that decides whether something counts."""

    moment: Moment
    ends: bool
    """Whether what it belongs to counts where it is not set."""
    written: Value
    """The factor or the condition, as it stands in the sum."""


@record
class Return:
    """One sum over the steps to come."""

    course: Course
    sums: Sums
    carry: Value
    update: Op
    """What makes the next sum."""
    kept: Product
    """The part with what was added up so far."""
    added: tuple[Product, ...]
    """All others."""

    @property
    def op(self) -> Op:
        """The loop."""
        return self.course.op

    def moment(self, value: Value) -> Moment:
        """Return the step that a value of the body belongs to."""
        return moment(self.sums.flow, value, self.sums.context)

    def flags(self, part: Product) -> list[Flag]:
        """Return what decides whether a part counts, and other factors that may do so."""
        own = replace(part, factors=tuple(one for one in part.factors if one is not self.carry))
        return list(flags(self.sums.flow, own, self.sums.context))

    @property
    def rewards(self) -> list[Moment]:
        """What each step adds as it is, by the step that it belongs to; what is carried is none."""
        carried = {one.param for one in self.course.carried}
        plain = (one for one in self.added if one.coefficient == 1.0 and len(one.factors) == 1 and not one.masks)
        return [self.moment(one.factors[0]) for one in plain if one.factors[0] not in carried]


def returns(program: Program, flow: Flow) -> Sequence[Return]:
    """Find every sum over the steps to come."""
    known = flow.table(returns)
    if program not in known:
        ways = ((op, Sums.of(flow, context)) for op in program.named(*LOOPS) for context in contexts(flow, op))
        courses = ((found, sums) for op, sums in ways if (found := course(op, sums)) is not None)
        known[program] = [one for found, sums in courses if found.backwards for one in _in_loop(found, sums)]
    return known[program]


def _in_loop(found: Course, sums: Sums) -> Iterator[Return]:
    for one, end in found.successors:
        update, parts = sums.maker(end), sums.products(end)
        kept = [part for part in parts if one.param in part.factors]
        rest = tuple(_taken_apart([part for part in parts if part not in kept], found, sums))
        scaled = len(kept) == 1 and kept[0].factors.count(one.param) == 1 and kept[0] != Product(1.0, (one.param,))
        if update is not None and scaled and rest:
            yield Return(found, sums, one.param, update, kept[0], rest)


def _taken_apart(parts: Iterable[Product], found: Course, sums: Sums) -> Iterator[Product]:
    """Return the parts of a sum, also of what was summed before the loop and is only handed to it."""
    for part in parts:
        seen = found.elements.get(part.factors[0]) if len(part.factors) == 1 else None
        inner = sums.products(seen.array) if seen is not None and seen.counter is None else ()
        scale = replace(part, factors=())
        yield from (one.times(scale) for one in inner) if len(inner) > 1 else (part,)


def flags(flow: Flow, part: Product, context: Context) -> Iterator[Flag]:
    """Return what decides whether a part of a sum counts: `1 - done`, `~done`, `where(done, 0, x)`.

    A factor that is no opposite of anything is given as one that lets it count, for those who know it for a flag.
    """
    for condition in part.masks:
        yield from _decided(flow, condition, context, ends=condition in part.unless)
    for factor in part.factors:
        yield from _decided(flow, factor, context, ends=False)


def _decided(flow: Flow, written: Value, context: Context, *, ends: bool) -> Iterator[Flag]:
    """Follow a factor back to the flags that it is a product or the opposite of."""
    pending, seen = [Flag(Moment(written), ends, written)], set[Value]()
    for flag in pending:
        here = replace(flag, moment=_followed(flow, flag.moment, context))
        # A product that a loop carries is made of itself.
        parts = list(_made_of(flow, here)) if here.moment.value not in seen else []
        seen.add(here.moment.value)
        pending += parts
        if not parts:
            yield here


def _followed(flow: Flow, place: Moment, context: Context) -> Moment:
    """Return the step that a value belongs to, which is itself of another step."""
    found = moment(flow, place.value, context)
    counted = (*place.counted, *found.counted)
    return replace(found, loop=found.loop or place.loop, shift=found.shift + place.shift, counted=counted)


def _made_of(flow: Flow, flag: Flag) -> Iterator[Flag]:
    """Return what a flag is the opposite or the product of."""
    here = flag.moment
    made = None if here.path else flow.maker(here.value)
    opposite = complement(made)
    if opposite is not None:
        yield Flag(replace(here, value=opposite), not flag.ends, flag.written)
    elif made is not None and made.function == "multiply":
        yield from (Flag(replace(here, value=one), flag.ends, flag.written) for one in made.operands)
