"""The rule `done-taken-both-ways`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage.endings import Reading, readings
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Program
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, named, proved

_ROLLOUT = """
def returns(state, keys):
    def act(state, key):
        state = 0.9 * state + jax.random.normal(key)
        reward, done = state ** 2, jnp.abs(state) > 3.0
        return jnp.where({flag}, 0.0, state), (reward, done)

    def back(total, step):
        reward, done = step
        total = reward + 0.9 * {mask} * total{mark}
        return total, total

    _, steps = jax.lax.scan(act, state, keys)
    return jax.lax.scan(back, 0.0, steps, reverse=True)[1]
"""

_COUNTED = """
def step(env, state, action):
    obs, inner, reward, done = env.step(state["inner"], action)
    total, steps = state["total"] + reward, state["steps"] + 1
    state = dict(
        inner=inner,
        total=total * (1 - done),
        steps={steps},{mark}
        last=jnp.where(done, total, state["last"]),
    )
    return obs, state, reward, done
"""

_WINDOW = """
def train(env, net, state, window, keys):
    def body(carry, key):
        state, left, done = carry
        left = jnp.where(done, {left}){mark}
        state, reward, done = env.step(key, state, net(state, left))
        return (state, left, done), (reward, done)

    start = (state, jnp.full(8, window), jnp.zeros(8, bool))
    _, steps = jax.lax.scan(body, start, keys)

    def back(total, step):
        reward, done = step
        total = reward + 0.99 * (1 - done) * total
        return total, total

    return jax.lax.scan(back, jnp.zeros(8), steps, reverse=True)[1]
"""

_KEPT = """
from flax import struct


@struct.dataclass
class State:
    pos: jax.Array
    wins: int
    score: float


def step(key, state: State):
    pos = state.pos + jax.random.normal(key)
    done = jnp.abs(pos) > 3.0
    moved = state.replace(pos=pos, wins=state.wins + done, score=state.score + pos)
    fresh = State(jax.random.normal(key), 0, 0.0)
    later = jax.tree.map(lambda new, old: jnp.where(done, new, old), fresh, moved)
    return later.replace(
        wins=jnp.where(done, moved.wins, later.wins), score=jnp.where(done, moved.score, later.score)
    ), done
"""


class DoneTakenBothWays(Rule):
    """A flag ends what goes on from step to step in one place, and lets it go on in another.

    ## What it does
    Looks at every place where a flag decides whether a state goes on: `x * (1 - done)`, `where(done, 0, x)`, the choice
    between a fresh state and the next one, the mask of a sum over the steps to come. Each of them says whether things
    end where the flag is set, or where it is not. For one flag all of them must say the same.

    ## Why is this bad?
    With the flag the wrong way round, a counter starts anew in every step of an episode and goes on behind its end, and
    returns are added up across episodes only. Shapes fit and nothing is raised.

    ## Example
        state = jnp.where(done, fresh, state)
        total = reward + gamma * done * total

    ## Use instead
        state = jnp.where(done, fresh, state)
        total = reward + gamma * (1 - done) * total

    ## When it cannot tell
    Where one place stands against one other, it is not known which of them is wrong: a warning where one is a sum over
    the steps to come, and left open where both are parts of a state.
    """

    summary = "One place takes a flag for the end of an episode, another for its going on."
    needs = (Shapes,)

    valid = (
        Example(_ROLLOUT.format(flag="done", mask="(1 - done)", mark=""), "a reset and a mask"),
        Example(_ROLLOUT.format(flag="~~done", mask="jnp.where(done, 0.0, 1.0)", mark=""), "written otherwise"),
        Example(_COUNTED.format(steps="steps * (1 - done)", mark=""), "counters that are cleared"),
        Example(_KEPT, "what is kept through a reset"),
        Example(_WINDOW.format(left="window, jnp.clip(left - 1, 0, window)", mark=""), "a count from a setting"),
        Example(
            _COUNTED.format(steps="jnp.where(done, 0, steps)", mark="").replace(
                "reward, done\n", "reward, total * done\n"
            ),
            "what is reported at the end alone",
        ),
        Example(
            """
def streaks(wins, losses, results):
    def play(carry, result):
        wins, losses = carry
        won = result > 0.0
        return (jnp.where(won, wins + 1, 0), jnp.where(won, 0, losses + 1)), None

    return jax.lax.scan(play, (wins, losses), results)[0]
""",
            "two counts of opposite things",
        ),
        Example(
            """
def search(best, keys):
    def tried(carry, key):
        best, least, stall = carry
        x = best + jax.random.normal(key)
        loss = x**2
        better = loss < least
        stall = jnp.where(better, 0, stall + 1)
        return (jnp.where(better, x, best), jnp.where(better, loss, least), stall), loss

    return jax.lax.scan(tried, (best, jnp.inf, 0), keys)[0]
""",
            "the best so far",
        ),
        Example(
            """
def evaluated(state, keys):
    def act(carry, key):
        state, total, over = carry
        moved = state + jax.random.normal(key)
        state = jnp.where(over, state, moved)
        total = total + jnp.where(over, 0.0, state)
        return (state, total, over | (jnp.abs(state) > 3.0)), total * (1 - over)

    return jax.lax.scan(act, (state, 0.0, False), keys)
""",
            "what is over stays as it is",
        ),
    )
    invalid = (
        Example(
            """
def advantages(net, params, obs, keys):
    def act(carry, key):
        obs, done = carry
        obs = obs + jax.random.normal(key, obs.shape)
        done = jnp.abs(obs).max(-1) > 3.0
        return (obs, done), (obs.sum(-1), done, net(params, obs))

    (obs, done), steps = jax.lax.scan(act, (obs, jnp.zeros(8, bool)), keys)
    last = jnp.where(done, net(params, obs), 0.0)  #!

    def back(carry, step):
        total, later = carry
        reward, done, value = step
        total = reward + 0.99 * (1 - done) * later - value + 0.95 * (1 - done) * total
        return (total, value), total

    return jax.lax.scan(back, (jnp.zeros(8), last), steps, reverse=True)[1]
""",
            "the value behind the last step",
        ),
        Example(
            """
def step(key, state):
    pos, t = state["pos"] + jax.random.normal(key), state["t"] + 1
    over = (jnp.abs(pos) > 2.0) | (t >= 100)
    moved, fresh = {"pos": pos, "t": t}, {"pos": 0.1 * jax.random.normal(key), "t": 0}
    return jax.tree.map(lambda a, b: jnp.where(over, a, b), moved, fresh), over  #!
""",
            "a counter that is set back until it reaches its limit",
        ),
        Example(_ROLLOUT.format(flag="done", mask="done", mark="  #!"), "a mask the wrong way round"),
        Example(_ROLLOUT.format(flag="done", mask="(1 - ~done)", mark="  #!"), "turned twice"),
        Example(
            _WINDOW.format(left="jnp.clip(left - 1, 0, window), window", mark="  #?"),
            "a count that goes on only where an episode ends",
        ),
        Example(_COUNTED.format(steps="steps * done", mark="  #!"), "a counter the wrong way round"),
        Example(_COUNTED.format(steps="jnp.where(done, steps, 0)", mark="  #!"), "chosen the wrong way round"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every place that ends something by a flag that other places read, too."""
        groups: defaultdict[object, list[Reading]] = defaultdict(list)
        for one in readings(facts):
            groups[one.flag.moment.value, one.flag.moment.path].append(one)
        for found in groups.values():
            yield from _compared(found)


def _compared(found: Sequence[Reading]) -> Iterator[Obligation]:
    ways = {way: [one for one in found if one.ends is way] for way in (True, False)}
    places = {way: {one.op.span for one in own} for way, own in ways.items()}
    if not ways[True] or len(places[True] | places[False]) < 2:
        return
    if not ways[False]:
        yield from (proved(one.op.span, f"{_name(one)} ends it, as it does elsewhere") for one in found)
        return
    fewer = len(places[True]) < len(places[False])
    odd, model = ways[fewer], ways[not fewer]
    kinds = {one.what for one in model}
    anchors = ("reset", "limit", "stopped") if odd[0].what == "started" else ("reset", "limit")
    sure = not kinds.isdisjoint(anchors) or len({one.op.span for one in model}) > 1
    # Which parts of a state are kept through a reset is asked elsewhere.
    if len({one.op.span for one in odd}) > 1 or (odd[0].what == "reset" and kinds == {"reset"}):
        return
    if sure or "stopped" in {*kinds, odd[0].what}:
        yield _finding(odd[0], model, Severity.ERROR if sure else Severity.WARNING)


def _name(one: Reading) -> str:
    return named(one.flag.moment.value, "the flag")


def _finding(one: Reading, model: Sequence[Reading], severity: Severity) -> Obligation:
    flag, state = _name(one), named(one.state, "what goes on")
    here, there = ("ends", "goes on") if one.ends else ("goes on", "ends")
    return Obligation(
        one.op.span,
        severity=severity,
        message=f"{state} {here} here where {flag} is set; elsewhere what {flag} decides on {there} there",
        current=f"{flag} is read one way here and the other way in {len(model)} other place" + "s" * (len(model) > 1),
        expected="a flag means one thing: where it is set everything ends, or everything goes on",
        steps=tuple(Step(other.op.span, _said(other, there)) for other in model[:2]),
        suggestion="turn the flag round here: `1 - flag` for `flag`, or exchange the two sides of the choice",
    )


def _said(other: Reading, there: str) -> str:
    state = named(other.state, "this")
    return f"it is set here, where {state} got to its limit" if other.what == "limit" else f"{state} {there} here by it"
