"""The rule `end-never-read`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.dims import ONE
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.ranges import Ranges
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.facts import shown
from jaxaudit.analyses.visits import Visited, guards, is_read_beside, read_at, starts_with, visited
from jaxaudit.analyses.windows import Windows, windows
from jaxaudit.ir import Op, Program
from jaxaudit.rules.base import Example, Obligation, Rule, Step, named, proved, unknown

_FEW = 8
"""How many elements beside what a loop reads may be read one by one."""

_FORWARD = """
def likelihood(scores, moves, seen):
    steps = seen.shape[0]

    def advance(t, alpha):
        return jax.nn.logsumexp(alpha[:, None] + moves, axis=0) + scores[:, seen[t]]

    return jax.lax.fori_loop({bounds}, advance, scores[:, seen[0]]){mark}
"""

_PYTHON = """
def smooth(rate, x):
    level = x[{first}]
    for t in {turns}:{mark}
        level = (1.0 - rate) * level + rate * x[t]
    return level


smooth(0.1, jnp.ones(9))
"""

_DENOISED = """
def sample(x, noise):
    kept = jnp.linspace(0.99, 0.5, 20)

    def step(x, t):
        x = x / kept[t]
        return x + jnp.where(t > 0, 0.1, 0.0) * noise, x.mean()

    return jax.lax.scan(step, x, jnp.arange(19, {stop}, -1)){mark}
"""


_EPOCH = """
def epoch(w, x, key):
    order = jax.random.permutation(key, 256)

    def batch(w, i):
        at = jax.lax.dynamic_slice_in_dim(order, {start}, 16){mark}
        return w - 0.1 * x[at].mean(axis=0), None

    return jax.lax.scan(batch, w, jnp.arange(16))[0]
"""


class EndNeverRead(Rule):
    """A loop goes through all elements of an array but the one at its end.

    ## What it does
    Compares what a loop counts with the axis that it indexes. Where the loop carries on from one end of an array, which
    was read before it, it has to arrive at the other end. Where its body makes an exception for one end of an axis, the
    loop has to get there. Between an end that is read by itself and what the loop reads no element is left out.
    Where a loop takes as many stretches of an axis as fit, each starts where the one before ends.

    ## Why is this bad?
    The last observation of each sequence counts for nothing, or the last step of a sampler, the one that leaves out the
    noise, never runs. Results look plausible.

    ## Example
        alpha = start * emit[seen[0]]
        jax.lax.fori_loop(1, steps - 1, advance, alpha)

    ## Use instead
        alpha = start * emit[seen[0]]
        jax.lax.fori_loop(1, steps, advance, alpha)

    ## When it cannot tell
    When the array is read elsewhere, too, or its size is not known.
    """

    summary = "A loop goes through all elements of an array but the last one."
    needs = (Shapes, Ranges)

    valid = (
        Example(_EPOCH.format(start="i * 16", mark=""), "batches side by side"),
        Example(
            "def means(x):\n    mean = lambda i: jax.lax.dynamic_slice_in_dim(x, i, 8).mean()\n"
            "    return jax.vmap(mean)(jnp.arange(57))\n\nmeans(jnp.ones(64))\n",
            "a window that slides",
        ),
        Example(_FORWARD.format(bounds="1, steps", mark=""), "to the end"),
        Example(_PYTHON.format(first=0, turns="range(1, 9)", mark=""), "a loop of Python"),
        Example(_PYTHON.format(first=-1, turns="range(7, -1, -1)", mark=""), "backwards"),
        Example(_DENOISED.format(stop=-1, mark=""), "the last step without noise"),
        Example(
            "def slopes(x):\n    total = x[0]\n    for t in range(1, 8):\n        total = total + x[t + 1] - x[t]\n"
            "    return total\n\nslopes(jnp.ones(9))\n",
            "with the one that follows",
        ),
        Example(
            "def inner(x):\n    total = 0.5 * x[0]\n    for t in range(1, 8):\n        total = total + x[t]\n"
            "    return total + 0.5 * x[-1]\n\ninner(jnp.ones(9))\n",
            "the ends by themselves",
        ),
        Example(
            "def transition(seq, rate):\n    total = seq['reward'][0]\n    for t in range(1, len(seq['reward']) - 1):\n"
            "        total = rate * total + seq['reward'][t]\n    return total, seq['seen'][-1]\n",
            "the last entry of another part counts",
        ),
        Example(
            "def backup(v):\n    s = jnp.arange(9)\n    up, down = jnp.clip(s + 1, 0, 8), jnp.clip(s - 1, 0, 8)\n"
            "    value = lambda n: jnp.where(n == 8, 1.0, 0.9 * v[n])\n    return value(up) + value(down)\n\n"
            "backup(jnp.ones(9))\n",
            "the exception is met by another index",
        ),
    )
    invalid = (
        Example(_EPOCH.format(start="i", mark="  #!"), "batches that overlap"),
        Example(
            "def filtered(c, lap, x):\n    order = c.shape[0] - 1\n    first, second = x, lap @ x\n"
            "    def body(k, carry):\n        first, second, out = carry\n        third = 2.0 * lap @ second - first\n"
            "        return second, third, out + c[k] * third\n\n"
            "    start = (first, second, c[0] * first + c[1] * second)\n"
            "    return jax.lax.fori_loop(2, order, body, start)  #!\n",
            "a recurrence of two terms",
        ),
        Example(_FORWARD.format(bounds="1, steps - 1", mark="  #!"), "one too few"),
        Example(_PYTHON.format(first=0, turns="range(1, 8)", mark="  #!"), "a loop of Python"),
        Example(_PYTHON.format(first=-1, turns="range(7, 0, -1)", mark="  #!"), "backwards"),
        Example(_DENOISED.format(stop=0, mark="  #!"), "the exception is never met"),
        Example(
            "def total(rate, x):\n    n = x.shape[0]\n"
            "    after = jax.lax.fori_loop(0, n - 2, lambda i, c: rate * (c + x[n - 1 - i]), 0.0)  #!\n"
            "    return x[0] + after\n",
            "backwards, to the one behind the first",
        ),
        Example(
            "def total(step, x):\n    return jax.lax.scan(lambda c, one: (step * c + one, c), x[0], x[1:-1])  #!\n",
            "a stretch of the array",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every loop that reads the elements of an array of which it is known how far it gets."""
        for one in visited(facts):
            if one.before is not None and one.after is not None and min(one.before, one.after) >= 0:
                yield _judged(one, facts)
        yield from map(_stretched, windows(facts))


def _judged(one: Visited, facts: Facts) -> Obligation:
    if one.before == 0 and one.after == 0:
        return proved(one.source.span, f"all elements of {_name(one)} are read")
    before, after = one.before or 0, one.after or 0
    ends = read_at(one, facts) if before + after <= _FEW else None
    beside = () if ends is None else (*range(before), *range(-after, 0))
    if ends is not None and not ends.keys() <= set(beside):
        ends = None
    unread = [place for place in beside if ends is not None and place not in ends]
    begun = ends and (len(ends) > 1 or any(starts_with(one, read, facts) for read in ends.values()))
    if ends and begun and len(unread) == 1 and not is_read_beside(one, unread[0], facts):
        if unread == [-1] and after == 1:
            return _lost(one, ends[before - 1], "first")
        if unread == [0] and before == 1:
            return _lost(one, ends[-after], "last")
    hole = _hole(one, ends or {}) if len(unread) == 1 else None
    if hole is not None:
        return _skipped(one, *hole)
    guard = next(guards(one, facts), None) if (one.before or 0) + (one.after or 0) == 1 and not ends else None
    if guard is not None:
        return _unmet(one, guard[0], shown(guard[1]))
    if ends is not None and not unread:
        return proved(one.source.span, f"all elements of {_name(one)} are read")
    return unknown(one.source.span, "whether the elements at the ends are left out on purpose is not known")


def _stretched(one: Windows) -> Obligation:
    """Judge stretches: as many of them as fit side by side, each one further than the one before, overlap."""
    if one.fit:
        name, width = named(one.array, "the array"), shown(one.width)
        return Obligation(
            one.op.span,
            message=f"{shown(one.count)} times {width} elements of {name} are taken, each time one further",
            current=f"they overlap, and end at {shown(one.starts.last + one.width)} of {shown(one.size)} elements",
            expected=f"each stretch starts where the one before ends, {width} further",
            steps=(Step(one.starts.source.span, "this counts the stretches"),),
            suggestion=f"start at what is counted times {width}",
        )
    if one.filled:
        return proved(one.op.span, "the last stretch ends where the axis does")
    return unknown(one.op.span, "whether stretches of the axis are left out on purpose is not known")


def _hole(one: Visited, ends: Mapping[int, Op]) -> tuple[Op, str] | None:
    """Return the read of an end, and which element lies between it and all that the loop reads."""
    if (one.before, one.after) == (2, 0) and 0 in ends:
        return ends[0], "second"
    return (ends[-1], "last but one") if (one.before, one.after) == (0, 2) and -1 in ends else None


def _skipped(one: Visited, read: Op, which: str) -> Obligation:
    return Obligation(
        one.source.span,
        message=f"the {which} element of {_name(one)} is never read, and all others are",
        current=f"the loop reads the elements from {shown(one.low)} to {shown(one.end - ONE)}, of {shown(one.size)}",
        expected="every element is read",
        steps=(Step(read.span, "the one at the end is read here"), Step(one.reads[0].span, "the others are read here")),
        suggestion="let the loop run one turn longer",
    )


def _name(one: Visited) -> str:
    """Name the array as it is called where it is read."""
    return named(one.reads[0].operands[0], named(one.array, "the array"))


def _lost(one: Visited, read: Op, end: str) -> Obligation:
    array, other = _name(one), "last" if end == "first" else "first"
    return Obligation(
        one.source.span,
        message=f"the loop carries on from the {end} element of {array}, and never reads the {other} one",
        current=f"it reads the elements from {shown(one.low)} to {shown(one.end - ONE)}, of {shown(one.size)}",
        expected="every element is read",
        steps=(
            Step(read.span, f"the {end} element is read here, before the loop"),
            Step(one.reads[0].span, "the others are read here"),
        ),
        suggestion=f"let the loop run one turn longer, up to the {other} element",
    )


def _unmet(one: Visited, guard: Op, place: str) -> Obligation:
    return Obligation(
        one.source.span,
        message=f"element {place} of {_name(one)} is never reached, though it is provided for",
        current=f"what is counted goes from {shown(one.low)} to {shown(one.end - ONE)}, of {shown(one.size)} elements",
        expected=f"it gets to {place} as well",
        steps=(
            Step(guard.span, "this comes out the same in every turn"),
            Step(one.reads[0].span, "the elements are read here"),
        ),
        suggestion="let the loop run one turn longer",
    )
