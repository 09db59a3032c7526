"""Places that take a value for logits or probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jaxaudit.analyses.meaning.kinds import Kind
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import NORMALISED_EXPONENTIALS
from jaxaudit.libraries.meanings import APPLIED_TO_LOGITS

_OPS = ("array.normalise", "key.draw", "py.call_library", "array.map", "array.reduce")


@dataclass(frozen=True, slots=True)
class Taker:
    """One place that takes a value for something."""

    op: Op
    value: Value
    wants: Kind
    by: str
    """The function that takes it."""
    applies: str = ""
    """What it applies to logits by itself: `softmax` or `sigmoid`; empty where that is not known."""
    axis: object = None
    """The axis it works along, as it is written."""


def takers(program: Program) -> Iterator[Taker]:
    """Return every place that takes a value for logits or probabilities."""
    read = _in_trace if program.front_end == "jaxpr" else _in_source
    return (one for op in program.named(*_OPS) if not op.is_derived for one in read(op))


def _in_source(op: Op) -> Iterator[Taker]:
    """In source, parameters say what they take."""
    name, axis = op.function, op.arguments.get("axis", -1)
    given = op.named or op.arguments
    logits, probabilities = given.get("logits"), given.get("p" if op.name == "key.draw" else "probs")
    if op.name == "array.normalise" and name in NORMALISED_EXPONENTIALS:
        scores = op.value("x")
        if scores is not None:
            yield Taker(op, scores, Kind.LOGITS, name, "softmax", axis)
    elif isinstance(logits, Value):
        by = "categorical" if op.name == "key.draw" else name
        otherwise = "" if op.name == "py.call_library" else "softmax"
        yield Taker(op, logits, Kind.LOGITS, by, APPLIED_TO_LOGITS.get(name, otherwise), axis)
    elif isinstance(probabilities, Value):
        yield Taker(op, probabilities, Kind.PROBABILITIES, name)


def _in_trace(op: Op) -> Iterator[Taker]:
    """In a trace, functions of JAX and of libraries are the ops they are made of: the first one takes the value."""
    loss = op.library if op.library in APPLIED_TO_LOGITS else ""
    if op.name == "key.draw" and op.function == "categorical":
        yield from (Taker(op, value, Kind.LOGITS, "categorical", "softmax") for value in op.operands[1:2])
    elif op.name == "array.reduce" and op.function == "max" and op.operands:
        if op.api in NORMALISED_EXPONENTIALS or (op.api == "logsumexp" and loss):
            axis = op.arguments.get("axis")
            yield Taker(op, op.operands[0], Kind.LOGITS, loss or op.api, "softmax", axis)
    elif op.api == "log_sigmoid" and APPLIED_TO_LOGITS.get(loss) == "sigmoid" and op.operands:
        yield Taker(op, op.operands[0], Kind.LOGITS, loss, "sigmoid")
