"""The rule `carry-out-of-step`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.endings import choices_of, sides
from jaxaudit.analyses.lineage.moments import same_step
from jaxaudit.analyses.lineage.origins import Context, Origin, origin, same
from jaxaudit.analyses.queries import depends, walk
from jaxaudit.analyses.versions import Versions
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import LOOPS
from jaxaudit.ir.record import record
from jaxaudit.rules.base import Example, Obligation, Rule, Step, named, proved
from jaxaudit.rules.flow._shared.given_beside import given_beside

_Pair = tuple[Origin, Origin]

_RUN = """
def look(s):
    return jnp.tanh(s)

def step(s, action):
    new = 0.9 * s + action
    return new, look({seen}){mark}

def run(s, w):
    def body(carry, _):
        s, seen = carry
        s, seen = step(s, w @ seen)
        return (s, seen), seen
    return jax.lax.scan(body, (s, look(s)), None, length=9)
"""

_ENV = """
from typing import NamedTuple

class State(NamedTuple):
    x: jax.Array
    t: int

class Env:
    def observe(self, state):
        return jnp.stack([state.x, state.x**2])

    def reset(self, key):
        state = State(x=jax.random.normal(key), t=0)
        return self.observe(state), state

    def step(self, state, action):
        new = State(x=state.x + action, t=state.t + 1)
        return self.observe({seen}), new, new.t > 20{mark}
"""


_CHOSEN = """
def energy(x):
    return jnp.sum(x**4 - x**2)

def walk(x, keys):
    def body(carry, key):
        x, e = carry
        move, luck = jax.random.split(key)
        moved = x + 0.1 * jax.random.normal(move, x.shape)
        later = energy(moved){mark}
        accept = jax.random.uniform(luck) < jnp.exp(e - later)
        return (jnp.where(accept, moved, x), {kept}), x
    return jax.lax.scan(body, (x, energy(x)), keys)
"""


class CarryOutOfStep(Rule):
    """A part of a loop's state is computed from another part, and is one turn behind it after the first.

    ## What it does
    Finds loops that start with a state and what is computed from it, such as an observation, and go on with the new
    state and what the same line computes from the old one, where the new state depends on it; or computes from one of
    two that the new state is chosen from, as where an episode ends or a step is taken back. The same for functions:
    one gives a state and what another makes of it (`reset`), and one the next state and what that makes of the old.

    ## Why is this bad?
    Whoever acts on the observation acts on the past. The first turn is right, so a test of one step passes, and a
    policy merely learns worse than it could.

    ## Example
        def step(state, action):
            new = dynamics(state, action)
            return new, observe(state)

    ## Use instead
        def step(state, action):
            new = dynamics(state, action)
            return new, observe(new)

    ## When it cannot tell
    Where the two computations differ in anything else, there is nothing to judge.
    """

    summary = "A loop or a step goes on with the new state and with what was computed from the old one."
    needs = (Versions,)

    valid = (
        Example(_RUN.format(seen="new", mark=""), "of the new state"),
        Example(_ENV.format(seen="new", mark=""), "as `reset` gives it"),
        Example(
            """
def slope(level):
    return 0.3 - 0.5 * level

def run(level):
    def body(carry, _):
        level, before = carry
        now = slope(level)
        level = level + 0.1 * (1.5 * now - 0.5 * before)
        return (level, now), level
    return jax.lax.scan(body, (level, slope(level)), None, length=9)
""",
            "the newer state is made of it",
        ),
        Example(_CHOSEN.format(kept="jnp.where(accept, later, e)", mark=""), "both are chosen alike"),
        Example(
            """
def force(x):
    return jnp.sin(2 * jnp.pi * x)

def run(x, v):
    def body(carry, _):
        x, f, v = carry
        v = v + 0.01 * f
        x = x + 0.01 * v
        f = force(x)
        return (jnp.where(x > 1.0, x - 1.0, x), f, v), None
    return jax.lax.scan(body, (x, force(x), v), None, length=9)
""",
            "what is chosen is the same place, wrapped round",
        ),
    )
    invalid = (
        Example(_RUN.format(seen="s", mark="  #!"), "seen one step late"),
        Example(_ENV.format(seen="state", mark="  #!"), "`reset` gives what belongs to its state"),
        Example(_CHOSEN.format(kept="later", mark="  #!"), "of a step that may be taken back"),
        Example(
            """
def observe(state):
    return jnp.stack([state.x, state.x**2])

def reset(game, key):
    state = game.start(key)
    return observe(state), state

def step(state, action):
    new = state.replace(x=state.x + action)
    return observe(state), new  #!
""",
            "a state of which nothing is known",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every part of a loop's state that a turn computes as the start was computed."""
        for op in program.named(*sorted(LOOPS)):
            loop = Loop.of(op)
            parts = list(_moving(loop, facts.flow)) if loop is not None else []
            if len(parts) > 1:
                judged = (_judge(one, [other for other in parts if other is not one], facts.flow) for one in parts)
                yield from (one for one in judged if one is not None)
        yield from given_beside(program, facts)


@record
class _Part:
    """A part of a loop's state: inside a turn, where it comes from at the start, and where the next one comes from."""

    param: Value
    start: Origin
    end: Origin
    following: Value
    """What the body of the loop returns for it."""


def _moving(loop: Loop, flow: Flow) -> Iterator[_Part]:
    """Return the parts of a loop's state that a turn does not hand on as they are."""
    for param, start, at in loop.carried:
        for following in loop.body.results[at : at + 1]:
            if following is not param:
                begins = origin(flow, start, {}, each_element=True)
                yield _Part(param, begins, _now(flow, following, {}), following)


def _now(flow: Flow, value: Value, context: Context) -> Origin:
    """Return where a value of a turn comes from in this turn; what a map does to one element stands for all."""
    return origin(flow, value, context, in_turn=True, each_element=True)


def _judge(part: _Part, others: list[_Part], flow: Flow) -> Obligation | None:
    """Compare how one part is computed at the start and in a turn: from the other parts, as they were or are now."""
    states = {one.start.value: one for one in others}

    def goes_on(then: Origin, now: Origin) -> bool:
        return then.value not in states and not same(flow, then, now) and _is_same_line(then, now)

    if not _is_same_line(part.start, part.end):
        return None
    given = _side_by_side(flow, part.start, part.end, goes_on)
    met = [
        (states.get(then.value), now.value) for then, now in given if then.value in states or not same(flow, then, now)
    ]
    if not met or None in [state for state, _ in met]:
        return None
    behind = [one for one, now in met if one is not None and now is one.param and one.end.value is not now]
    if any(depends(flow, one.end.value, (part.end.value,)) for one in behind):
        # What the newer state is made of cannot be computed from it.
        return None
    leads_on = any(one is not None and depends(flow, one.end.value, (part.param,)) for one, _ in met)
    if leads_on and len(behind) == len(met):
        return _finding(part, behind[0], flow)
    replaced = [one for one, now in met if one is not None and _is_left_behind(one, now, flow)] if leads_on else []
    if replaced and all(one in replaced or one in behind for one, _ in met):
        return _replaced(part, replaced[0], flow)
    if all(one is not None and now is one.end.value for one, now in met) and part.end.op is not None:
        name = named(part.param, "a part of the state")
        return proved(part.end.op.span, f"{name} is computed from the new state, as at the start")
    return None


def _is_left_behind(state: _Part, now: Value, flow: Flow) -> bool:
    """Whether the new state is chosen between a value and another one that was not computed from it.

    That is a new episode, or a step that is taken back. What is chosen to be wrapped round is of the value itself.
    """
    for choice in choices_of(flow, state.following):
        both = [[_now(flow, one, state.end.context).value for one in side] for side in sides(choice, flow)]
        at = next((at for at, side in enumerate(both) if now in side), None)
        if at is not None and not any(now in same_step(flow, (one,)) for one in both[1 - at]):
            return True
    return False


def _replaced(part: _Part, state: _Part, flow: Flow) -> Obligation:
    choice, later = next(choices_of(flow, state.following)), part.end.op
    assert later is not None
    name, new = named(part.param, "it"), named(state.param, "the state")
    place = flow.through(later, state.end.op or choice, calls=part.end.context)
    return Obligation(
        place.span,
        message=f"{name} goes into the next turn as computed before {new} is chosen, not from what is chosen",
        current=f"where the other {new} is taken, {name} belongs to one that is gone",
        expected=f"{name} is computed from the {new} that goes into the next turn, as at the start",
        steps=(Step(choice.span, f"the {new} of the next turn is chosen here"),),
        suggestion="compute it from what is chosen, or choose it by the same condition",
        cause=later.results,
    )


def _is_same_line(first: Origin, second: Origin) -> bool:
    """Whether one line computes both, at the start and in a turn."""
    one, other = first.op, second.op
    if one is None or other is None or not one.operands or not one.name.startswith(("array.", "py.item")):
        return False
    alike = one.span == other.span and one.name == other.name and one.qualified == other.qualified
    return alike and len(one.operands) == len(other.operands)


def _finding(part: _Part, state: _Part, flow: Flow) -> Obligation:
    later, newer = part.end.op, state.end.op
    assert later is not None
    op: Op = later if newer is None else flow.through(later, newer, calls=part.end.context)
    name, old = named(part.param, "it"), named(state.param, "the state")
    return Obligation(
        op.span,
        message=f"{name} goes into the next turn as computed from {old} of the turn before, not from the newer one",
        current=f"the loop starts with {name} of its own {old}; from the first turn on it is one step behind",
        expected=f"{name} is computed from the newer {old}, as at the start",
        steps=() if newer is None else (Step(newer.span, f"the newer {old} is made here"),),
        suggestion="compute it from the new state",
        cause=later.results,
    )


def _side_by_side(
    flow: Flow, first: Origin, second: Origin, goes_on: Callable[[Origin, Origin], bool]
) -> Iterator[_Pair]:
    """Walk two computations side by side, and return what each was given where `goes_on` says that they end.

    The second one is not followed out of the turn of a loop.
    """
    origins: dict[tuple[Value, Value], _Pair] = {(first.value, second.value): (first, second)}

    def step(pair: tuple[Value, Value]) -> Iterator[tuple[Value, Value]]:
        one, other = origins[pair]
        if one.op is None or other.op is None or not goes_on(one, other):
            return
        for before, beside in zip(one.op.operands, other.op.operands, strict=False):
            below = origin(flow, before, one.context, each_element=True), _now(flow, beside, other.context)
            found = below[0].value, below[1].value
            origins.setdefault(found, below)
            yield found

    return (origins[pair] for pair in walk(tuple(origins), step) if not goes_on(*origins[pair]))
