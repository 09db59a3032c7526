"""The rule `stale-observation`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.products import Sums
from jaxaudit.analyses.queries import depends
from jaxaudit.analyses.versions import Versions, is_copy
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.ops import DERIVATIVES, LOOPS
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, named, proved, unknown
from jaxaudit.rules.envs._shared.looks import Key, Look, is_model, key_of, looks
from jaxaudit.rules.flow._shared.phrases import called

_CLASS = """
from typing import NamedTuple


class State(NamedTuple):
    pos: jax.Array
    time: jax.Array
"""

_ENV = (
    _CLASS
    + """

def observe(state):
    return jnp.stack([state.pos, jnp.sin(state.pos)])


def reset(key):
    state = State(jax.random.normal(key), 0)
    return observe(state), state


def step(state, action):
    {before}
    moved = State(state.pos + 0.1 * action, state.time + 1)
    return {obs}, moved, -moved.pos**2{mark}
"""
)


_WRAPPER = """
class Wrapper:
    def __init__(self, env):
        self.env = env

    def reset(self, key):
        start = self.env.reset(key)
        return start.obs, start

    def step(self, state, action):
        moved = self.env.step(state, action)
        return {obs}.obs, {state}, moved.reward, moved.done > 0.5{mark}
"""

_METHODS = """
class Env:
    def observe(self, before, state):
        return jnp.stack([before.pos, state.pos - before.pos])

    def reset(self, key):
        state = State(jax.random.normal(key), jnp.zeros(()))
        return self.observe(state, state), state

    def step(self, state: State, action):
        moved = State(state.pos + 0.1 * action, state.time + 1)
        seen = jax.lax.stop_gradient(self.observe(state, {of})){mark}
        return seen, jax.lax.stop_gradient(moved), jnp.sum(seen)
"""

_COPY = """
from somewhere import State, advance, begin


def observe(data):
    return jnp.concatenate([data.q, jnp.clip(data.v, -1.0, 1.0)])


def reset(key):
    data = begin(key)
    return State(data, observe(data), 0.0)


def step(state, action):
    before = state.data
    data = advance(before, action)
    return state.replace(data=data, obs=observe({of}), reward=data.q[0] - before.q[0]){mark}
"""


class StaleObservation(Rule):
    """A step gives back the new state, and observes the one before.

    ## What it does
    Looks at functions that take a state and give back its successor, and beside it what another function makes of the
    state, or one of its attributes. Where that is elsewhere made of the very state that is given back beside it, as in
    a reset, and here of the one that came in, what is given back is one step old. Where it is made of the successor,
    and the state is given back as it came in, the step is lost.

    ## Why is this bad?
    The policy acts on what it saw one step ago, and the first two observations of an episode are the same. Nothing is
    raised, and learning merely gets worse.

    ## Example
        moved = advance(state, action)
        return observe(state), moved

    ## Use instead
        moved = advance(state, action)
        return observe(moved), moved

    ## When it cannot tell
    What held before a step may be asked for, so all findings are warnings.
    """

    summary = "A step gives back an observation of the state before it."
    needs = (Versions,)

    valid = (
        Example(_ENV.format(before="", obs="observe(moved)", mark=""), "of the new state"),
        Example(
            _ENV.format(before="action = action * observe(state).sum()", obs="observe(moved)", mark=""),
            "the old one decides what is done",
        ),
        Example(
            _ENV.format(before="seen = observe(state)", obs="seen", mark="").replace("0.1 * action", "seen.sum()"),
            "what was acted upon is recorded",
        ),
        Example(
            _ENV.format(before="", obs="observe(state)", mark="").replace(
                "return observe(state), state", "return state"
            ),
            "nowhere else is it given back with its state",
        ),
        Example(_WRAPPER.format(obs="moved", state="moved", mark=""), "an attribute of the new state"),
        Example(_CLASS + _METHODS.format(of="moved", mark=""), "of both"),
        Example(_COPY.format(of="data", mark=""), "of what replaces the old one in a copy"),
    )
    invalid = (
        Example(_ENV.format(before="", obs="observe(state)", mark="  #?"), "of the old state"),
        Example(
            _ENV.replace("(state, action)", "(state: State, action)").format(
                before="", obs="observe(state)", mark="  #?"
            )
            + "\n\nrun = jax.jit(step)\n",
            "of a state whose parts cross into compiled code",
        ),
        Example(_WRAPPER.format(obs="state", state="moved", mark="  #?"), "an attribute of the old state"),
        Example(_WRAPPER.format(obs="moved", state="state", mark="  #?"), "the old state beside it"),
        Example(_CLASS + _METHODS.format(of="state", mark="  #?"), "of the old state alone"),
        Example(_COPY.format(of="before", mark="  #?"), "of what is replaced in a copy"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every look at a state whose result is given back beside a state."""
        flow, groups = facts.flow, defaultdict[object, list[Look]](list)
        copies = [op for op in program.calls() if is_copy(op)]
        for end in (*program.named("py.return"), *copies):
            holder = flow.holder(end)
            if holder is None or holder.name not in LOOPS:
                for one in looks(end, flow):
                    groups[one.which].append(one)
        put_in = {one.which for found in groups.values() for one in found if one.renewed}
        records = (*program.calls(), *program.named("py.call_unknown")) if put_in else ()
        begun = [one for op in records for one in looks(op, flow) if one.which in put_in and is_model(one)]
        losses = {region.span for op in program.named(*DERIVATIVES) for region in op.regions}
        for which, found in groups.items():
            made = [one for one in (*found, *begun) if one.which == which and is_model(one)]
            for one in found if made else ():
                yield from _judged(one, made[0], facts, loss=which in losses)


def _judged(one: Look, model: Look, facts: Facts, *, loss: bool) -> Iterator[Obligation]:
    """Compare what is looked at with what is given back in its place: that is newer, or the older one."""
    beside = {place: found for place in one.reads if (found := one.beside(place, model)) is not None}
    name = called(one.op) if one.op.name != "py.attr" else one.op.label
    if is_model(one):
        yield proved(one.op.span, f"what `{name}` is given is given back beside it")
        return
    late, early = list[Key](), list[Key]()
    for place, (key, value) in beside.items():
        read = one.reads[place]
        # What was acted upon may be recorded beside what came of it.
        newer = one.instead_of(read) is not None or _is_newer(value, read, one, model, facts)
        if newer and not depends(facts.flow, value, (one.result,)):
            late.append(read)
        elif not read[1] and _is_newer(read[0], key, one, model, facts):
            early.append(key)
    step = facts.get(Versions).of(one.result)
    if step is not None and {key[0] for key in late}.isdisjoint(key_of(old, facts.flow)[0] for old in step.old):
        # A step of something else may start from what this step started from.
        late.clear()
    if loss and (late or early):
        yield unknown(one.op.span, f"`{name}` is differentiated: it may be meant for what a step starts from")
    elif late:
        yield _finding(one, model, name, late[0])
    elif early:
        yield _left(one, model, name, early[0])


def _is_newer(value: Value, old: Key, one: Look, model: Look, facts: Facts) -> bool:
    """Whether something that was made here is the newer version of a state that came in, or of a part of it."""
    flow = facts.flow
    if old[0] in one.made or key_of(value, flow)[0] not in one.made or not depends(flow, value, (old[0],)):
        return False
    version = facts.get(Versions).of(value)
    known = version is not None and old[0] in version.old
    is_object = any(op.name == "py.attr" for op in flow.readers.get(value, ()))
    kinds = {kind for read in model.reads.values() for kind in _classes(read, model.end, flow)}
    parts = Sums.of(flow, {}).products(value)
    added = len(parts) > 1 and any(key_of(factor, flow) == old for part in parts for factor in part.factors)
    return known or is_object or added or not kinds.isdisjoint(_classes(key_of(value, flow), one.end, flow))


def _classes(key: Key, end: Op, flow: Flow) -> set[str]:
    """Return the classes of the records that a function makes of something, or takes it out of."""
    found = set[str]()
    for op in flow.places.function_of(end).walk():
        if op.name in ("py.record", "py.replace"):
            found |= {
                op.class_name for one in (op.replaced or {}).values() if op.class_name and key_of(one, flow) == key
            }
        elif op.name == "py.taken":
            pairs = zip(op.values or (), op.kinds or (), strict=False)
            found |= {kind for values, (kind, _) in pairs for one in values if kind and key_of(one, flow) == key}
    return found


def _finding(one: Look, model: Look, name: str, state: Key) -> Obligation:
    old = named(state[0], "the state")
    return Obligation(
        one.op.span,
        severity=Severity.WARNING,
        message=f"`{name}` is given {old} as it came in, and its successor is given back beside it",
        current=f"what is given back is that of {old} before the step",
        expected="it is that of the state that is given back with it",
        steps=(Step(model.op.span, f"here `{name}` is given the state that is given back"),),
        suggestion=f"give `{name}` the new state",
    )


def _left(one: Look, model: Look, name: str, state: Key) -> Obligation:
    old = named(state[0], "the state")
    return Obligation(
        one.end.span,
        severity=Severity.WARNING,
        message=f"{old} is given back as it came in, beside `{name}` of what was made of it",
        current=f"whoever goes on from here starts from {old} before the step once more",
        expected=f"what `{name}` is given is given back beside it",
        steps=(
            Step(one.op.span, f"`{name}` is given what was made of {old}"),
            Step(model.op.span, f"here `{name}` is given the state that is given back"),
        ),
        suggestion=f"give back what `{name}` is given",
    )
