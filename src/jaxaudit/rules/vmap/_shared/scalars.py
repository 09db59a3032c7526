"""Reductions of a value without axes under `vmap`: what gives the same number whatever the value is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from jaxaudit.analyses.axes.mapped import mapped_ops
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import Answers
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Value

_SPREADS = frozenset("std var nanstd nanvar ptp".split())
_PICKS = frozenset("argmax argmin nanargmax nanargmin argsort".split())
_MEANS = frozenset("mean nanmean median average max min".split())


@dataclass(frozen=True, slots=True)
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
        normed = op.name == "array.linalg" and op.qualified.endswith(".norm")
        if (op.name in ("array.reduce", "array.order") or normed) and op.operands:
            yield op, op.operands[0]


def pointless(facts: Facts, shapes: Shapes) -> Iterator[Scalar]:
    """Return the reductions under a `vmap` whose result says nothing, because there is nothing to reduce."""
    flow = facts.flow
    for op, value in reductions(facts):
        known = [fact for context in shapes.contexts(op) if (fact := context.of(value)).is_array]
        if known and all(fact.dims == () and fact.number is None for fact in known):
            outcome, index = outcome_for_number(op, value, flow), _index(value, flow)
            # The norm of a number that always was one is merely another way to write its absolute value.
            if outcome and (op.name != "array.linalg" or index is not None):
                yield Scalar(op, value, outcome, index)


def outcome_for_number(op: Op, value: Value, flow: Flow) -> str:
    """Say what a reduction always gives for one number; empty where it gives what is wanted all the same."""
    function = op.function
    if function in _SPREADS or function in _PICKS:
        return f"`{function}` of one number is always 0"
    if function == "norm":
        return "the norm of one number is its absolute value"
    if function in _MEANS and any(_subtracts(reader, value, op.result) for reader in flow.readers.get(op.result, ())):
        return f"a number minus its own `{function}` is always 0"
    return ""


def _subtracts(op: Op, whole: Value, mean: Value) -> bool:
    if op.name != "array.map" or op.function != "subtract":
        return False
    return list(op.operands) == [whole, mean]


def _index(value: Value, flow: Flow) -> Op | None:
    """Return the indexing that a value without axes comes from, behind functions of one array."""

    def rule(one: Value, ask: Callable[[Value], Op | None]) -> Op | None:
        op = flow.maker(one)
        if op is None or op.name == "py.item":
            return op if op is not None and _is_integer(op.arguments.get("index")) else None
        found = [ask(operand) for operand in op.operands] if op.name in ("array.map", "array.convert") else []
        return found[0] if found and None not in found else None

    return Answers(rule, otherwise=None)(value)


def _is_integer(index: object) -> bool:
    return isinstance(index, int) and not isinstance(index, bool)
