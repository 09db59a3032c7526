"""The rule `advantage-not-reversed`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage.recursions import (
    Accumulated,
    Bootstrapped,
    Recursion,
    accumulated,
    bootstrapped,
    recursions,
)
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Example, Obligation, Rule, Step, named, proved

_SHIFTED = """
def advantages(rewards, dones, values, last_value, gamma, lam):
    next_values = jnp.concatenate([values[1:], last_value[None]])
    deltas = rewards + gamma * next_values * (1.0 - dones) - values

    def step(carry, x):
        delta, done = x
        carry = delta + gamma * lam * (1.0 - done) * carry
        return carry, carry

    {call}
    return out
"""

_PAIRS = """
def advantages(rewards, values, last_value, gamma, lam):
    next_values = jnp.append(values[1:], last_value)
    deltas = rewards + gamma * next_values - values

    def join(left, right):
        return left[0] * right[0], right[1] + right[0] * left[1]

    share = jnp.full_like(deltas, gamma * lam)
    return jax.lax.associative_scan(join, (share, deltas){reverse})[1]{mark}
"""

_COUNTED = """
def advantages(rewards, values, gamma, lam):
    steps = rewards.shape[0]

    def step(i, state):
        gae, out = state
        t = {index}
        gae = rewards[t] + gamma * values[t + 1] - values[t] + gamma * lam * gae
        return gae, out.at[t].set(gae)

    return jax.lax.fori_loop(0, steps, step, (0.0, jnp.zeros_like(rewards)))[1]{mark}
"""

_PYTHON = """
def advantages(rewards, values, last_value, gamma, lam):
    gae, out, steps = 0.0, [], rewards.shape[0]
    for t in {turns}:{mark}
        later = last_value if t == steps - 1 else values[t + 1]
        gae = rewards[t] + gamma * later - values[t] + gamma * lam * gae
        out.append(gae)
    return jnp.stack(out{end})
"""

_RETURNS = """
def loss(params, state, keys):
    def step(state, key):
        state = 0.9 * state + jax.random.normal(key, state.shape)
        return state, (state, -jnp.abs(state).sum(-1))

    last, (states, rewards) = jax.lax.scan(step, state, keys)
    returns = discounted(rewards, {start})
    return jnp.mean((states @ params - jax.lax.stop_gradient(returns)) ** 2)


def discounted(rewards, start):
    def add(total, reward):
        total = reward + 0.99 * total
        return total, total

    return jax.lax.scan(add, start, rewards{reverse})[1]{mark}
"""

_POWERS = """
def advantages(rewards, values, last_value, gamma, lam):
    deltas = rewards + gamma * jnp.append(values[1:], last_value) - values
    weights = (gamma * lam) ** jnp.arange(deltas.shape[0])
    return {total} / weights{mark}
"""

_CARRIED = """
def advantages(rewards, dones, values, last_value):
    def step(carry, x):
        gae, next_value = carry
        reward, done, value = x
        delta = reward + 0.99 * next_value * (1 - done) - value
        gae = delta + 0.99 * 0.95 * (1 - done) * gae
        return (gae, value), gae

    start = (jnp.zeros_like(last_value), last_value)
    {call}
    return out
"""


class AdvantageNotReversed(Rule):
    """Advantages are added up from the first step to the last, although each depends on the steps after it.

    ## What it does
    Finds loops that add up temporal differences (`reward + gamma * next_value - value`, and a share of what was added
    up so far) in the order of time: scans, `associative_scan`, loops that read `x[t]`, cumulative sums of discounted
    differences. The next value is recognised by where it comes from: the same values shifted by one step, those at the
    next index, or a carry that holds the value of the step before.

    A discounted sum over what a scan stacked that starts from the last carry of this scan (the value of the last state)
    has to run backwards as well.

    ## Why is this bad?
    The advantage of a step is its own temporal difference plus the discounted ones of the steps that follow. Run
    forwards, each step collects the differences of its past, which its action did not cause. Nothing is raised, and
    training merely learns little.

    ## Example
        _, advantages = jax.lax.scan(step, zeros, (deltas, dones))

    ## Use instead
        _, advantages = jax.lax.scan(step, zeros, (deltas, dones), reverse=True)

    ## When it cannot tell
    Where it cannot be seen how the next value follows from the value, there is nothing to judge.
    """

    summary = "Advantages are accumulated forwards in time."

    valid = (
        Example(_SHIFTED.format(call="_, out = jax.lax.scan(step, last_value, (deltas, dones), reverse=True)"), "back"),
        Example(
            _CARRIED.format(call="_, out = jax.lax.scan(step, start, (rewards[::-1], dones[::-1], values[::-1]))"),
            "turned by hand",
        ),
        Example(_PAIRS.format(reverse=", reverse=True", mark=""), "pairs, backwards"),
        Example(_COUNTED.format(index="steps - 1 - i", mark=""), "counted down"),
        Example(_PYTHON.format(turns="reversed(range(steps))", end="[::-1]", mark=""), "a loop of Python"),
        Example(_POWERS.format(total="jnp.cumsum((deltas * weights)[::-1])[::-1]", mark=""), "a cumulative sum"),
        Example(_RETURNS.format(start="last @ params", reverse=", reverse=True", mark=""), "from the last value"),
        Example(_RETURNS.format(start="jnp.zeros_like(last[..., 0])", reverse="", mark=""), "from nothing"),
        Example(
            """
def returns(rewards, dones):
    def step(carry, x):
        reward, done = x
        carry = reward + 0.99 * (1 - done) * carry
        return carry, carry
    return jax.lax.scan(step, 0.0, (rewards, dones))[1]
""",
            "a running return, as wrappers that scale rewards keep it",
        ),
        Example(
            """
def without_offset(x):
    def step(y, change):
        y = change + 0.995 * y
        return y, y
    return jax.lax.scan(step, 0.0, x[1:] - x[:-1])[1]
""",
            "a filter of a signal runs forwards",
        ),
        Example(
            """
def total(rewards, values):
    def step(carry, x):
        reward, value, successor = x
        carry = carry + reward + 0.99 * successor - value
        return carry, None
    return jax.lax.scan(step, 0.0, (rewards, values[:-1], values[1:]))[0]
""",
            "a total is the same in any order",
        ),
        Example(
            """
def falling(xs, start):
    def both(carry, x):
        carry = carry & x
        return carry, carry
    last, mask = jax.lax.scan(both, start, xs > 0)
    kept = jnp.where(mask, xs, 0.0) + jnp.where(mask.at[last.sum()].set(True), xs, 0.0)
    def lower(before, now):
        now = jnp.where(now > before, before, now)
        return now, now
    return jax.lax.scan(lower, kept[0], kept)[1]
""",
            "from the first of the steps",
        ),
    )
    invalid = (
        Example(_SHIFTED.format(call="_, out = jax.lax.scan(step, last_value, (deltas, dones))  #!"), "shifted values"),
        Example(
            _CARRIED.format(call="_, out = jax.lax.scan(step, start, (rewards, dones, values))  #!"), "a carried value"
        ),
        Example(
            _SHIFTED.replace(
                "(1.0 - dones) - values", "(1.0 - dones) - values\n    deltas = lam[:, None] * deltas"
            ).format(call="_, out = jax.lax.scan(step, last_value, (deltas, dones))  #!"),
            "weighed by the ratio of two policies",
        ),
        Example(_PAIRS.format(reverse="", mark="  #!"), "pairs"),
        Example(_COUNTED.format(index="i", mark="  #!"), "counted up"),
        Example(_PYTHON.format(turns="range(steps)", end="", mark="  #!"), "a loop of Python"),
        Example(_POWERS.format(total="jnp.cumsum(deltas * weights)", mark="  #!"), "a cumulative sum"),
        Example(_RETURNS.format(start="last @ params", reverse="", mark="  #!"), "from the last value"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List everything that adds up temporal differences."""
        found = [one for one in recursions(program, facts.flow) if one.backwards or not _is_total(one)]
        yield from map(_judged, found)
        yield from map(_summed, accumulated(program, facts.flow))
        told = {one.scan for one in found}
        yield from (_continued(one) for one in bootstrapped(program, facts.flow) if one.op not in told)


def _is_total(one: Recursion) -> bool:
    """Whether the carry is kept as it is: a plain total, which is the same in any order."""
    return one.kept.coefficient == 1 and one.kept.factors == (one.carry,) and not one.kept.masks


def _judged(one: Recursion) -> Obligation:
    return _added_up(one.scan, one.update, one.value, backwards=one.backwards)


def _summed(one: Accumulated) -> Obligation:
    return _added_up(one.op, one.op, one.value, backwards=one.backwards)


def _continued(one: Bootstrapped) -> Obligation:
    if one.backwards:
        return proved(one.op.span, "what starts from the end of the steps is added up from the last to the first")
    start = named(one.start, "what it starts from")
    return Obligation(
        one.op.span,
        message=f"{start} belongs to the end of the steps, and is added up with them from the first one on",
        current="the first step is continued with what comes after the last one",
        expected="each step is continued with what comes after it: they are added up backwards",
        steps=(
            Step(one.steps.span, f"the steps are made here, and {start} of what is left at their end"),
            Step(one.update.span, "what was added up so far is discounted and added here"),
        ),
        suggestion="go through the steps from the last to the first",
    )


def _added_up(op: Op, update: Op, value: Value, *, backwards: bool) -> Obligation:
    if backwards:
        return proved(op.span, "temporal differences are added up from the last step to the first")
    text = f"what was added up so far is added here; {named(value, 'the value')} and its successor are in the sum"
    scanned = op.name in ("scan", "associative_scan")
    return Obligation(
        op.span,
        message="temporal differences are added up forwards in time",
        current="each step collects the discounted differences of the steps before it",
        expected="each step collects those of the steps that follow: they are added up backwards",
        steps=(Step(update.span, text),),
        suggestion="give the scan `reverse=True`" if scanned else "go through the steps from the last to the first",
    )
