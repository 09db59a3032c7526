"""Containers: lists and tuples that operators join, repeat or compare, and what is known of parts together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jaxaudit.analyses.domain import Read
from jaxaudit.analyses.tracing.facts import NUMBER, STATIC, Kind, Trace, revised
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.functions import COMPARISONS, EQUALITIES

_NO_LISTS = {"add": ("array", "numpy", "shape", "number"), "multiply": ("array", "numpy")}
"""What makes an operator with a list or tuple on the other side no joining or repeating of it."""


def joins_items(op: Op, operands: Sequence[Trace]) -> bool:
    """Whether `+` or `*` has a list or tuple on one side, and on the other nothing that takes it for an array."""
    sides = list(op.arguments.values())
    if op.qualified not in _NO_LISTS or not any(isinstance(one, tuple) for one in sides):
        return False
    facts = dict(zip(op.operands, operands, strict=False))
    others = [facts[one] for one in sides if isinstance(one, Value) and one in facts]
    return not any(one.what in _NO_LISTS[op.qualified] for one in others)


def joined_items(op: Op, operands: Sequence[Trace]) -> Trace:
    """Return a list that is longer: Python joins it, so nothing in it is traced that was not so before."""
    facts = dict(zip(op.operands, operands, strict=False))
    others = [facts[one].what for one in op.arguments.values() if isinstance(one, Value) and one in facts]
    what = "items" if all(one in ("items", "number") for one in others) else ""
    traced = next((one for one in operands if one.kind is Kind.TRACED), None)
    if traced is not None:
        return Trace(Kind.TRACED, what, by=traced.by, way=traced.way)
    kinds = [one.kind for one in operands]
    kind = next((one for one in (Kind.UNKNOWN, Kind.CONCRETE) if one in kinds), Kind.STATIC)
    return Trace(kind, what)


def compares_items(op: Op, operands: Sequence[Trace]) -> bool:
    """Whether a list or tuple is compared with what is no array for sure: arrays of JAX refuse that."""
    compares = op.function in COMPARISONS and any(isinstance(one, tuple) for one in op.arguments.values())
    return compares and not any(one.what in ("array", "numpy", "shape", "number") for one in operands)


def may_be_structural(op: Op, operands: Sequence[Trace]) -> bool:
    """Whether an operator may compare or join containers instead of computing with arrays."""
    if op.function not in EQUALITIES | {"add"} or any(one.what == "array" for one in operands):
        return False
    others = [argument for argument in op.arguments.values() if not isinstance(argument, Value)]
    return not any(isinstance(argument, (bool, int, float, complex)) for argument in others)


OF_NUMBERS = ("number", "list", "lists")
"""What a list of numbers, or of such lists, is made of."""


def fact_of(argument: Argument, read: Read[Trace]) -> Trace:
    """Return the fact of an argument: a value's own, or that of a constant or structure."""
    if isinstance(argument, Value):
        return read(argument)
    if argument is None or isinstance(argument, str):
        return STATIC
    if isinstance(argument, (bool, int, float, complex)):
        return NUMBER
    if isinstance(argument, Mapping):
        return together([fact_of(part, read) for part in argument.values()])
    return together([fact_of(part, read) for part in argument]) if isinstance(argument, tuple) else STATIC


def together(facts: Sequence[Trace]) -> Trace:
    """Return the fact of a container: traced when all its parts are, static when all are."""
    facts = [fact for fact in facts if fact.what != "empty"]
    if not facts:
        return Trace(Kind.STATIC, "empty")
    if all(fact.kind is Kind.STATIC and fact.what in OF_NUMBERS for fact in facts):
        what = "list" if all(fact.what == "number" for fact in facts) else "lists"
        return Trace(Kind.STATIC, what, turn=any(fact.turn for fact in facts))
    kinds = {fact.kind for fact in facts}
    if kinds == {Kind.TRACED}:
        return revised(facts[0], what="", mask=False, again=False)
    varies, turn = any(fact.varies for fact in facts), any(fact.turn for fact in facts)
    known = kinds <= {Kind.STATIC, Kind.CONCRETE}
    kind = Kind.STATIC if kinds == {Kind.STATIC} else Kind.CONCRETE if known else Kind.UNKNOWN
    return Trace(kind, varies=varies, turn=turn)
