"""The rule `carry-never-read`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import entered
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import CARRYING
from jaxaudit.rules.base import Example, Obligation, Rule, Step, named, proved, unknown
from jaxaudit.rules.flow._shared.phrases import noted
from jaxaudit.rules.intent.names import is_unwanted

_PROGRAM = """
def targets(rewards, values, last):
    def step(carry, at):
        total, following = carry{mark}
        reward, value = at
        total = reward + 0.9 * ({old} + following)
        return (total, value), total
    {kept}, out = jax.lax.scan(step, (last, last), (rewards, values), reverse=True)
    return {given}
"""


class CarryNeverRead(Rule):
    """A loop carries a value from turn to turn, and neither the next turn nor anybody behind the loop reads it.

    ## What it does
    Looks at the parts of the carry of `scan`, `fori_loop` and `while_loop` that the body gives a name. One that each
    turn computes anew, that no turn reads and whose last value nothing reads either is carried for nothing.

    ## Why is this bad?
    A value is carried because the next turn needs it. The recursion is broken: a return that is not made of the return
    of the next step, an average without its past. Shapes fit, and nothing is raised.

    ## Example
        def step(carry, reward):
            total, value = carry
            total = reward + 0.9 * value
            return (total, value), total

    ## Use instead
        def step(carry, reward):
            total, value = carry
            total = reward + 0.9 * total
            return (total, value), total

    ## When it cannot tell
    A part that the body does not name, or names `_`, is not judged.
    """

    summary = "A loop carries a value that neither the next turn nor anybody behind the loop reads."

    valid = (
        Example(_PROGRAM.format(mark="", old="total", kept="_", given="out"), "each turn reads the last one"),
        Example(_PROGRAM.format(mark="", old="0.0", kept="(total, _)", given="total, out"), "its last value is read"),
        Example(
            "def last(loss, params, parts):\n    def step(grads, part):\n"
            "        return jax.tree.map(lambda _, new: new, grads, jax.grad(loss)(params, part)), None\n"
            "    return jax.lax.scan(step, params, parts)[0]\n",
            "the gradients of the last part are asked for",
        ),
        Example(
            "def power(m, v):\n    def step(i, carry):\n        v, size, moved = carry\n"
            "        moved = m @ (v / jnp.linalg.norm(v))\n        return moved, jnp.linalg.norm(v) + size, moved\n"
            "    return jax.lax.fori_loop(0, 5, step, (v, 0.0, v))[1]\n",
            "carried twice, and read once",
        ),
    )
    invalid = (
        Example(_PROGRAM.format(mark="  #!", old="0.0", kept="_", given="out"), "the recursion is lost"),
        Example(
            "def mean(xs):\n    def step(i, carry):\n        average, count = carry  #!\n"
            "        average = xs[i] / (count + 1.0)\n        return average, count + 1.0\n"
            "    return jax.lax.fori_loop(0, 5, step, (0.0, 0.0))[1]\n",
            "an average without its past",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List the parts of every carry that the body gives anew, and those that nothing reads."""
        flow = facts.flow
        unread = {noted(note): note for note in program.named("py.unread") if not is_unwanted(note.label)}
        for op in program.named(*sorted(CARRYING)):
            loop = Loop.of(op)
            successors = loop.successors if loop is not None else ()
            for param, following in successors:
                if following is param or flow.maker(following) is None:
                    continue
                twice = [one for one, other in successors if other is following and one is not param]
                if any(map(flow.is_read, twice)):
                    yield proved(op.span, f"{named(param, 'it')} is also carried as {named(twice[0], 'what is read')}")
                elif param in unread and not _is_read(param, op, flow):
                    yield _finding(unread[param], op, following, flow)
                elif flow.is_read(param) and not _gives_structure_alone(param, flow):
                    yield proved(op.span, f"the next turn reads {named(param, 'what is carried')}")
                elif not _is_read(param, op, flow):
                    yield unknown(op.span, f"what {named(param, 'a value')} is carried for is not known")
                else:
                    yield proved(op.span, f"the last {named(param, 'value')} is read")


def _gives_structure_alone(param: Value, flow: Flow) -> bool:
    """Whether a tree is only mapped over by functions that read nothing of its leaves."""
    readers = flow.readers.get(param, ())
    idle = (op.name == "tree.map" and not any(map(flow.is_read, entered(op, param))) for op in readers)
    return bool(readers) and param not in flow.leaving and all(idle)


def _is_read(param: Value, op: Op, flow: Flow) -> bool:
    """Whether anything reads what a loop carries: a turn, its condition, or who gets the last value."""
    loop = Loop(op)
    places = [one.position for one in loop.carried if one.param is param]
    names = [one.param for region in op.regions for one in loop.carried_in(region) if one.position in places]
    last = [op.results[at] for at in places if at < len(op.results)]
    return any(flow.is_read(one) for one in (*names, *last)) or len(last) < len(places)


def _finding(note: Op, op: Op, following: Value, flow: Flow) -> Obligation:
    name, made = note.label, flow.maker(following)
    return Obligation(
        note.span,
        message=f"`{name}` is carried from turn to turn, and nothing reads it",
        current=f"each turn computes a new `{name}`, and no turn goes on from the one before",
        expected="what is carried goes into the next turn's result, or its last value is read",
        steps=(Step(made.span, "this goes into the next turn"),) if made is not None else (),
        suggestion=f"read `{name}` where the last turn's value is meant, or take it out of the carry",
        cause=(following, *op.results),
    )
