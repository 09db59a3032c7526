"""The rule `scanned-axis-not-time`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.axes import Axes, Cause, Conflict, Meeting
from jaxaudit.analyses.axes.courses import Along, directed
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.labels import named
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Size, Value
from jaxaudit.ir.ops import NOTES
from jaxaudit.ir.record import record
from jaxaudit.rules.axes._shared.phrases import agreements, axis_of, makers, name_of, shape_of, violated
from jaxaudit.rules.base import Example, Obligation, Rule, Step, proved

_PROGRAM = """
STEPS, ENVS = 8, 8


def returns(rewards):
    def step(total, reward):
        total = reward + 0.9 * total
        return total, total

    return jax.lax.scan(step, jnp.zeros(ENVS), {xs}){mark}


returns(jnp.zeros((STEPS, ENVS)))
"""

_ROLLOUT = """
ENVS, STEPS, TOTAL = 8, 64, 4096
UPDATES = TOTAL // (ENVS * STEPS)


def rollout(state):
    return jax.lax.scan(lambda s, _: (s * 0.9, s), state, None, {length}){mark}


for _ in range(UPDATES):
    rollout(jnp.zeros(ENVS))
"""


_EPISODES = """
def episode(key):
    def step(x, key):
        x = x + jax.random.normal(key)
        return x, jnp.exp(-x * x)

    return jax.lax.scan(step, 0.0, jax.random.split(key, 50))[1]


def to_go(rewards):
    return {total}{mark}


to_go(jax.vmap(episode)(jax.random.split(jax.random.key(0), 8)))
"""


_RAYS = """
def light(density):
    return jnp.exp(-jnp.cumsum(density, axis={axis})){mark}


u, v = jnp.meshgrid(jnp.arange(24), jnp.arange(16))
slopes = jnp.stack([u - 12.0, v - 8.0], axis=-1).reshape(-1, 2)
depth = jnp.linspace(1.0, 5.0, 48)
density = 0.0
for centre in (2.0, 3.0):
    density = density + jnp.exp(-((slopes[:, None, :] * depth[None, :, None] - centre) ** 2).sum(-1))
light(density)
"""


class ScannedAxisNotTime(Rule):
    """`scan`, or a cumulative function, goes through another axis than the one that has an order.

    ## What it does
    In each step the body sees its inputs without their first axis. Where what is left meets an array of another name
    (the carry, for example), and it is the scanned axis that has this name, the wrong axis is scanned. A scan without
    inputs that runs as often as its carry has rows is reported where the constant that is multiplied with this number
    elsewhere becomes the length of nothing.

    Cumulative functions, `diff` and scans that run backwards need an axis whose elements follow one another: what a
    scan stacked, what was counted or sorted. Along an axis with one element for each key (or shuffled ones) they are
    wrong where the array has an axis that a loop made step by step as well. So they are along the flattened rows of a
    grid, beside an axis that was counted.

    ## Why is this bad?
    Rewards laid out as `(envs, steps)` that are scanned for returns are summed over environments. With as many steps
    as environments nothing is raised.

    ## Example
        STEPS, ENVS = 8, 8
        jax.lax.scan(step, jnp.zeros(ENVS), rewards.T)  # (ENVS, STEPS)

    ## Use instead
        STEPS, ENVS = 8, 8
        jax.lax.scan(step, jnp.zeros(ENVS), rewards)  # (STEPS, ENVS)

    ## When it cannot tell
    When the sizes have no names. A cumulative sum that counts, is compared or searched in, or is divided by how many
    elements there were, may be along any axis.
    """

    summary = "`scan` or a cumulative function goes through another axis than is meant."
    needs = (Axes, Shapes)

    valid = (
        Example(_PROGRAM.format(xs="rewards", mark=""), "step by step"),
        Example(_ROLLOUT.format(length="STEPS", mark=""), "as many steps as counted on"),
        Example(_EPISODES.format(total="jnp.cumsum(rewards[:, ::-1], axis=1)[:, ::-1]", mark=""), "the steps to come"),
        Example(_EPISODES.format(total="jnp.diff(rewards)", mark=""), "from step to step"),
        Example(
            _EPISODES.format(total="jnp.cumsum(rewards, axis=0) / jnp.arange(1, 9)[:, None]", mark=""),
            "the mean of more and more episodes",
        ),
        Example(
            """
def forces(key):
    return jax.random.normal(key) * jnp.linspace(0.0, 1.0, 20)


path = jnp.cumsum(jax.vmap(forces)(jax.random.split(jax.random.key(0), 100)), axis=0)
""",
            "noise that is added up, beside a grid",
        ),
        Example(_EPISODES.format(total="jnp.cumsum(rewards, axis=0) < 3.0", mark=""), "as many episodes as are needed"),
        Example(_RAYS.format(axis=1, mark=""), "along each ray"),
        Example(
            """
places = (jnp.arange(10)[:, None] * 16 + jnp.arange(16)).reshape(-1)
phases = jnp.cumsum(jnp.sin(places)[:, None] * jnp.arange(1, 9), axis=0)
xs, ys = jnp.meshgrid(jnp.arange(4.0), jnp.arange(5.0))
shares = jnp.cumsum(jnp.exp(-(xs**2) - ys**2).reshape(-1))
""",
            "frames that go on in one another, and a distribution over a grid",
        ),
    )
    invalid = (
        Example(_PROGRAM.format(xs="rewards.T", mark="  #!"), "env by env"),
        Example(_ROLLOUT.format(length="ENVS", mark="  #!"), "as many steps as environments"),
        Example(_EPISODES.format(total="jnp.cumsum(rewards[::-1], axis=0)[::-1]", mark="  #!"), "other episodes"),
        Example(_EPISODES.format(total="jnp.cumsum(rewards, axis=0)", mark="  #!"), "forwards"),
        Example(_EPISODES.format(total="jax.lax.cumlogsumexp(rewards, reverse=True)", mark="  #!"), "of `lax`"),
        Example(_EPISODES.format(total="jnp.diff(rewards, axis=0)", mark="  #!"), "from episode to episode"),
        Example(_RAYS.format(axis=0, mark="  #!"), "from ray to ray"),
        Example(
            _EPISODES.format(
                total="jnp.cumsum(jnp.stack([rewards, -rewards]).reshape(-1, 50)[::-1], axis=0)", mark="  #!"
            ),
            "across episodes that were flattened",
        ),
        Example(
            _EPISODES.format(
                total="jax.lax.scan(lambda g, r: (r + 0.9 * g,) * 2, jnp.zeros(50), rewards, reverse=True)[1]",
                mark="  #!",
            ),
            "scanned backwards",
        ),
        Example(
            """
def flight(state):
    def step(state, _):
        state = 0.9 * state
        return state, state.sum()

    return jax.lax.scan(step, state, None, length=50)[1]


states = jax.random.normal(jax.random.key(0), (8, 3))
costs = jax.vmap(flight)(states)
to_go = jax.lax.associative_scan(jnp.add, costs, reverse=True)  #!
""",
            "one flight for each drawn state",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every `scan` over named axes, and all that goes along an axis that has an order, or none."""
        axes = facts.get(Axes)
        yield from map(_along, directed(program, facts.flow, facts.get(Shapes)))
        yield from agreements(axes, _agreed)
        yield from map(_finding, axes.caused(Cause.SCANNED))
        yield from map(_repeated, _repeated_lengths(facts.flow, facts.get(Shapes)))


def _agreed(meeting: Meeting) -> str:
    return f"each step takes one of `{axis_of(meeting.left.dim)}`" if meeting.how == "scanned" else ""


def _finding(conflict: Conflict) -> Obligation:
    meeting, astray = conflict.meeting, conflict.astray
    other = meeting.right if astray is meeting.left else meeting.left
    left, scanned = axis_of(astray.dim), axis_of(other.dim)
    return violated(
        conflict,
        f"`scan` steps through `{scanned}`, but its body is written for steps of `{left}`",
        f"each step sees one of `{left}`, and all of `{scanned}`",
        f"swap the axes so that `{left}` comes first",
    )


def _along(one: Along) -> Obligation:
    if one.ordered is None:
        return proved(one.op.span, f"it goes along `{axis_of(one.dims[one.place])}`, whose elements follow one another")
    array, here, there = name_of(one.array), axis_of(one.dims[one.place]), axis_of(one.dims[one.ordered])
    what = one.op.function if one.op.name == "array.scan" else one.op.name
    return Obligation(
        one.op.span,
        message=f"`{what}` goes along `{here}`, whose elements do not follow one another; `{there}` has an order",
        current=f"{array} is {shape_of(one.dims)}; each element of `{here}` is joined with others that are independent",
        expected=f"it goes along axis {one.ordered}, `{there}`",
        steps=makers(one.dims[one.place], one.dims[one.ordered]),
        suggestion=f"use axis {one.ordered}, or put `{there}` first",
    )


def _repeated(one: _RepeatedLength) -> Obligation:
    length, meant = one.length.name, one.meant.name
    return Obligation(
        one.scan.span,
        message=f"`scan` runs `{length}` times, the rows of {name_of(one.carried)}; `{meant}` is no length at all",
        current=f"what is collected has `{length}` times `{length}` elements, and nothing has `{meant}`",
        expected=f"`scan` runs `{meant}` times",
        steps=(Step(one.counted.span, f"`{length}` times `{meant}` elements are counted on here"),),
        suggestion=f"use `{meant}` as the length",
    )


@record
class _RepeatedLength:
    """A scan that runs as often as its carry has rows, while another size was to be its length."""

    scan: Op
    length: Size
    meant: Size
    counted: Op
    """Where the two are multiplied."""
    carried: Value


def _repeated_lengths(flow: Flow, shapes: Shapes) -> Iterator[_RepeatedLength]:
    """Return the scans whose length was written down, is an axis of their carry and leaves its partner unused."""
    program = flow.program
    products = list(program.named("py.sizes"))
    if not products:
        return
    used: set[tuple[str, str]] = set()
    for op in program.named("scan"):
        length = _length(op, flow)
        carried = _carried(op, length, shapes) if isinstance(length, Size) else None
        if not isinstance(length, Size) or carried is None:
            continue
        meetings = [(product, meant) for product in products if (meant := _partner(product, length)) is not None]
        used = used or (_used(program) if meetings else set())
        for product, meant in meetings:
            if (meant.name, meant.scope) not in used:
                yield _RepeatedLength(op, length, meant, product, carried)


def _length(op: Op, flow: Flow) -> object:
    """Return how often a scan runs: its `length`, or how many keys or numbers were made for it to go over."""
    inputs = op.operands[op.carry or 0 :]
    if not inputs:
        return op.length
    makers = [flow.maker(value) for value in inputs]
    counts = [None if maker is None else _count(maker) for maker in makers]
    return counts[0] if all(isinstance(count, Size) and count == counts[0] for count in counts) else None


def _count(maker: Op) -> object:
    if maker.name == "key.split":
        return maker.argument("num")
    return maker.argument("stop", "start") if maker.function == "arange" and len(maker.arguments) == 1 else None


def _used(program: Program) -> set[tuple[str, str]]:
    """Return every size that something is made with."""
    return {(size.name, size.scope) for op in program.walk() if op.name not in NOTES for size in _sizes_of(op)}


def _sizes_of(op: Op) -> Iterator[Size]:
    pending: list[object] = [*op.arguments.values(), *op.noted]
    while pending:
        one = pending.pop()
        if isinstance(one, Size):
            yield one
        elif isinstance(one, tuple):
            pending.extend(one)
        elif isinstance(one, Mapping):
            pending.extend(one.values())


def _carried(op: Op, length: Size, shapes: Shapes) -> Value | None:
    for value in op.operands:
        for dim in shapes.of(value).dims or ():
            if any((label.name, label.scope) == (length.name, length.scope) for label in named(dim.labels)):
                return value
    return None


def _partner(product: Op, size: Size) -> Size | None:
    left, right = product.left, product.right
    if not isinstance(left, Size) or not isinstance(right, Size) or left.scope != right.scope:
        return None
    names = {left.name: right, right.name: left}
    return names.get(size.name) if left.scope == size.scope and left.name != right.name else None
