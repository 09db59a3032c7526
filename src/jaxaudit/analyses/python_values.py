"""Which values are Python's own numbers, truth values and lists, and which are arrays of JAX.

The ops that made them say so, and of arrays and lists, beyond the borders of calls and loops, what is known while JAX
traces.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Flag, auto

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.queries import Answers
from jaxaudit.analyses.tracing.facts import Trace, TracingFacts
from jaxaudit.analyses.tracing.transfer import gives
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.functions import COMPARISONS, LOGIC, NEGATIONS, QUESTIONS, TRUTHS
from jaxaudit.ir.record import record


class Kind(Flag):
    """What a value surely is; nothing at all where that is not known."""

    UNKNOWN = 0
    JAX_ARRAY = auto()
    """An array that JAX made."""
    NUMBER = auto()
    """One of Python's own numbers, truth values among them."""
    TRUTH = auto()
    """True or false, alone or in an array."""
    BOOL = NUMBER | TRUTH
    """One of Python's own truth values."""
    SEQUENCE = auto()
    """One of Python's own lists or tuples."""


@record
class PythonValues:
    """The kinds of the values of a program."""

    makers: Mapping[Value, Op]
    _kinds: Answers[Value, Kind]

    def maker(self, argument: Argument) -> Op | None:
        """Return the op that made a value; None for constants and parameters."""
        return self.makers.get(argument) if isinstance(argument, Value) else None

    def is_jax_array(self, argument: Argument) -> bool:
        """Whether a value is surely an array that JAX made."""
        return Kind.JAX_ARRAY in _kind(argument, self._kinds)

    def is_sequence(self, argument: Argument) -> bool:
        """Whether a value is surely one of Python's own lists or tuples."""
        return isinstance(argument, tuple) or Kind.SEQUENCE in _kind(argument, self._kinds)

    def is_number(self, argument: Argument) -> bool:
        """Whether a value is surely one of Python's own numbers."""
        return Kind.NUMBER in _kind(argument, self._kinds)

    def is_bool(self, argument: Argument) -> bool:
        """Whether a value is surely one of Python's own truth values."""
        return Kind.BOOL in _kind(argument, self._kinds)

    def is_truth(self, argument: Argument) -> bool:
        """Whether a value is surely true or false, alone or in an array."""
        return Kind.TRUTH in _kind(argument, self._kinds)


@remembered
def python_values(facts: Facts) -> PythonValues:
    """Return the kinds of the values of a program; each is found out when it is asked for."""
    makers, tracing = facts.program.makers, facts.get(TracingFacts)

    def answer(value: Value, ask: Callable[[Value], Kind]) -> Kind:
        op, kind = makers.get(value), _seen(tracing.value(value))
        return kind if op is None else kind | _made(op, ask, makers)

    return PythonValues(makers, Answers(answer, Kind.UNKNOWN))


def _seen(fact: Trace) -> Kind:
    if fact.what in ("list", "items", "leaves"):
        return Kind.SEQUENCE
    # Numbers are known by what made them alone: a `size` may be a field of the user's own.
    return Kind.JAX_ARRAY if fact.jax_array else Kind.UNKNOWN


def _kind(argument: Argument, ask: Callable[[Value], Kind]) -> Kind:
    if isinstance(argument, Value):
        return ask(argument)
    if isinstance(argument, bool):
        return Kind.BOOL
    return Kind.NUMBER if isinstance(argument, int | float) else Kind.UNKNOWN


def _made(op: Op, ask: Callable[[Value], Kind], makers: Mapping[Value, Op]) -> Kind:
    if op.name == "py.operator":
        return Kind.BOOL if op.operator in QUESTIONS else Kind.UNKNOWN
    if op.name == "py.to_python":
        return {"bool": Kind.BOOL, "int": Kind.NUMBER, "float": Kind.NUMBER}.get(op.qualified, Kind.UNKNOWN)
    if op.name == "py.const":
        return Kind.BOOL if isinstance(op.constant, bool) else Kind.UNKNOWN
    if op.name == "array.shape":
        # Whatever has a length has a number for it; a `size` may be a field of the user's own.
        sized = op.qualified == "size" and Kind.JAX_ARRAY in _kind(op.arguments.get("a"), ask)
        return Kind.NUMBER if sized or op.qualified in ("len", "ndim") else Kind.UNKNOWN
    if op.name == "py.item":
        base, index = op.arguments.get("base"), op.arguments.get("index")
        shape = makers.get(base) if isinstance(base, Value) and not isinstance(index, Mapping) else None
        asks_shape = shape is not None and shape.name == "array.shape" and shape.qualified == "shape"
        return Kind.NUMBER if asks_shape else Kind.UNKNOWN
    return _computed(op, ask)


def _computed(op: Op, ask: Callable[[Value], Kind]) -> Kind:
    given = [_kind(one, ask) for one in op.arguments.values()]
    found = Kind.UNKNOWN
    if op.is_operator:
        if any(Kind.JAX_ARRAY in one for one in given):
            found |= Kind.JAX_ARRAY
        elif all(Kind.NUMBER in one for one in given):
            found |= Kind.BOOL if op.function in COMPARISONS else Kind.NUMBER
    elif _is_jax_array(op):
        found |= Kind.JAX_ARRAY
    if op.name == "array.map":
        joined = op.function in LOGIC - NEGATIONS and all(Kind.TRUTH in one for one in given)
        found |= Kind.TRUTH if joined or op.function in TRUTHS else Kind.UNKNOWN
    return found


def _is_jax_array(op: Op) -> bool:
    makes_array = op.name.startswith(("array.", "key.draw")) and op.name not in ("array.numpy", "array.order")
    return op.name == "array.scatter" or (makes_array and op.qualified.startswith("jax") and gives(op) == "array")
