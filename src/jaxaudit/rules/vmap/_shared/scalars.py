"""Reductions of a value without axes under `vmap`: what gives the same number whatever the value is."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from jaxaudit.analyses.axes.mapped import mapped_ops
from jaxaudit.analyses.axes.normalised import behind_guards, same_values
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import Answers, made_of, readers, through_ops
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.functions import ADDITIONS, EVEN, ONE_BACK, PICKED_POSITIONS, SPREADS
from jaxaudit.ir.record import record
from jaxaudit.rules.base import named

_OF_ITSELF = {
    "subtract": "a number minus its own `{}` is always 0",
    "divide": "a number divided by its own `{}` is always 1",
}
_OF_SIZE = {"divide": "a number divided by the `{}` of its own size is always 1 or -1"}


@record
class Scalar:
    """A reduction of a value that has no axes where it is mapped."""

    op: Op
    value: Value
    outcome: str
    """What it always gives."""
    index: Op | None
    """The `[i]` that took the last axis away."""


def reductions(facts: Facts) -> Iterator[tuple[Op, Value]]:
    """Return every reduction under a `vmap`, with what it reduces."""
    for op in mapped_ops(facts):
        normed = op.name == "array.linalg" and op.function == "norm"
        if (op.name in ("array.reduce", "array.order") or normed) and op.operands:
            yield op, op.operands[0]


def pointless(facts: Facts, shapes: Shapes) -> Iterator[Scalar]:
    """Return the reductions under a `vmap` whose result says nothing, because there is nothing to reduce."""
    flow, index_of = facts.flow, _indices(facts.flow)
    for op, value in reductions(facts):
        known = [fact for context in shapes.contexts(op) if (fact := context.of(value)).is_array]
        if known and all(fact.dims == () and fact.number is None for fact in known):
            outcome, index = outcome_for_number(op, value, flow) or _of_others(op, shapes, flow), index_of(value)
            # The norm of a number that always was one is merely another way to write its absolute value.
            if outcome and (op.name != "array.linalg" or index is not None):
                yield Scalar(op, value, outcome, index)


def outcome_for_number(op: Op, value: Value, flow: Flow) -> str:
    """Return what a reduction always gives for one number; empty where it gives what is wanted all the same."""
    function = op.function
    if function in SPREADS | PICKED_POSITIONS or function in ("ptp", "argsort"):
        return f"`{function}` of one number is always 0"
    if function == "norm":
        return "the norm of one number is its absolute value"
    if function in ONE_BACK:
        number = _size_of(value, flow)
        own = (one for one in readers(flow, number) if _is_of_itself(one, number, op, flow))
        made = _OF_ITSELF if number is value else _OF_SIZE
        return next((made[one.function].format(function) for one in own if one.function in made), "")
    return ""


def _of_others(op: Op, shapes: Shapes, flow: Flow) -> str:
    """Return what is wrong with the sum of one number that is divided by how long something else is."""
    measured = next((one for one in counted(op, flow) if shapes.of(one).dims), None)
    if measured is None:
        return ""
    return f"its `{op.function}` has one term, and is divided by the size of {named(measured, 'another array')}"


def counted(op: Op, flow: Flow) -> list[Value]:
    """Return the arrays by whose sizes a sum is divided."""
    divided = (one for one in readers(flow, op.result) if one.name == "array.map" and one.function == "divide")
    sizes = (_measured(one.argument("y"), flow) for one in divided if op.function in ADDITIONS)
    return [one for one in sizes if one is not None]


def _measured(size: Argument, flow: Flow) -> Value | None:
    """Return of which array a number is the size."""
    taken = through_ops("py.item", "array.convert")
    found = flow.maker(made_of(flow, size, taken)) if isinstance(size, Value) else None
    return found.value("a") if found is not None and found.name == "array.shape" else None


def _is_of_itself(op: Op, value: Value, reduction: Op, flow: Flow) -> bool:
    """Whether an op takes a value and its own reduction, kept away from zero or not, or the root of it."""
    if op.name != "array.map" or op.function not in _OF_ITSELF or len(op.operands) != 2:
        return False
    own = behind_guards(op.operands[1], flow)
    if own is not None and own.function == "sqrt" and own.operands:
        own = behind_guards(own.operands[0], flow)
    return own is reduction and same_values(op.operands[0], value, flow)


def _size_of(value: Value, flow: Flow) -> Value:
    """Return the number of which a value is the size or the square; itself where it is neither."""
    op = flow.maker(value)
    is_size = op is not None and op.name == "array.map" and op.function in EVEN and len({*op.operands}) == 1
    return op.operands[0] if op is not None and is_size else value


def _indices(flow: Flow) -> Answers[Value, Op | None]:
    """Answer which indexing a value without axes comes from, behind elementwise functions of nothing else."""

    def index(value: Value, ask: Callable[[Value], Op | None]) -> Op | None:
        op = flow.maker(value)
        if op is not None and op.name == "py.item":
            at = op.arguments.get("index")
            return op if isinstance(at, int) and not isinstance(at, bool) else None
        if op is None or op.name not in ("array.map", "array.convert") or not op.operands:
            return None
        found = [ask(one) for one in op.operands]
        return found[0] if None not in found else None

    return Answers(index, None)
