"""The rule `memory-cleared-at-other-step`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.endings import is_fresh, readings
from jaxaudit.analyses.lineage.moments import Moment, moment, same_step
from jaxaudit.analyses.lineage.products import Product
from jaxaudit.analyses.lineage.returns import flags
from jaxaudit.analyses.queries import behind, depends, made_of, through_ops, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import KEEPING, LOOPS, MOVING
from jaxaudit.ir.record import record
from jaxaudit.rules.base import Example, Obligation, Rule, Step, named, proved

_PROGRAM = """
def update(cell, env, params, h, obs, keys):
    def act(carry, key):
        h, obs, done = carry
        h = jnp.where(done, 0.0, h)
        h, action = cell(params, h, obs)
        later, reward, ended = env(obs, action, key)
        return (h, later, ended), (obs, action, reward, {flag}{more})

    start = h
    (h, obs, _), (seen, actions, rewards, flags{more}) = jax.lax.scan(act, (h, obs, False), keys)

    def again(h, step):
        obs, flag = step
        h = jnp.where(flag, 0.0, h){mark}
        return cell(params, h, obs)

    return jax.lax.scan(again, start, ({of}, flags))[1]
"""

_NUMBERS = """
def cell(w, h, x):
    return jnp.tanh(h @ w + x)

def update(w, h, x, keys):
    def act(carry, key):
        h, x, first = carry
        h = jnp.where(first[:, None] > 0, 0.0, h)
        h = cell(w, h, x)
        later = x + 0.1 * h + jax.random.normal(key, (8, 4))
        done = jnp.abs(later).max(-1) > 3.0
        later = jnp.where(done[:, None], 0.0, later)
        return (h, later, done.astype(jnp.float32)), {{"obs": x, "first": first}}

    def again(h, step):
{again}
        return h, h

    _, seen = jax.lax.scan(act, (h, x, jnp.ones(8)), keys)
    return jax.lax.scan(again, h, {given})[1]

update(jnp.ones((4, 4)), jnp.ones((8, 4)), jnp.ones((8, 4)), jax.random.split(jax.random.key(0), 9))
"""
_CLEARED = """
        obs, first = step
        h = jnp.where(first[:, None] > 0, 0.0, h)
        h = cell(w, h, obs)
"""


class MemoryClearedAtOtherStep(Rule):
    """The memory of a policy is cleared at other steps when steps are gone through again than when they were made.

    ## What it does
    Compares two loops: one that makes steps and clears what it carries by a flag, and one that goes through what was
    recorded and clears its own carry by a recorded flag. In both the flag must belong to the same step, counted from
    the observation that goes into the memory beside it: the one that ended before this observation was made. Where the
    second loop fills a memory by the same code and clears it by no flag, it is told too.

    ## Why is this bad?
    With the flag of the step after, the memory is cleared one step early: the last step of each episode is evaluated
    with an empty memory, and the first one of the next with that of the episode before. Nothing is raised.

    ## Example
        return (h, later, ended), (obs, action, ended)   # and cleared by `ended` before the cell

    ## Use instead
        return (h, later, ended), (obs, action, done)    # the flag that the memory was cleared by

    ## When it cannot tell
    Where the recorded observations are not seen to be those that the first loop was given, there is nothing to judge.
    """

    summary = "A recurrent state is cleared one step off, or never, when recorded steps are gone through again."
    needs = (Shapes,)

    valid = (
        Example(_PROGRAM.format(flag="done", more="", of="seen", mark=""), "the flag that cleared it before"),
        Example(
            _PROGRAM.format(flag="ended", more=", afters", of="afters", mark="").replace(
                "ended, afters", "ended, later"
            ),
            "the next observations, with the flags that belong to them",
        ),
        Example(
            _PROGRAM.format(flag="ended", more="", of="seen", mark="").replace(
                "h = jnp.where(flag, 0.0, h)\n        return cell(params, h, obs)",
                "h, action = cell(params, h, obs)\n        return jnp.where(flag, 0.0, h), action",
            ),
            "cleared after the cell",
        ),
        Example(_NUMBERS.format(again=_CLEARED, given='(seen["obs"], seen["first"])'), "flags that are numbers"),
    )
    invalid = (
        Example(_PROGRAM.format(flag="ended", more="", of="seen", mark="  #!"), "the flag of the step itself"),
        Example(
            """
            def cell(w, h, x):
                return jnp.tanh(h @ w + x)

            def update(w, h, x, keys):
                def act(carry, key):
                    h, x = carry
                    h = cell(w, h, x)
                    later = x + 0.1 * h + jax.random.normal(key, (8, 4))
                    done = jnp.abs(later).max(-1, keepdims=True) > 3.0
                    return (jnp.where(done, 0.0, h), jnp.where(done, 0.0, later)), x

                def again(h, x):
                    h = cell(w, h, x)  #!
                    return h, h

                _, seen = jax.lax.scan(act, (h, x), keys)
                return jax.lax.scan(again, h, seen)[1]

            update(jnp.ones((4, 4)), jnp.ones((8, 4)), jnp.ones((8, 4)), jax.random.split(jax.random.key(0), 9))
            """,
            "never cleared again",
        ),
        Example(
            _NUMBERS.format(again="        h = cell(w, h, step)  #!", given='seen["obs"]'), "flags that are numbers"
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every memory that is cleared by recorded flags."""
        found = [one for op in program.named(*sorted(LOOPS)) for one in _memories(Loop(op), facts.flow)]
        made = {(one.flag.value, one.flag.path): one for one in found if one.flag.loop is None}
        for again in found:
            first = made.get((again.flag.value, again.flag.path)) if again.flag.loop is not None else None
            if first is not None:
                yield from _compared(first, again, facts.flow)
        yield from _never_cleared(program, facts, found)


def _never_cleared(program: Program, facts: Facts, found: Sequence[_Memory]) -> Iterator[Obligation]:
    """Find memories that are filled again from recorded steps by the same code, and cleared by no flag."""
    flow, cleared = facts.flow, (*found, *_after_use(facts))
    for op in program.named(*sorted(LOOPS)) if cleared else ():
        loop = Loop(op)
        makers = {one.loop for param, _ in loop.elements if (one := moment(flow, param)).loop is not None}
        firsts = [one for one in cleared if one.loop.op in makers and one.loop.op is not op]
        for first in firsts:
            before = {made.span for made in _filled(first, flow)}
            for param, after in loop.successors:
                again = next((made for made in _names(after, flow) if made.span in before), None)
                if again is None or param is after or any(one.carry is param for one in cleared):
                    continue
                met = set(same_step(flow, (after,)))
                knows = any(_may_be_flag(facts, one, first) for one, _ in loop.elements if one in met)
                if not knows and depends(flow, after, (param,)):
                    yield _left_alone(first, param, _in_turn(again, loop, flow))


def _may_be_flag(facts: Facts, element: Value, first: _Memory) -> bool:
    """Whether what a turn is given of the recorded steps may tell where to clear a memory: it is no observation."""
    dtype, flow = facts.get(Shapes).of(element).dtype, facts.flow
    if dtype is not None:
        return dtype == "bool"
    recorded = moment(flow, element).value
    observed = recorded in same_step(flow, (first.after,))
    return not observed or depends(flow, first.flag.value, (recorded,))


def _filled(first: _Memory, flow: Flow) -> Iterator[Op]:
    """Return what makes the next memory, before it is cleared."""
    for made in _names(first.after, flow):
        yield made
        for value in made.operands if made is first.cleared else ():
            yield from _names(value, flow)


def _in_turn(made: Op, loop: Loop, flow: Flow) -> Op:
    """Return the op of a loop's body that an op is, or is run by."""
    for region, holder in flow.places.up(flow.places.region_of[made]):
        if region is loop.body or holder is None:
            break
        made = holder
    return made


def _after_use(facts: Facts) -> Iterator[_Memory]:
    """Return what loops carry and clear by a flag at the end of a turn."""
    for one in readings(facts):
        entry = facts.flow.entered(one.state)
        loop = None if entry is None else Loop.of(entry.op)
        if loop is not None and one.what in ("cleared", "reset") and one.ends:
            yield _Memory(loop, one.state, one.op, one.flag.moment)


def _names(value: Value, flow: Flow) -> Iterator[Op]:
    """Return the ops that made a value, inside of the calls and maps that give it."""
    makers = map(flow.maker, walk((value,), lambda one: behind(flow, one, through_ops(*KEEPING))))
    return (made for made in makers if made is not None and not made.regions and made.results)


def _left_alone(first: _Memory, carry: Value, place: Op) -> Obligation:
    memory, flag = named(carry, "the memory"), named(first.flag.value, "the flag")
    return Obligation(
        place.span,
        message=f"{memory} is never cleared here, though {flag} cleared it when these steps were made",
        current="behind the end of an episode the same observations meet a memory of the episode before",
        expected=f"it is cleared where {flag} of the recorded steps says so",
        steps=(
            Step(first.cleared.span, f"here it was cleared by {flag}"),
            Step(first.loop.op.span, "the steps are recorded here"),
        ),
        suggestion=f"record {flag} too, go through it with the other steps, and clear the memory by it",
    )


@record
class _Memory:
    """What a loop carries and clears by a flag before it is used."""

    loop: Loop
    carry: Value
    cleared: Op
    flag: Moment

    @property
    def after(self) -> Value:
        """What the next turn is given."""
        return next((end for one, end in self.loop.successors if one is self.carry), self.carry)


def _memories(loop: Loop, flow: Flow) -> Iterator[_Memory]:
    carried = {param for param, after in loop.successors if param is not after}
    for op in loop.body.walk() if carried else ():
        condition = op.value("condition", "pred") if op.name == "array.select" else None
        arms = [op.value("x", "on_true"), op.value("y", "on_false")] if condition is not None else []
        kept = [None if arm is None else made_of(flow, arm, through_ops(*MOVING)) for arm in arms]
        for at, param in enumerate(kept):
            other = arms[1 - at]
            if condition is None or param not in carried or (other is not None and not is_fresh(other, flow)):
                continue
            part = Product(1.0, (), (condition,), (condition,) if at == 1 else ())
            for flag in flags(flow, part, {}):
                if flag.ends and param is not None:
                    yield _Memory(loop, param, op, flag.moment)


def _compared(first: _Memory, again: _Memory, flow: Flow) -> Iterator[Obligation]:
    maker = None if again.flag.loop is None else Loop.of(again.flag.loop)
    if maker is None or not flow.places.within(flow.places.region_of[first.cleared], maker.body):
        return
    seen = _observed(first, again, maker, flow)
    # In the loop that makes the steps what is observed was made one step before.
    apart = {again.flag.shift - one.shift for one in seen}
    if apart == {first.flag.shift + 1}:
        yield proved(again.cleared.span, f"{named(again.carry, 'the memory')} is cleared where it was at first")
    elif len(apart) == 1 and apart != {first.flag.shift + 1}:
        yield _finding(first, again, maker, _place(first.cleared, again.cleared, flow))


def _observed(first: _Memory, again: _Memory, maker: Loop, flow: Flow) -> list[Moment]:
    """Return the recorded observations that go into the memory, as the loop that made them was given them."""
    made = first.after
    met = set(same_step(flow, (made,)))
    own = {after for param, after in maker.successors if param is not after and param in met}
    given = [moment(flow, param) for param, _ in again.loop.elements]
    beside = [one for one in given if one.loop is maker.op and not one.path and one.value in own]
    return [one for one in beside if one.value not in (again.flag.value, made)]


def _place(first: Op, again: Op, flow: Flow) -> Op:
    """Return where the memory is cleared; where both loops share the code, the call that leads there again."""
    before = {op.span for _, op in flow.places.up(flow.places.region_of[first]) if op is not None} | {first.span}
    around = [again, *(op for _, op in flow.places.up(flow.places.region_of[again]) if op is not None)]
    return next((op for op in around if op.span not in before), again)


def _finding(first: _Memory, again: _Memory, maker: Loop, place: Op) -> Obligation:
    memory, flag = named(again.carry, "the memory"), named(again.flag.value, "the flag")
    late = "after" if again.flag.shift > first.flag.shift else "before"
    return Obligation(
        place.span,
        message=f"{memory} is cleared here by {flag} of the step {late} the one that cleared it when steps were made",
        current="the same observations meet a memory that is cleared one step off",
        expected="it is cleared where the loop that made the steps cleared it",
        steps=(
            Step(first.cleared.span, f"here it was cleared, by {flag} of the step before the observation"),
            Step(maker.op.span, "the steps are recorded here"),
        ),
        suggestion="record the flag that the turn was given, or shift the flags by one step",
    )
