"""The rule `unchanged-carry`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.dims import same
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import depends
from jaxaudit.analyses.shapes import ShapeFact, Shapes
from jaxaudit.analyses.uses import Uses
from jaxaudit.analyses.versions import Versions
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import LOOPS
from jaxaudit.rules.base import Example, Obligation, Rule, Step, named, proved
from jaxaudit.rules.flow._shared.beside_in_loops import Beside, unread_beside
from jaxaudit.rules.flow._shared.left_copies import Left, left_copies
from jaxaudit.rules.flow._shared.phrases import called, noted
from jaxaudit.rules.intent.names import is_unwanted
from jaxaudit.rules.successions import lost_successors


class UnchangedCarry(Rule):
    """A loop carries a part of its state on unchanged, and drops what each turn computes in its place.

    ## What it does
    Finds loops that read a part of their state and hand it into the next turn as it was, while a step in the body gives
    something of the same shape that depends on it and that nothing reads. Also finds copies that are left behind: the
    weights of a teacher follow those of a student, and its statistics do not follow the student's.

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
                yield from (_left_behind(one) for one in left_copies(loop, flow))
                yield from (_beside(one, noted[one.unread]) for one in unread_beside(loop, flow) if one.unread in noted)


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


def _beside(found: Beside, note: Op) -> Obligation:
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


def _left_behind(left: Left) -> Obligation:
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
