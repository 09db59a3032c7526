"""The rule `wrong-bootstrap`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.returns import returns
from jaxaudit.analyses.queries import behind, depends, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import Branch, Carried, Loop
from jaxaudit.ir.values import index_parts
from jaxaudit.rules.base import Example, Obligation, Rule, Step, named, proved
from jaxaudit.rules.envs._shared.new_episodes import new_episodes
from jaxaudit.rules.envs._shared.next_values import Pair, pairs, written

_SLICED = """
def advantages(rewards, dones, values, gamma, lam):
    deltas = rewards + gamma * {later} * (1 - dones) - {value}{mark}

    def back(total, step):
        delta, done = step
        total = delta + gamma * lam * (1 - done) * total
        return total, total

    return jax.lax.scan(back, jnp.zeros_like(rewards[0]), (deltas, dones), reverse=True)[1]
"""

_ROLLOUT = """
def update(net, env, params, obs, keys):
    def act(obs, key):
        value = net(params, obs)
        later, reward, done = env(obs, key)
        return later, (obs, reward, done, value)

    last, (seen, rewards, dones, values) = jax.lax.scan(act, obs, keys)
    last_value = net(params, {of}){mark}

    def back(carry, step):
        total, later = carry
        reward, done, value = step
        delta = reward + 0.99 * later * (1 - done) - value
        total = delta + 0.95 * (1 - done) * total
        return (total, value), total

    start = (jnp.zeros_like(last_value), last_value)
    return jax.lax.scan(back, start, (rewards, dones, values), reverse=True)[1], last, seen
"""

_COUNTED = """
def advantages(rewards, values, gamma, lam):
    total, out, steps = 0.0, [], rewards.shape[0]
    for t in reversed(range(1, steps)):
        delta = rewards[t] + gamma * values[t {shift}] - values[t]{mark}
        total = delta + gamma * lam * total
        out.append(total)
    return jnp.stack(out[::-1])
"""

_RESTARTED = """
def update(net, params, x, keys):
    def act(carry, key):
        x, t = carry
        later, value = x + jax.random.normal(key), net(params, x)
        fell, late = jnp.abs(later) > 3.0, t >= 99
        over = fell | late
        start = 0.1 * jax.random.normal(key)
        return (jnp.where(over, start, later), jnp.where(over, 0, t + 1)), (later**2, {flag}, value{more})

    (x, _), steps = jax.lax.scan(act, (x, 0), keys)

    def back(carry, step):
        total, later = carry
        reward, done, value{more} = step
        total = reward + 0.99 * {later} * (1 - done) - value + 0.95 * (1 - done) * total{mark}
        return (total, value), total

    last = net(params, x)
    return jax.lax.scan(back, (jnp.zeros_like(last), last), steps, reverse=True)[1]
"""

_REMEMBERED = """
def collect(carry, key):
    x, t, memory = carry
    later = x + jax.random.normal(key)
    fell, late = jnp.abs(later) > 3.0, t % 50 == 49
    new = jnp.where(fell | late, 0.1 * jax.random.normal(key), later)
    memory = {{
        "x": memory["x"].at[t].set(x),
        "cost": memory["cost"].at[t].set(later**2),
        "ended": memory["ended"].at[t].set({flag}),
        "then": memory["then"].at[t].set({then}),{mark}
    }}
    return (new, t + 1, memory), None


def update(w, key, keys):
    memory = {{name: jnp.zeros(256) for name in ("x", "cost", "ended", "then")}}
    (_, _, memory), _ = jax.lax.scan(collect, (0.0, 0, memory), keys)
    rows = jax.random.randint(key, (32,), 0, 256)
    goal = memory["cost"][rows] + 0.99 * (1.0 - memory["ended"][rows]) * w * memory["then"][rows] ** 2
    return jax.grad(lambda w: jnp.mean((w * memory["x"][rows] ** 2 - goal) ** 2))(w)
"""


class WrongBootstrap(Rule):
    """The value that continues a step is not that of the step after it.

    ## What it does
    Looks at every sum over the steps to come in which a value is taken away and a discounted one is added: advantages,
    however they are written. The discounted one must be the value of the step after. Behind the last step of a rollout
    it must be the value of what the rollout ended with: not of the last step that was recorded, which is the value that
    is taken away there, and not of what the rollout began with. Where a state is replaced by a fresh one when an
    episode ends, for one of several reasons, the next value counts for none of them, or is that of the state before;
    also where both were stored, row by row, and are read again later.

    ## Why is this bad?
    A temporal difference compares what was expected at a step with what came of it. With the value of another step it
    measures something else. Shapes fit and nothing is raised.

    ## Example
        last_obs, steps = jax.lax.scan(act, obs, keys)
        last_value = net(params, steps.obs[-1])

    ## Use instead
        last_obs, steps = jax.lax.scan(act, obs, keys)
        last_value = net(params, last_obs)

    ## When it cannot tell
    Where it cannot be seen which steps the two values belong to, there is nothing to judge.
    """

    summary = "A step is continued with the value of a step that is not the next one."
    needs = (Shapes,)

    valid = (
        Example(_SLICED.format(later="values[1:]", value="values[:-1]", mark=""), "the one behind it"),
        Example(_ROLLOUT.format(of="last", mark=""), "what the rollout ended with"),
        Example(_COUNTED.format(shift="+ 1", mark=""), "at the next index"),
        Example(
            _ROLLOUT.format(of="seen[-1]", mark="").replace(
                "(rewards, dones, values), reverse", "(rewards[:-1], dones[:-1], values[:-1]), reverse"
            ),
            "the last step is no part of the sum",
        ),
        Example(_RESTARTED.format(flag="over", more="", later="later", mark=""), "masked by all ends"),
        Example(_RESTARTED.format(flag="fell | late", more="", later="later", mark=""), "by all ends, written anew"),
        Example(
            _RESTARTED.format(flag="fell", more=", after", later="after", mark="").replace(
                "value, after)", "value, net(params, later))"
            ),
            "the value before the restart",
        ),
        Example(_REMEMBERED.format(flag="fell", then="later", mark=""), "the state before the restart is stored"),
        Example(_REMEMBERED.format(flag="fell | late", then="new", mark=""), "all ends are stored"),
        Example(
            """
def smoothed(rates, sources, signal, decay):
    def back(total, step):
        rate, source, value = step
        total = source + rate * value - value + decay * total
        return total, total

    return jax.lax.scan(back, 0.0, (rates, sources, signal), reverse=True)[1]
""",
            "a gain and a loss of one signal",
        ),
    )
    invalid = (
        Example(_SLICED.format(later="values[:-1]", value="values[:-1]", mark="  #!"), "its own"),
        Example(_SLICED.format(later="values[:-1]", value="values[1:]", mark="  #!"), "the one before"),
        Example(_ROLLOUT.format(of="seen[-1]", mark="  #!"), "of the last step that was recorded"),
        Example(_ROLLOUT.format(of="obs", mark="  #!"), "of what the rollout began with"),
        Example(_COUNTED.format(shift="- 1", mark="  #!"), "at the index before"),
        Example(_RESTARTED.format(flag="fell", more="", later="later", mark="  #!"), "of a new episode"),
        Example(_REMEMBERED.format(flag="fell", then="new", mark="  #!"), "of a new episode, from a memory"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every next value of a sum over the steps to come."""
        for one in returns(program, facts.flow):
            for pair in pairs(one):
                yield from _judged(pair, facts.flow)
        yield from new_episodes(program, facts)


def _judged(pair: Pair, flow: Flow) -> Iterator[Obligation]:
    ahead = pair.next.shift - pair.at.shift
    place = written(pair, flow)
    if ahead == 1:
        end = _behind_last(pair, flow)
        found = None if end is None else _judged_end(pair, end, flow)
        yield found or proved(place.span, "the value that is discounted is that of the step after")
    elif ahead or _is_discounted_alike(pair):
        yield _other_step(pair, ahead, place)


def _is_discounted_alike(pair: Pair) -> bool:
    """Whether the value of the step itself is scaled by something that scales what was added up so far, too."""
    kept = pair.sum.flags(pair.sum.kept)
    own = [one for one in pair.sum.flags(pair.part) if one.moment.series != pair.next.series]
    return any(one.moment.series == two.moment.series and one.ends == two.ends for one in own for two in kept)


def _other_step(pair: Pair, ahead: int, place: Op) -> Obligation:
    value = named(pair.value, named(pair.at.value, "the value"))
    which = "its own" if ahead == 0 else "the one before" if ahead == -1 else f"the one {abs(ahead)} steps away"
    return Obligation(
        place.span,
        message=f"the value that is discounted and added here is not that of the step after, but {which}",
        current=f"each step is continued with {value} of "
        + ("the same step" if ahead == 0 else "a step before it" if ahead < 0 else "a later one than the next"),
        expected=f"it is continued with {value} of the step that follows",
        steps=(Step(pair.sum.update.span, "what was added up so far is added here"),),
        suggestion="discount the next value, as `values[1:]` beside `values[:-1]`",
    )


def _behind_last(pair: Pair, flow: Flow) -> Value | None:
    """Return what continues the last step: the start of a carry, what is joined to the end, or the other choice."""
    start = next((one.start for one in pair.sum.course.carried if one.param is pair.later), None)
    if start is not None:
        return start
    seen = pair.sum.course.elements.get(pair.later)
    made = pair.sum.sums.maker(pair.later if seen is None else seen.array)
    if made is not None and made.name == "array.join" and len(made.operands) == 2:
        return made.operands[1]
    if made is not None and (branch := Branch.of(made)) is not None and made.name == "py.branch":
        at = flow.position(made.results, pair.sum.sums.source(pair.later))
        arms = [region.results[at] for region in branch.arms]
        outside = [one for one in arms if (by := flow.maker(one)) is None or flow.holder(by) is not made]
        return outside[0] if len(outside) == 1 else None
    return None


def _judged_end(pair: Pair, end: Value, flow: Flow) -> Obligation | None:
    """Judge what the value behind the last step is computed from, where all steps of a rollout are gone through."""
    loop = None if pair.at.loop is None else Loop.of(pair.at.loop)
    if loop is None or not _is_whole(pair, loop):
        return None
    carried = [one for one, after in zip(loop.carried, loop.body.results, strict=False) if after is not one.param]
    seen = [one for one in carried if depends(flow, pair.at.value, (one.param,))]
    met = set(walk((end,), lambda one: () if one in loop.op.results else behind(flow, one)))
    finals = [loop.op.results[one.position] for one in seen if one.position < len(loop.op.results)]
    if not seen or not met.isdisjoint(finals):
        return None
    for one in seen:
        arrays = [array for given, array in loop.stacked if given is one.param]
        last = next((op for array in arrays if array in met for op in flow.readers[array] if _is_last(op, met)), None)
        if last is not None or one.start in met:
            return _wrong_end(pair, end, one, last, loop, flow)
    return None


def _is_last(op: Op, met: set[Value]) -> bool:
    return op.name == "py.item" and index_parts(op.arguments.get("index"))[:1] == (-1,) and op.results[0] in met


def _is_whole(pair: Pair, loop: Loop) -> bool:
    """Whether the loop that adds up goes through all that the rollout recorded."""
    arrays = (seen.array for seen in pair.sum.course.elements.values())
    makers = (pair.sum.sums.maker(array) for array in arrays)
    return all(made is not None and made.name != "py.item" for made in makers)


def _wrong_end(pair: Pair, end: Value, state: Carried, last: Op | None, loop: Loop, flow: Flow) -> Obligation:
    made = flow.giver(end, loop.op) or flow.giver(pair.sum.sums.source(end), loop.op)
    final = named(state.param, "the state")
    which = f"{final} that the last step was taken from" if last else f"{final} that the steps began with"
    return Obligation(
        (made or pair.sum.op).span,
        message=f"the value behind the last step is that of {which}, not of what came after it",
        current="the last step is continued with " + ("its own value" if last else "the value of the first step"),
        expected=f"it is continued with the value of {final} that the steps end with",
        steps=(
            *((Step(last.span, "the last one that was recorded is taken here"),) if last else ()),
            Step(loop.op.span, "the steps are made here; what they end with is the first part of the result"),
            Step(pair.sum.op.span, "the steps are added up here, from the last one on"),
        ),
        suggestion=f"compute it from {final} after the loop",
    )
