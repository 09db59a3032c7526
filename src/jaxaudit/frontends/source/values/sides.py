"""Sides: which way the open conditions go, and what a value is that an earlier condition of the same kind chose.

    act = gate if gated else jnp.tanh
    ...
    y = act(x, g) if gated else act(x)

The second condition asks what the first one asked, so on each of its sides only one of the functions is called.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING

from jaxaudit.frontends.source.values.callables import Library
from jaxaudit.frontends.source.values.model import Abstract, Const, Leaf, Ref
from jaxaudit.frontends.source.values.questions import looked_up
from jaxaudit.ir import Value

if TYPE_CHECKING:
    from jaxaudit.frontends.source.interpret.interpreter import Interpreter

Sides = Mapping[Hashable, bool]
"""Questions, each with its answer."""

_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.IsNot: ast.Is,
    ast.NotEq: ast.Eq,
    ast.NotIn: ast.In,
    ast.GtE: ast.Lt,
    ast.LtE: ast.Gt,
}
_ABOUT_KINDS = frozenset("isinstance hasattr callable len".split())


def sides(it: Interpreter, test: ast.expr, *, holds: bool) -> Sides:
    """Return what is known to be asked and answered where a condition holds, or where it does not."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return sides(it, inner, holds=not holds)
        case ast.BoolOp(op=operator, values=values) if isinstance(operator, ast.And if holds else ast.Or):
            return {question: answer for one in values for question, answer in sides(it, one, holds=holds).items()}
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            plain = _OPPOSITES.get(type(operator), type(operator))
            parts = _question(it, left), _question(it, right)
            return {} if None in parts else {(plain, *parts): holds is (plain is type(operator))}
    question = _question(it, test)
    return {} if question is None else {question: holds}


def answered(it: Interpreter, test: ast.expr) -> bool | None:
    """Return which way a condition goes on the sides that are open, where one around it asks the same."""
    if not it.sides:
        return None
    contradicted = [
        any(it.sides.get(one, yes) is not yes for one, yes in sides(it, test, holds=holds).items() if _lasts(one))
        for holds in (True, False)
    ]
    return None if contradicted[0] == contradicted[1] else contradicted[1]


def _lasts(question: Hashable) -> bool:
    """Whether a question has one answer for good: it is about values and constants, not about what may be changed."""
    if isinstance(question, Value):
        return True
    match question:
        case (type(), *_):
            return question[0] is Const or all(map(_lasts, question[1:]))
    return False


def settled(it: Interpreter, value: Abstract) -> Abstract:
    """Return what a value is on the sides that are open, where an earlier condition of the same kind chose it."""
    if not it.sides or not isinstance(value, Leaf) or (ways := it.chosen.get(value.value)) is None:
        return value
    left = [
        chosen for answers, chosen in ways if not any(it.sides.get(one, yes) is not yes for one, yes in answers.items())
    ]
    return settled(it, left[0]) if len(left) == 1 else value


def _question(it: Interpreter, node: ast.expr) -> Hashable | None:
    """Return what an expression asks, equal for two that give the same; None where that cannot be told."""
    match node:
        case ast.Constant(value=value):
            return Const, type(value), value
        case ast.Name() | ast.Attribute() if (known := looked_up(it, node)) is not None:
            return _identity(it, known)
        case ast.Attribute(value=base, attr=name):
            inner = _question(it, base)
            return None if inner is None else (inner, name)
        case ast.Subscript(value=base, slice=ast.Constant(value=key)):
            inner = _question(it, base)
            return None if inner is None else (inner, type(key), key)
        case ast.Call(func=ast.Name(id=function), args=arguments, keywords=[]) if function in _ABOUT_KINDS:
            parts = [_question(it, one) for one in arguments]
            return None if None in parts else (function, *parts)
        case ast.Name(id=name):
            return it.frame.module.name, name
    return None


def _identity(it: Interpreter, value: Abstract) -> Hashable | None:
    match value:
        case Leaf(value=own):
            while own in it.standing:
                own = it.standing[own]
            return own
        case Const(value=constant):
            return Const, type(constant), constant
        case Ref() | Library():
            return value
    return None
