"""The rule `rerun-on-other-step`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.moments import Moment, moment
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import LOOPS
from jaxaudit.ir.record import record
from jaxaudit.rules.base import Example, Obligation, Rule, Step, named, proved, unknown
from jaxaudit.spans import Span

_CALLS = ("py.call_library", "py.call_unknown", "py.call")

_PROGRAM = """
def update(network, env, params, obs, done, keys):
    def act(carry, key):
        obs, done = carry
        action = network.apply(params, obs, done)
        later, reward, ended = env.step(key, obs, action)
        return (later, ended), (obs, {flag}, action, reward){mark}

    _, (seen, flags, actions, rewards) = jax.lax.scan(act, (obs, done), keys)

    def loss(params):
        return jnp.mean((network.apply(params, seen, flags) - actions) ** 2)

    return jax.grad(loss)(params)
"""


class RerunOnOtherStep(Rule):
    """A network is run again on what was recorded, and one of its inputs is that of another step than at first.

    ## What it does
    Compares the calls of one function: in the loop that makes the steps, and on what this loop recorded. All inputs of
    the second call that the first one had too must belong to one step, counted from the first call: the observation
    and the flag that the policy was given, the state of its memory, the last action. What a turn records of what it
    was given and of what it made is one step apart.

    ## Why is this bad?
    The loss evaluates the policy on other inputs than those that it acted on. A recurrent one is reset one step off,
    the ratio of probabilities is not one at the first update. Shapes fit, and nothing is raised.

    ## Example
        hidden, pi = network.apply(params, hidden, (last_obs, last_done))
        obs, state, reward, done, info = env.step(key, state, action, env_params)
        transition = Transition(done, action, reward, last_obs)  # and run again on (obs, done)

    ## Use instead
        transition = Transition(last_done, action, reward, last_obs)

    ## When it cannot tell
    Where an input is not seen to be one that was recorded, or only one of them is, there is nothing to compare.
    """

    summary = "A network is run again on recorded inputs that belong to different steps."

    valid = (
        Example(_PROGRAM.format(flag="done", mark=""), "what it was run on at first"),
        Example(
            _PROGRAM.format(flag="ended", mark="").replace("(obs, ended, action", "(later, ended, action"),
            "both of the step after",
        ),
    )
    invalid = (Example(_PROGRAM.format(flag="ended", mark="  #!"), "the flag of the step after"),)

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every call that is made again on what the loop around an earlier one recorded."""
        flow, calls = facts.flow, defaultdict[tuple[object, ...], list[Op]](list)
        for op in program.named(*_CALLS):
            calls[op.name, op.qualified, op.callee, op.object_id].append(op)
        told = set[object]()
        bodies = {id(Loop(op).body) for op in program.named(*LOOPS)}
        for group in calls.values():
            homes = {flow.places.region_of[op] for op in group} if len(group) > 1 else ()
            in_turns = any(not bodies.isdisjoint(flow.places.around(home)) for home in homes)
            inputs = {op: _inputs(op, flow) for op in group} if in_turns else {}
            for again, given in inputs.items():
                loops = {one.loop for one in given if one is not None and one.loop is not None}
                for loop in loops if len(loops) == 1 else ():
                    first = next((op for op in group if _is_inside(op, loop, flow)), None)
                    if first is not None and again.span not in told:
                        told.add(again.span)
                        yield from _compared(_Rerun(Loop(loop), first, again), inputs[first], given, flow)


@record
class _Rerun:
    """A function is called in a loop, and again on what the loop recorded."""

    loop: Loop
    first: Op
    again: Op


def _inputs(op: Op, flow: Flow) -> list[Moment | None]:
    found = [one for part in op.arguments.values() for one in _leaves(part)] or list(op.operands)
    return [None if one is None else moment(flow, one) for one in found]


def _leaves(argument: Argument) -> Iterator[Value | None]:
    """Return the values of an argument in order, None for what is none."""
    if isinstance(argument, tuple):
        for part in argument:
            yield from _leaves(part)
    else:
        yield argument if isinstance(argument, Value) else None


def _is_inside(op: Op, loop: Op, flow: Flow) -> bool:
    return op is not loop and flow.places.within(flow.places.region_of[op], Loop(loop).body)


def _compared(
    rerun: _Rerun, first: list[Moment | None], again: list[Moment | None], flow: Flow
) -> Iterator[Obligation]:
    open_ = unknown(rerun.again.span, "which steps the recorded inputs of this call belong to is not known")
    if len(first) != len(again):
        yield open_
        return
    pairs = [(a, b) for a, b in zip(first, again, strict=True) if a is not None and b is not None]
    common = [(a, b) for a, b in pairs if b.loop is rerun.loop.op and (a.value, a.path) == (b.value, b.path)]
    steps = {b.shift - a.shift for a, b in common}
    if len(common) < 2 or len({b.counted for _, b in common}) > 1:
        yield open_
    elif len(steps) == 1:
        yield proved(rerun.again.span, "it is run again on what it was run on at first, step by step")
    elif 0 in steps:
        # Those that are as they were at first tell the step; the others are off.
        yield next(_finding(rerun, b, b.shift - a.shift) for a, b in common if b.shift != a.shift)
    else:
        yield open_


def _finding(rerun: _Rerun, odd: Moment, later: int) -> Obligation:
    name, loop = named(odd.value, "a value"), rerun.loop.op
    late = "after" if later > 0 else "before"
    return Obligation(
        _recorded(rerun.loop),
        message=f"{name} is recorded of the step {late}, beside inputs of the step that it is run again with",
        current=f"the second call gets {name} one step off from what the first call was given",
        expected="the function is run again on what it was run on at first",
        steps=(
            Step(rerun.first.span, "here it is run at first"),
            Step(rerun.again.span, "here it is run again, on what was recorded"),
            Step(loop.span, "the steps are recorded here"),
        ),
        suggestion="record what the first call was given, or shift it by one step before the second",
        cause=(odd.value, *rerun.again.results),
    )


def _recorded(loop: Loop) -> Span:
    """Return where a turn puts together what it records: a record, else what it returns."""
    ends = {*loop.body.results}
    for op in loop.body.ops:
        if op.name == "py.record" and any(one in ends for one in (op.replaced or {}).values()):
            return op.span
    return next((op.span for op in loop.body.ops if op.name == "py.return"), loop.op.span)
