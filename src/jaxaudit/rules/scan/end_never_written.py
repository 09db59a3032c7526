"""The rule `end-never-written`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.dims import ONE
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.fillings import Filled, filled, is_counted_otherwise, is_set_apart, is_used_at
from jaxaudit.analyses.ranges import Ranges
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.facts import shown
from jaxaudit.ir import Program
from jaxaudit.rules.base import Example, Obligation, Rule, Step, named, proved, unknown

_FORWARD = """
def summed(x, rate):
    n = x.shape[0]
    out = {start}

    def body(i, out):
        return out.at[i].set(rate * out[i - 1] + x[{read}])

    out = jax.lax.fori_loop({bounds}, body, out){mark}
    return {result}
"""

_BACKWARD = """
def solved(upper, rhs):
    x = jnp.zeros(8).at[7].set(rhs[7])
    for i in {turns}:{mark}
        x = x.at[i].set(rhs[i] - upper[i] * x[i + 1])
    return x


solved(jnp.ones(8), jnp.ones(8))
"""


_DECODED = """
TABLE = jnp.ones((20, 20))


def decode(tokens, prompt, key):
    batch, length = tokens.shape

    def score(row, at):
        seen = jnp.arange(length) <= at
        return TABLE[row][at] + jnp.sum(seen[:, None] * TABLE[row], axis=0) / (at + 1)

    def body(t, tokens):
        scores = jax.vmap(score, in_axes=(0, None))(tokens, t - 1)
        return tokens.at[:, t].set(jax.random.categorical(jax.random.fold_in(key, t), scores))

    return jax.lax.fori_loop(prompt, {stop}, body, tokens){mark}


decode(jnp.zeros((5, 16), int), 4, jax.random.key(0))
"""


class EndNeverWritten(Rule):
    """A loop fills an array from one end, and stops before the other.

    ## What it does
    Looks at loops that write `x[i]` from `x[i - 1]`, or from `x[i + 1]`, and compares the elements that they write with
    the axis. Where the loop begins right at one end, nothing that it reads keeps it from the other end, and what it
    leaves out is read afterwards, it stops one turn too early. Where an end is set before the loop, and the element
    beside it is left out, it begins one turn too late.

    ## Why is this bad?
    The element that is left out keeps what was there before: a zero, or a number that the loop should have replaced.
    Everything that is computed from it is wrong, most of the time only slightly.

    ## Example
        d = jax.lax.fori_loop(1, n - 1, eliminate, d)

    ## Use instead
        d = jax.lax.fori_loop(1, n, eliminate, d)

    ## When it cannot tell
    When sizes are not known, or the element at the end is set by itself.
    """

    summary = "A loop fills all elements of an array but the one at its end."
    needs = (Shapes, Ranges)

    valid = (
        Example(_FORWARD.format(start="x", bounds="1, n", read="i", result="out", mark=""), "to the end"),
        Example(
            _FORWARD.format(start="x", bounds="1, n - 1", read="i + 1", result="out", mark=""), "with its neighbour"
        ),
        Example(
            _FORWARD.format(start="x", bounds="1, n - 1", read="i", result="out[:-1]", mark=""), "the end is cut off"
        ),
        Example(
            _FORWARD.format(start="x", bounds="1, n - 1", read="i", result="out.at[-1].set(0.0)", mark=""),
            "the end is set afterwards",
        ),
        Example(
            _FORWARD.format(start="x.at[n - 1].set(1.0)", bounds="1, n - 1", read="i", result="out", mark=""),
            "the end is set before",
        ),
        Example(_BACKWARD.format(turns="range(6, -1, -1)", mark=""), "backwards"),
        Example(_DECODED.format(stop="length", mark=""), "behind a prompt, for each of a batch"),
        Example(
            "def numbers(n=9):\n    x = jnp.zeros(9).at[0].set(1.0).at[1].set(1.0)\n"
            "    return jax.lax.fori_loop(2, 9, lambda i, x: x.at[i].set(x[i - 1] + x[i - 2]), x)\n",
            "from the two before",
        ),
        Example(
            "def marched(slope, u):\n    n = u.shape[0]\n"
            "    return jax.lax.fori_loop(1, n - 1, lambda i, u: u.at[i].set(u[i - 1] + slope(i)), u)\n",
            "what is counted goes elsewhere",
        ),
        Example(
            "def swept(u):\n    for i in range(1, 7):\n        u = u.at[i].set(0.5 * (u[i - 1] + u[i + 1]))\n"
            "    return u\n\nswept(jnp.ones(8))\n",
            "both ends stay",
        ),
    )
    invalid = (
        Example(_FORWARD.format(start="x", bounds="1, n - 1", read="i", result="out", mark="  #!"), "one too few"),
        Example(
            _FORWARD.format(start="x.at[0].set(1.0)", bounds="2, n", read="i", result="out", mark="  #!"),
            "one too late",
        ),
        Example(_DECODED.format(stop="length - 1", mark="  #!"), "behind a prompt, for each of a batch"),
        Example(_BACKWARD.format(turns="range(6, 0, -1)", mark="  #!"), "backwards"),
        Example(_BACKWARD.format(turns="range(5, -1, -1)", mark="  #!"), "backwards, too late"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every array that a loop fills from one end."""
        for one in filled(facts):
            if (one.after if one.forwards else one.before) is not None:
                yield _judged(one, facts)


def _judged(one: Filled, facts: Facts) -> Obligation:
    span, name = one.loop.op.span, named(one.carried.param, "the array")
    near, far = (one.before, one.after) if one.forwards else (one.after, one.before)
    first, last = (0, -1) if one.forwards else (-1, 0)
    if near == 1 and far == 0:
        return proved(span, f"all elements of {name} behind the one at the start are written")
    # A loop that goes on from a place that it is told begins behind what is there already.
    if near != 0 and far == 1 and is_used_at(one, last, facts):
        if not (_is_bounded(one) or is_set_apart(one, last, facts) or is_counted_otherwise(one, facts)):
            return _finding(one, "last" if one.forwards else "first", "stops one turn too early")
    if near == 2 and far == 0 and is_set_apart(one, first, facts):
        return _finding(one, "second" if one.forwards else "last but one", "begins one turn too late")
    return unknown(span, f"whether the elements of {name} at the ends are left out on purpose is not known")


def _is_bounded(one: Filled) -> bool:
    """Whether what the loop reads of some array ends where the loop ends, or may do so."""
    for read in one.reads:
        left = read.after if one.forwards else read.before
        gap = (one.end - read.end).constant if one.forwards else (read.low - one.low).constant
        # An array of another size, such as one of differences, has at least the elements between those written.
        open_end = left is None and (gap is None or gap < 1)
        if read.array is not one.carried.param and (open_end or (left is not None and left < 1)):
            return True
    return False


def _finding(one: Filled, which: str, how: str) -> Obligation:
    name = named(one.carried.param, "the array")
    return Obligation(
        one.loop.op.span,
        message=f"the loop {how}: it never writes the {which} element of {name}",
        current=f"it writes the elements from {shown(one.low)} to {shown(one.end - ONE)}, of {shown(one.size)}",
        expected=f"every element is computed from the one {'before' if one.forwards else 'after'} it",
        steps=(Step(one.write.span, f"the elements of {name} are written here, each from the one beside it"),),
        suggestion="let the loop run one turn longer",
    )
