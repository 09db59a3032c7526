"""The rule `stale-observation`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.endings import is_added_to, renewals
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.lineage.products import Sums
from jaxaudit.analyses.queries import ahead, depends, through_ops, walk
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.ops import DERIVATIVES, LOOPS, PASSED_ON, REMARKS
from jaxaudit.ir.record import record
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, named, proved, unknown
from jaxaudit.rules.flow._shared.phrases import called

_ENV = """
from typing import NamedTuple

class State(NamedTuple):
    pos: jax.Array
    time: jax.Array


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


class StaleObservation(Rule):
    """A step gives back the new state, and observes the one before.

    ## What it does
    Looks at functions that take a state and give back its successor, and beside it what another function makes of the
    state. Where that function is elsewhere given the very state that is given back beside it, as in a reset, and here
    the one that came in, what is given back is one step old.

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
    needs = ()

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
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every function of a state whose result is given back beside a state."""
        groups: defaultdict[object, list[_Seen]] = defaultdict(list)
        for end in program.named("py.return"):
            for one in _observed(end, facts):
                groups[_which(one.call)].append(one)
        losses = {region.span for op in program.named(*DERIVATIVES) for region in op.regions}
        for which, found in groups.items():
            model = next((one for one in found if one.old is None), None)
            yield from (_judged(one, model, loss=which in losses) for one in found if model is not None)


@record
class _Seen:
    """A call whose result is given back beside a state."""

    call: Op
    old: Value | None
    """The state that came in, where it is given that; None where it is given what is given back."""


def _which(call: Op) -> object:
    return call.regions[0].span if call.regions else call.callee


def _observed(end: Op, facts: Facts) -> Iterator[_Seen]:
    flow = facts.flow
    holder, region = flow.holder(end), flow.places.function_of(end)
    if holder is not None and holder.name in LOOPS:
        return
    given_back = set(end.operands)
    for call in (op for op in region.ops if op.name in ("py.call", "py.call_unknown")):
        if not call.results or not all(_only_leaves(value, given_back, flow) for value in call.results):
            continue
        if any(value in given_back and flow.maker(value) is not None for value in call.operands):
            yield _Seen(call, None)
        elif (old := _came_in(call, end, facts)) is not None:
            yield _Seen(call, old)


def _only_leaves(value: Value, given_back: set[Value], flow: Flow) -> bool:
    """Whether nothing is done with a value but to give it back."""
    names = list(walk((value,), lambda one: ahead(flow, one, through_ops(*PASSED_ON))))
    own = (op for one in names for op in flow.readers.get(one, ()))
    plain = REMARKS | PASSED_ON | {"py.return", "py.container"}
    return any(one in given_back for one in names) and all(op.name in plain for op in own)


def _came_in(call: Op, end: Op, facts: Facts) -> Value | None:
    """Return the state that a call is given as it came in, where the function gives a newer one back."""
    flow, params = facts.flow, facts.flow.places.function_of(end).params
    renewed = (flow.maker(old) for new in end.operands for old in _renewed(facts).get(new, ()))
    states = {made.operands[0] for made in renewed if made is not None and made.operands}
    came_in = [value for value in call.operands if value in params and value not in end.operands]
    # The parts of a state that was taken apart at a border are parameters by themselves.
    parts = {one: origin(flow, one, {}).value for one in came_in}
    sums = Sums.of(flow, {})
    states |= {one for one in came_in if any(is_added_to(parts[one], other, sums) for other in end.operands)}
    old, others = [one for one in came_in if one in states], [one for one in call.operands if one not in came_in]
    return old[0] if old and not any(depends(flow, value, old) for value in others) else None


@remembered
def _renewed(facts: Facts) -> dict[Value, list[Value]]:
    """Return the parts of states by what is made of them."""
    found: defaultdict[Value, list[Value]] = defaultdict(list)
    for one in renewals(facts):
        found[one.new].append(one.old)
    return found


def _judged(one: _Seen, model: _Seen, *, loss: bool) -> Obligation:
    name = called(one.call)
    if one.old is None:
        return proved(one.call.span, f"what `{name}` is given is given back beside it")
    if loss:
        return unknown(one.call.span, f"`{name}` is differentiated: it may be meant for what a step starts from")
    old = named(one.old, "the state")
    return Obligation(
        one.call.span,
        severity=Severity.WARNING,
        message=f"`{name}` is given {old} as it came in, and its successor is given back beside it",
        current=f"what is given back is that of {old} before the step",
        expected="it is that of the state that is given back with it",
        steps=(Step(model.call.span, f"here `{name}` is given the state that is given back"),),
        suggestion=f"give `{name}` the new state",
    )
