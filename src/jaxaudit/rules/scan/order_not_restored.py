"""The rule `order-not-restored`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import ahead, behind, left, nothing, walk
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import FLIPS
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import KEEPING
from jaxaudit.ir.values import index_parts
from jaxaudit.rules.base import Example, Obligation, Rule, Step, named, proved, unknown

_ELEMENTWISE = (KEEPING - {"array.permute", "array.reshape"}) | {"array.map", "array.select"}

_RETURNS = """
def returns(rewards, values):
    def step(total, reward):
        total = reward + 0.99 * total
        return total, total

    _, out = jax.lax.scan(step, 0.0, rewards[::-1])
    return {out} - 0.1 * rewards{mark}
"""


class OrderNotRestored(Rule):
    """What a scan over turned arrays gives meets arrays in their own order.

    ## What it does
    Lists the scans that get all of their elements back to front (`xs[::-1]`, `jnp.flip(xs)`). What they stack is back
    to front too. It must be turned again before it meets, element by element, what was not turned.

    ## Why is this bad?
    The last step is weighed with the return of the first. Shapes fit and nothing is raised.

    ## Example
        _, out = jax.lax.scan(step, 0.0, rewards[::-1])
        loss = (log_probs * out).mean()

    ## Use instead
        _, out = jax.lax.scan(step, 0.0, rewards, reverse=True)

    ## When it cannot tell
    Where it cannot be seen what meets the result, it is left open.
    """

    summary = "The results of a scan over turned arrays are not turned back."

    valid = (
        Example(_RETURNS.format(out="out[::-1]", mark=""), "turned back"),
        Example(_RETURNS.format(out="out.sum()", mark=""), "a sum has no order"),
        Example(_RETURNS.format(out="out[-1]", mark=""), "that of the first step"),
        Example(_RETURNS.replace("rewards[::-1])", "rewards, reverse=True)").format(out="out", mark=""), "backwards"),
    )
    invalid = (
        Example(_RETURNS.format(out="out", mark="  #!"), "back to front"),
        Example(_RETURNS.format(out="jnp.sqrt(out + 1.0)", mark="  #!"), "computed with before"),
        Example(
            """
def both(cell, h, xs):
    _, forward = jax.lax.scan(cell, h, xs)
    _, backward = jax.lax.scan(cell, h, jnp.flip(xs, axis=0))
    return jnp.concatenate([xs, backward], axis=-1), forward  #!
""",
            "joined feature by feature",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every scan whose elements are all turned."""
        for op in program.named("scan"):
            loop = Loop(op)
            turns = [_turn(outside, facts.flow) for _, outside in loop.elements]
            if turns and all(turns):
                yield from _judge(op, [one for one in turns if one is not None], facts.flow)


def _judge(op: Op, turns: list[Op], flow: Flow) -> Iterator[Obligation]:
    given = [result for _, result in Loop(op).stacked]
    if not given:
        return
    plain = _beside(turns, flow)
    onward = set(walk(given, lambda one: _onward(one, flow)))
    meetings = (reader for value in onward for reader in flow.readers.get(value, ()) if _meets(reader))
    for reader in sorted(meetings, key=flow.places.order.__getitem__):
        others = [value for value in reader.operands if value not in onward]
        if any(one in plain for other in others for one in walk((other,), lambda one: _back(one, flow))):
            yield _finding(op, reader, turns[0])
            return
    if any(_is_turn(reader) for value in onward for reader in flow.readers.get(value, ())):
        yield proved(op.span, "what the scan gives is turned back")
    else:
        yield unknown(op.span, "what meets the results, which are back to front, is not known")


def _turn(value: Value, flow: Flow) -> Op | None:
    """Return the op that turns an array back to front, where a value is made by one."""
    for one in walk((value,), lambda one: behind(flow, one, nothing)):
        op = flow.maker(one)
        if op is not None and _is_turn(op):
            return op
    return None


def _is_turn(op: Op) -> bool:
    if op.name == "array.move":
        return op.function in FLIPS and op.arguments.get("axis") in (None, 0, (0,))
    first = next(iter(index_parts(op.arguments.get("index"))), None) if op.name == "py.item" else None
    return isinstance(first, Mapping) and first.get("step") == -1


def _beside(turns: list[Op], flow: Flow) -> set[Value]:
    """Return the arrays that were turned, under all their names, and what the same scan stacked beside them."""
    bases = [one for op in turns for one in op.operands[:1]]
    found = set(walk(bases, lambda one: behind(flow, one, nothing)))
    makers = {op for one in found if (op := flow.maker(one)) is not None and op.name == "scan"}
    return found.union(result for op in makers for _, result in Loop(op).stacked if result in found or len(makers) == 1)


def _onward(value: Value, flow: Flow) -> Iterator[Value]:
    """Return what is made of a value element by element, here or where it is handed to."""
    yield from ahead(flow, value, lambda op: op.name in _ELEMENTWISE)
    yield from left(flow, value)


def _meets(op: Op) -> bool:
    """Whether an op takes two arrays element by element."""
    joined = op.name == "array.join" and op.arguments.get("axis", 0) not in (None, 0)
    return joined or (op.name in ("array.map", "array.select") and len(op.operands) > 1)


def _back(value: Value, flow: Flow) -> Iterator[Value]:
    """Return what a value is made of element by element along its first axis, up to where it is turned."""
    op = flow.maker(value)
    if op is None or op.regions:
        yield from behind(flow, value, nothing)
    elif op.name in _ELEMENTWISE:
        yield from op.operands
    elif op.name == "py.item" and not _is_turn(op):
        parts = list(index_parts(op.arguments.get("index")))
        base = op.value("base")
        whole = bool(parts) and (parts[0] == "..." or (isinstance(parts[0], Mapping) and not any(parts[0].values())))
        yield from (base,) if whole and base is not None else (one for one in parts[:1] if isinstance(one, Value))


def _finding(op: Op, reader: Op, turn: Op) -> Obligation:
    return Obligation(
        reader.span,
        message="what a scan over turned arrays gives meets here what is in its own order",
        current=f"the first element of {named(op.results[-1], 'the result')} belongs to the last step",
        expected="both are in the same order",
        steps=(Step(turn.span, "turned here"), Step(op.span, "what is stacked here is back to front too")),
        suggestion="turn the result back (`out[::-1]`), or give the scan `reverse=True` and no turned arrays",
    )
