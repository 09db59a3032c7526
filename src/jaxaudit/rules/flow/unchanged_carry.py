"""The rule `unchanged-carry`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import permutations

from jaxaudit.analyses.dims import same
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin, part_of
from jaxaudit.analyses.queries import depends, taken_apart
from jaxaudit.analyses.shapes import ShapeFact, Shapes
from jaxaudit.analyses.uses import Uses
from jaxaudit.analyses.versions import Versions
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import Loop, Part
from jaxaudit.ir.ops import LOOPS
from jaxaudit.ir.record import record
from jaxaudit.rules.base import Example, Obligation, Rule, Step, named, proved
from jaxaudit.rules.flow._shared.invariants import Outdated, outdated
from jaxaudit.rules.flow._shared.phrases import called, noted
from jaxaudit.rules.handing import handed_on
from jaxaudit.rules.intent.names import is_unwanted
from jaxaudit.rules.successions import lost_successors
from jaxaudit.spans import Span

_CALLS = ("py.call", "py.call_library", "py.call_unknown", "array.map", "tree.map")

_FORCES = """
def energy(position):
    return jnp.sum(position**4)

def simulate(position):
    def step(carry, _):
        position, force, first = carry
        position = position + 0.1 * force
        newer = jax.grad(energy)(position)
        return (position, {handed}), (energy(position) - first, newer.max()){mark}

    return jax.lax.scan(step, (position, jax.grad(energy)(position), energy(position)), None, length=9)

simulate(jnp.ones(3))
"""


class UnchangedCarry(Rule):
    """A loop carries a part of its state on unchanged, and drops what each turn computes in its place.

    ## What it does
    Finds loops that read a part of their state and hand it into the next turn as it was, while a step in the body gives
    something of the same shape that depends on it and that nothing reads. Also finds copies that are left behind: the
    weights of a teacher follow those of a student, and its statistics do not follow the student's. And parts that start
    as a function of another part, where each turn calls that function for the renewed one and keeps the old result.

    ## Why is this bad?
    Every turn starts from the first value: the agent acts on the first observation for ever, the cache stays empty.
    Shapes fit, and nothing is raised.

    ## Example
        def body(carry, _):
            state, seen = carry
            state, obs, reward = env(state, policy(seen))
            return (state, seen), reward

    ## Use instead
        def body(carry, _):
            state, seen = carry
            state, seen, reward = env(state, policy(seen))
            return (state, seen), reward

    ## When it cannot tell
    Where shapes are not known, or two parts of the state would fit, there is nothing to judge.
    """

    summary = "A loop hands a part of its state on unchanged, and nothing reads its successor."
    needs = (Shapes, Uses, Versions)

    valid = (
        Example(
            "def run(w):\n    def body(seen, _):\n"
            "        seen = jnp.tanh(w @ seen)\n        return seen, seen.sum()\n"
            "    return jax.lax.scan(body, jnp.ones(3), None, length=5)\n\nrun(jnp.eye(3))\n",
            "handed on",
        ),
        Example(_FORCES.format(handed="newer, first", mark=""), "one follows, and one is kept for comparison"),
    )
    invalid = (
        Example(
            "def env(state, action):\n    state = 0.9 * state + action\n"
            "    return state, jnp.tanh(state), -state.sum()\n\ndef run(w):\n    def body(carry, _):\n"
            "        state, seen = carry\n        state, obs, reward = env(state, w @ seen)  #!\n"
            "        return (state, seen), reward\n"
            "    return jax.lax.scan(body, (jnp.ones(3), jnp.ones(3)), None, length=5)\n\nrun(jnp.eye(3))\n",
            "the observation of the first step for ever",
        ),
        Example(_FORCES.format(handed="force, first", mark="  #!"), "the forces of the first positions for ever"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every part of a loop's state that moves, and every one that stands still beside its successor."""
        flow, shapes, known = facts.flow, facts.get(Shapes), lost_successors(facts)
        notes = [one for one in program.named("py.unread") if one.kind == "variable" and not is_unwanted(one.label)]
        noted = {value: note for note in notes for value in note.values or () if note not in known}
        for note in notes:
            if note not in known:
                yield from _judge(note, flow, shapes)
        for op in program.named(*sorted(LOOPS)):
            loop = Loop.of(op)
            for param, following in loop.successors if loop is not None else ():
                if param.name and following is not param:
                    yield proved(op.span, f"each turn hands a new `{param.name}` on")
            if loop is not None:
                yield from (_left_behind(one) for one in _left_copies(loop, flow))
                yield from (_outdated(one, handed_on(loop, one.param, flow)) for one in outdated(loop, flow))
                yield from (
                    _beside(one, noted[one.unread]) for one in _unread_beside(loop, flow) if one.unread in noted
                )


def _judge(note: Op, flow: Flow, shapes: Shapes) -> Iterator[Obligation]:
    value, region = noted(note), flow.places.region_of[note]
    holder = flow.places.holder.get(id(region))
    loop = None if holder is None else Loop.of(holder)
    made = None if value is None else flow.giver(value, note)
    if value is None or made is None or loop is None:
        return
    carried = [param for param, following in loop.successors if following is param]
    if made.function == "ppermute":
        # What a neighbour sends is the neighbour's own of the very same.
        sent = [param for param in carried if param in made.operands and param.name]
        yield from (_finding(note, made, param) for param in sent)
        return
    if not any(flow.is_read(one) for one in made.results if one is not value):
        return
    fitting = [param for param in carried if _is_used(param, flow) and _is_alike(shapes.of(param), shapes.of(value))]
    found = [param for param in fitting if depends(flow, value, (param,))]
    if len(found) == 1 and found[0].name:
        yield _finding(note, made, found[0])


def _is_used(param: Value, flow: Flow) -> bool:
    return any(op.name != "py.return" for op in flow.readers.get(param, ()))


def _is_alike(first: ShapeFact, second: ShapeFact) -> bool:
    """Whether two arrays surely have the same shape and dtype."""
    if not first.dims or not second.dims or len(first.dims) != len(second.dims):
        return False
    return first.dtype == second.dtype is not None and all(map(same, first.dims, second.dims))


def _beside(found: _Beside, note: Op) -> Obligation:
    name, moving = named(found.param, "it"), named(found.moving, "the part beside it")
    return Obligation(
        note.span,
        message=f"`{note.label}` is never read, and {name} goes into the next turn unchanged",
        current=f"the loop starts with {name} and {moving} of one call, and each turn renews {moving} alone",
        expected=f"`{note.label}` goes into the next turn in the place of {name}",
        steps=(Step(found.param.span, f"{name} comes from one call with {moving}"),),
        suggestion=f"hand `{note.label}` on, or name it `_` if it is not wanted",
        cause=(found.param,),
    )


def _left_behind(left: _Left) -> Obligation:
    partner, name = named(left.partner, "the one beside it"), named(left.copy, "this")
    return Obligation(
        left.span,
        message=f"{name} stays as it started, though {partner}, read beside it, moves in every turn",
        current=f"a copy of {named(left.model, 'another one')} that is never renewed is read together with {partner}",
        expected="what is read together is renewed together, as in the two that they are copies of",
        steps=(Step(left.read.span, "both are read together here"),),
        suggestion="hand a newer one on",
        cause=(left.copy,),
    )


def _outdated(found: Outdated, span: Span) -> Obligation:
    moving = named(found.moving, "another part")
    function = "a function" if called(found.newer) == "lambda" else f"`{called(found.newer)}`"
    return Obligation(
        span,
        message=f"this part of the state stays what {function} gave for the first {moving}, which moves in every turn",
        current=f"each turn calls {function} for its new {moving}, and hands on what it began with",
        expected=f"what {function} gives for the new {moving} goes into the next turn",
        steps=(
            Step(found.start.span, f"the loop starts with what {function} gives for {moving}"),
            Step(found.newer.span, f"{function} is called for the new {moving} here"),
        ),
        suggestion="hand the newer one on",
        cause=(found.param,),
    )


def _finding(note: Op, made: Op, param: Value) -> Obligation:
    name = note.label
    return Obligation(
        note.span,
        message=f"`{name}` is never read, and the loop's own `{param.name}` goes into the next turn unchanged",
        current=f"`{called(made)}` gives `{name}` in each turn, and every turn starts from the first `{param.name}`",
        expected=f"`{name}` goes into the next turn in its place",
        steps=(Step(made.span, f"`{name}` depends on the loop's `{param.name}` and has its shape"),),
        suggestion=f"hand `{name}` on, or name it `_` if it is not wanted",
        cause=(param,),
    )


@record
class _Slot:
    """A part of the state of a loop."""

    param: Value
    start: tuple[object, ...]
    """What it starts as, written so that two which start alike have it in common."""
    still: bool
    """Whether each turn hands it on as it was."""


@record
class _Left:
    """A copy that stays what it was, the one it is a copy of, and the two that go with them."""

    copy: Value
    model: Value
    partner: Value
    read: Op
    """Where the copy is read together with its partner."""
    span: Span
    """Where it is handed on."""


def _left_copies(loop: Loop, flow: Flow) -> Iterator[_Left]:
    """Return the parts of a loop's state that stand still though all that belongs to them moves."""
    slots = [
        _Slot(one.param, part_of(flow, one.start, {}), _same(flow, following) is one.param)
        for one, (_, following) in zip(loop.carried, loop.successors, strict=False)
    ]
    alike = defaultdict[tuple[object, ...], list[_Slot]](list)
    for slot in slots:
        alike[slot.start].append(slot)
    pairs = [(a, b) for group in alike.values() for a, b in permutations(group, 2) if not b.still]
    waiting, moving = [one for one in pairs if one[0].still], [one for one in pairs if not one[0].still]
    calls = list(_calls(loop, flow)) if waiting and moving else []
    for copy, model in waiting:
        for partner, other in moving:
            read = _read_together((copy, partner), (model, other), calls) if partner.start != copy.start else None
            if read is not None:
                yield _Left(copy.param, model.param, partner.param, read, handed_on(loop, copy.param, flow))
                break


def _same(flow: Flow, value: Value) -> Value:
    return origin(flow, value, {}, in_turn=True).value


def _calls(loop: Loop, flow: Flow) -> Iterator[tuple[Op, Sequence[Value]]]:
    """Return the calls in the turns of a loop, with what each is given as the loop knows it."""
    for op in loop.body.walk():
        if op.name in _CALLS and len(op.operands) > 1:
            yield op, [_same(flow, one) for one in op.operands]


def _read_together(
    copies: tuple[_Slot, _Slot], models: tuple[_Slot, _Slot], calls: Sequence[tuple[Op, Sequence[Value]]]
) -> Op | None:
    """Return the call that is given two copies in the places in which a call of the same function gets the models."""
    own = [(op, at) for op, given in calls if (at := _places(copies, given))]
    others = {(op.name, op.qualified, at) for op, given in calls if (at := _places(models, given))}
    return next((op for op, at in own if (op.name, op.qualified, at) in others), None)


def _places(slots: tuple[_Slot, _Slot], given: Sequence[Value]) -> tuple[int, ...]:
    found = [given.index(one.param) for one in slots if one.param in given]
    return tuple(found) if len(found) == len(slots) else ()


@record
class _Beside:
    """A part of a loop's state that stands still, the result that would renew it, and the part beside it that moves."""

    param: Value
    unread: Value
    moving: Value
    call: Op


def _unread_beside(loop: Loop, flow: Flow) -> Iterator[_Beside]:
    """Return what a loop should hand on in the place of a part of its state, by what it does with the one beside it."""
    slots = [(one.param, one.start, after) for one, (_, after) in zip(loop.carried, loop.successors, strict=False)]
    for moving, first, after in slots:
        start, call = _part(flow, first), _part(flow, after) if after is not moving else None
        made = None if call is None else flow.maker(call.whole)
        if start is None or call is None or made is None or call.at != start.at or moving not in made.operands:
            continue
        for at, beside in taken_apart(flow, start.whole).items():
            newer = taken_apart(flow, call.whole).get(at)
            if at == start.at or newer is None or flow.is_read(newer):
                continue
            # A loop of Python reads what does not change from outside.
            still = [one for one, begin, following in slots if begin is beside and following is one] or [beside]
            yield from (_Beside(one, newer, moving, made) for one in still if _is_read_on(one, loop, flow))


def _part(flow: Flow, value: Value) -> Part | None:
    found = origin(flow, value, {}, in_turn=True)
    return Part.of(found.op, found.value)


def _is_read_on(value: Value, loop: Loop, flow: Flow) -> bool:
    """Whether something in the turns of a loop reads a value."""
    homes = (flow.places.region_of[op] for op in flow.readers.get(value, ()) if op.name != "py.return")
    return any(flow.places.within(home, loop.body) for home in homes)
