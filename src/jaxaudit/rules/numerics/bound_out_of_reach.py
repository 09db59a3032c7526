"""The rule `bound-out-of-reach`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.dims import Dim, same
from jaxaudit.analyses.extents import Extent, extents
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.ranges import Ranges
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.facts import as_number, named
from jaxaudit.analyses.shapes.literals import literal
from jaxaudit.analyses.uses import Use, Uses
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.ir.functions import CLIPS, COUNTING, EQUALITIES, SMALLER
from jaxaudit.ir.ops import LOOPS
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, proved, unknown
from jaxaudit.rules.base import named as called

_KEPT = Use.RETURNED | Use.CARRIED | Use.STORED


class BoundOutOfReach(Rule):
    """A counter or a remainder is compared with, or cut off at, a number that it never gets to.

    ## What it does
    Knows how far counters and remainders go: `arange(n)`, `range(n)` and the turns of a loop end at `n - 1`, and so
    does `i % n`. Lists where one is compared with a number by `==` or `!=`, and where it is cut off by `minimum` or
    `clip`.

    ## Why is this bad?
    What was meant for the last turn never happens. A number of entries that is a remainder, cut off at the capacity,
    is the place of the next entry under another name, and falls back to zero when the buffer is full.

    ## Example
        pos = (buffer.pos + n) % capacity
        size = jnp.minimum(pos, capacity)

    ## Use instead
        pos = (buffer.pos + n) % capacity
        size = jnp.minimum(buffer.size + n, capacity)

    ## When it cannot tell
    A bound that is merely never needed does no harm: it is a warning, unless the number that it should cut off is
    handed on beside the result. Numbers that a counter is compared with must be the very bound of it; two settings
    may be equal by chance.
    """

    summary = "A counter or remainder is compared with, or cut off at, a number that it never gets to."
    needs = (Ranges, Shapes, Uses)
    valid = """
    ## the last turn
    def run(xs, n):
        def body(total, i):
            return jnp.where(i == n - 1, 0.0, total + i), total

        return jax.lax.scan(body, 0.0, jnp.arange(n))

    ## what was stored before counts
    def add(pos, size, n, capacity):
        pos = (pos + n) % capacity
        return pos, jnp.minimum(size + n, capacity)

    ## every so often
    def train(state, steps, every, save):
        for i in range(steps):
            if i % every == 0 or (i + 1) % every == every - 1:
                save(state)
        return state

    ## the end of the next chunk
    def chunks(x, n, width):
        return [x[i : min(i + width, n)] for i in range(n)]

    ## a counter after its loop
    def count(n):
        def body(carry):
            return carry + 1

        i = jax.lax.while_loop(lambda i: i != n, body, 0)
        return i == n

    ## two settings that happen to be equal
    def warm(epochs=10, warmup=10):
        return [epoch == warmup for epoch in range(epochs)]

    ## an index that is kept inside
    def at(x, i):
        return x[jnp.clip(i % x.shape[0], 0, x.shape[0] - 1)]
    """
    invalid = """
    ## the turn after the last
    def run(xs, n):
        def body(total, i):
            return jnp.where(i == n, 0.0, total + i), total  #!

        return jax.lax.scan(body, 0.0, jnp.arange(n))

    ## never so often
    def train(state, steps, every, save):
        for i in range(steps):
            if i % every == every:  #!
                save(state)
        return state

    ## in a loop of Python
    def last(n, state, save):
        for i in range(n):
            if i == n:  #!
                save(state)
        return state

    ## the number of entries falls back to zero
    def add(pos, n, capacity):
        pos = (pos + n) % capacity
        return pos, jnp.minimum(pos, capacity)  #!

    ## cut off twice
    def at(x, i):
        return x[jnp.clip(i % x.shape[0], 0, x.shape[0])]  #?
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every comparison of a counter or remainder with a number, and every upper bound of a remainder."""
        for op in program.mapping(*sorted(EQUALITIES)):
            first, second = (*op.arguments.values(), None, None)[:2]
            for value, bound in ((first, second), (second, first)):
                number, extent = _number(bound, facts), _counts(value, facts)
                if number is not None and extent is not None and not op.is_derived:
                    yield _compared(op, value, extent, number)
        for op, value, bound in _cut_off(program):
            number, extent = _number(bound, facts), _counts(value, facts)
            if number is not None and extent is not None and _is_remainder(extent) and not op.is_derived:
                yield _bounded(op, value, extent, number, facts)


def _cut_off(program: Program) -> Iterator[tuple[Op, Argument, Argument]]:
    """Return every op that gives the smaller of two, with the value and its bound."""
    for op in program.mapping(*sorted(SMALLER)):
        if len(op.arguments) == 2:
            first, second = op.arguments.values()
            yield from ((op, first, second), (op, second, first))
    for op in program.named("array.select"):
        if op.function in CLIPS:
            yield op, op.argument("arr", "x"), op.argument("max", "a_max")


def _counts(value: Argument, facts: Facts) -> Extent | None:
    """Return how far a counter or a remainder goes; what is drawn or looked up may hold anything elsewhere."""
    found = extents(facts)(value) if isinstance(value, Value) else None
    if found is None or found.part:
        return None
    made = found.source
    counter = (
        made.function in COUNTING or made.name == "py.element" or (made.name in LOOPS and "while" not in made.name)
    )
    return found if counter or _is_remainder(found) else None


def _is_remainder(extent: Extent) -> bool:
    return extent.source.function == "remainder"


def _is_end(extent: Extent, number: Dim) -> bool:
    """Whether a number is the first that an extent leaves out; of counters only where both are one symbol."""
    return same(number, extent.end) and (_is_remainder(extent) or number.constant is None)


def _number(argument: Argument, facts: Facts) -> Dim | None:
    """Return the number that something is compared with; None for data, and where it is not known."""
    shapes = facts.get(Shapes)
    found = None if argument is None else as_number(literal(argument, lambda one: named(shapes.of(one), one)))
    return found if found is not None and found.known else None


def _compared(op: Op, value: Argument, extent: Extent, number: Dim) -> Obligation:
    if not _is_end(extent, number):
        if same(number, extent.last) or same(number, extent.low):
            return proved(op.span, f"what {called(value, 'it')} is compared with is within its reach")
        return unknown(op.span, f"whether {called(value, 'it')} ever gets to what it is compared with is not known")
    answer = "never" if op.function == "equal" else "always"
    return Obligation(
        op.span,
        message=f"{called(value, 'this')} ends one before what it is compared with: this is {answer} true",
        current=f"it goes up to {extent.last}, and is compared with {extent.end}",
        expected=f"the last one is {extent.last}",
        steps=(Step(extent.source.span, f"it goes up to {extent.last} here"),),
        suggestion="compare with one less",
    )


def _bounded(op: Op, value: Argument, extent: Extent, number: Dim, facts: Facts) -> Obligation:
    if not _is_end(extent, number):
        return unknown(op.span, f"whether {called(value, 'it')} ever gets to this bound is not known")
    beside = isinstance(value, Value) and _is_kept_beside(value, op, facts.flow, facts.get(Uses))
    return Obligation(
        op.span,
        severity=Severity.ERROR if beside else Severity.WARNING,
        message=f"{called(value, 'a remainder')} never gets to the bound that it is cut off at here",
        current=f"a remainder of {extent.end} goes up to {extent.last}, so this is {called(value, 'it')} itself",
        expected="a number that can get there, such as a count of all that was added",
        steps=(Step(extent.source.span, f"it goes up to {extent.last} here"),),
        suggestion="cut off the number that was meant, or leave the bound out",
    )


def _is_kept_beside(value: Value, op: Op, flow: Flow, uses: Uses) -> bool:
    """Whether both a value and what an op gives for it are handed on: they are equal for ever."""
    given = any(one is not op for one in flow.readers.get(value, ())) or value in flow.leaving
    return given and bool(uses.of(value) & _KEPT) and all(uses.of(one) & _KEPT for one in op.results)
