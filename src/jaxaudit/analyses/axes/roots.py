"""Where each axis of an array comes from: the axis of another one that it was before, whatever was computed since.

The rows of `a @ b.T` are those of `a`, and so are the entries of `jnp.sum(a**2, axis=1)`. An axis that was lined up
with another one comes from both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import permutations

from jaxaudit.analyses.axes.lopsided import is_lopsided
from jaxaudit.analyses.axes.slots import Slot, origins
from jaxaudit.analyses.dims import ONE, same
from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.labels import contradiction
from jaxaudit.analyses.queries import Answers
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.visits import own_name
from jaxaudit.ir import Op, Value
from jaxaudit.ir.interfaces import Call
from jaxaudit.ir.ops import CALLS
from jaxaudit.ir.record import record

Roots = frozenset[Slot]


@remembered
def roots(facts: Facts) -> Answers[Slot, Roots]:
    """Answer of which axes of which arrays an axis is made."""

    def rule(one: Slot, ask: Callable[[Slot], Roots]) -> Roots:
        found = [*before(facts, one)]
        return frozenset().union(*map(ask, found)) if found else frozenset((one,))

    return Answers(rule, frozenset())


def is_known(facts: Facts, found: Roots) -> bool:
    """Whether axes are those of arrays that are made of no others: made, drawn, or given to the program."""
    makers = [(one.value, facts.flow.own_maker(one.value)) for one in found]
    return bool(found) and all(
        facts.flow.entered(value) is None if op is None else not op.operands or op.name in _MADE for value, op in makers
    )


_MADE = frozenset(("array.create", "key.draw"))


def before(facts: Facts, one: Slot) -> Iterable[Slot]:
    """Return the axes of the arrays that an axis was made of in one step."""
    own = own_name(one.value, facts)
    if own is not one.value:
        return (Slot(own, one.place),)
    op = facts.flow.own_maker(own)
    if op is not None and op.name in CALLS and op.regions:
        inside = Call(op).inside(op.results.index(own))
        return () if inside is None else (Slot(inside, one.place),)
    if op is None or op.regions or one.place is None:
        return ()
    if op.name == "py.global":
        return (Slot(op.constant, one.place),) if isinstance(op.constant, Value) else ()
    axes = facts.memo(origins, op)[op.results.index(own)]
    return axes[one.place] if axes is not None and 0 <= one.place < len(axes) else ()


@record
class Landed:
    """A vector that belongs to one axis of an array and is lined up with another."""

    op: Op
    vector: Value
    array: Value
    place: int
    """The axis that it belongs to."""
    sure: bool
    """Whether the two axes come from two arrays, or from one that is surely not symmetric."""


def landed(facts: Facts) -> Iterator[Landed]:
    """Return every vector that meets another axis of an array than the one it has its entries from."""
    for op in facts.program.named("array.map", "array.select"):
        # A choice is made of what decides and of both sides, each of which may be a vector.
        pairs = list(permutations(op.operands, 2)) if len(op.operands) == 2 or op.name == "array.select" else []
        found = [one for vector, array in pairs for one in _landing(op, vector, array, facts)]
        yield from found[:1] if op.name == "array.select" else found


def _landing(op: Op, vector: Value, array: Value, facts: Facts) -> Iterator[Landed]:
    shapes, ask = facts.get(Shapes), roots(facts)
    low, high = shapes.of(vector).dims, shapes.of(array).dims
    if low is None or high is None or len(low) != 1 or len(high) < 2 or not same(low[0], high[-1]):
        return
    own, met = ask(Slot(vector, 0)), ask(Slot(array, len(high) - 1))
    for place, dim in enumerate(high[:-1]) if own.isdisjoint(met) and low[0] != ONE else ():
        there = ask(Slot(array, place))
        told = contradiction(dim.labels, low[0].labels) is not None
        if not told and same(dim, low[0]) and not own.isdisjoint(there) and there.isdisjoint(met):
            sources = [{slot.value for slot in one} for one in (there, met)]
            yield Landed(op, vector, array, place, sources[0].isdisjoint(sources[1]) or is_lopsided(facts, array))
            return
