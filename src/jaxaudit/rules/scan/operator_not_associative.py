"""The rule `operator-not-associative`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

from jaxaudit.analyses.arithmetic import Number, Outside, Polynomial, computed, mixes_products, multiplies_matrices
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Region
from jaxaudit.rules.base import Obligation, Rule, Step, named, proved, unknown

_MOST = 4
"""Elements of more parts are not tried out: every part of three of them would be 0 and 1."""
_HELD = (Fraction(1, 2), 2)


class OperatorNotAssociative(Rule):
    """The function that `associative_scan` combines elements with is not associative.

    ## What it does
    Computes what the function makes of three elements, put together from the left and from the right: once with
    unknowns, as sums of products, and once with every part of them 0 and 1. Where the two differ, the function is not
    associative.

    ## Why is this bad?
    `associative_scan` combines neighbours, then pairs of pairs. A function for which that is not the same as one step
    after the other gives other results, which depend on how many elements there are, and nothing is raised.

    ## Example
        def combine(left, right):
            a, b = left
            c, d = right
            return a * c, a * b + d

    ## Use instead
        def combine(left, right):
            a, b = left
            c, d = right
            return a * c, c * b + d

    ## When it cannot tell
    When the function does more than add, multiply, compare and choose.
    """

    summary = "The function that `associative_scan` combines elements with is not associative."
    needs = (Shapes,)
    valid = """
    ## the steps of a recurrence
    def states(decay, drive):
        def combine(left, right):
            return left[0] * right[0], right[0] * left[1] + right[1]
        return jax.lax.associative_scan(combine, (decay, drive))[1]

    ## sums that begin anew
    def sums(x, begins):
        def combine(left, right):
            total, flag = left
            value, begin = right
            return jnp.where(begin, value, total + value), flag | begin
        return jax.lax.associative_scan(combine, (x, begins > 0))[0]

    ## matrices in their order
    def transitions(matrices, offsets):
        def combine(left, right):
            return right[0] @ left[0], right[0] @ left[1] + right[1]
        return jax.lax.associative_scan(jax.vmap(combine), (matrices, offsets))
    """
    invalid = """
    ## the decay of the wrong side
    def states(decay, drive):
        def combine(left, right):
            return left[0] * right[0], left[0] * left[1] + right[1]  #!
        return jax.lax.associative_scan(combine, (decay, drive))[1]

    ## a discount that is not carried along
    def returns(rewards, discount):
        return jax.lax.associative_scan(lambda a, b: discount * a + b, rewards, reverse=True)  #!

    ## an average of averages
    def averages(x):
        return jax.lax.associative_scan(lambda a, b: 0.5 * (a + b), x)  #!

    ## matrices in two orders
    def transitions(matrices, offsets):
        def combine(left, right):
            return left[0] @ right[0], right[0] @ left[1] + right[1]  #!
        return jax.lax.associative_scan(jax.vmap(combine), (matrices, offsets))

    ## the flag is not handed on
    def sums(x, begins):
        def combine(left, right):
            total, _ = left
            value, begin = right
            return jnp.where(begin, value, total + value), begin  #!
        return jax.lax.associative_scan(combine, (x, begins > 0))[0]
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List the function of every `associative_scan`."""
        yield from (_judge(op, op.regions[0], facts) for op in program.named("associative_scan") if op.regions)


def _judge(op: Op, body: Region, facts: Facts) -> Obligation:
    parts = len(body.params) // 2
    if parts == 0 or len(body.params) != 2 * parts or len(body.results) != parts or mixes_products(body):
        return unknown(op.span, "what it combines elements to is not followed")
    matrices = multiplies_matrices(body)
    unknowns = [
        [Polynomial({(f"{who}{at}",): 1}, not matrices) for at in range(parts)] for who in ("first", "second", "third")
    ]
    apart = _differs(body, unknowns, lambda one: Polynomial({(f"{one.id}",): 1}, not matrices))
    if apart == ():
        return proved(op.span, "three elements put together from the left are those put together from the right")
    if apart is None or not matrices:
        apart = _counterexample(body, parts, facts)
    if apart is None:
        return unknown(op.span, "whether what it combines elements with is associative is not known")
    return _finding(op, body, apart[0])


def _counterexample(body: Region, parts: int, facts: Facts) -> tuple[int, ...] | None:
    """Return the parts in which three elements of zeros and ones differ; None where all agree, or it is not known.

    What the function reads from outside may be anything: elements have to differ for a small number and a large one.
    """
    flags = [facts.get(Shapes).of(param).dtype == "bool" for param in body.params[:parts]]
    choices = [(False, True) if flag else (0, 1) for flag in flags] * 3
    for point in product(*choices) if parts <= _MOST else ():
        three = [point[at * parts : (at + 1) * parts] for at in range(3)]
        small, large = (_differs(body, three, lambda one, held=held: held) for held in _HELD)
        if small is None or large is None:
            return None
        if small and large:
            return small
    return None


def _differs(body: Region, three: Sequence[Sequence[Number]], outside: Outside) -> tuple[int, ...] | None:
    """Return the parts in which three elements differ by the order of combining; None where that is not known."""
    first, second, third = three
    left, right = computed(body, (*first, *second), outside), computed(body, (*second, *third), outside)
    if left is None or right is None:
        return None
    left, right = computed(body, (*left, *third), outside), computed(body, (*first, *right), outside)
    if left is None or right is None:
        return None
    return tuple(at for at, (one, other) in enumerate(zip(left, right, strict=True)) if one != other)


def _finding(op: Op, body: Region, part: int) -> Obligation:
    result = body.results[part]
    makers = {value: inner for inner in body.walk() for value in inner.results}
    while (made := makers.get(result, op)).regions and made is not op:
        result = made.regions[0].results[made.results.index(result)]
    return Obligation(
        made.span,
        message="`associative_scan` combines elements with this, and it is not associative",
        current="combining the first two and then the third gives something else than the last two with the first",
        expected=f"{named(result, 'each part')} is the same whichever neighbours are combined first",
        steps=(Step(op.span, "neighbours are combined in pairs here, then pairs of pairs"),),
        suggestion="write it as the composition of two steps, the earlier one first, or use `jax.lax.scan`",
        cause=(result,),
    )
