"""Operators that classes of the audited code define themselves."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jaxaudit.frontends.source.arguments import Arguments
from jaxaudit.frontends.source.members import find_in_class
from jaxaudit.frontends.source.values import Abstract, BoundMethod, FunctionValue, ObjectBox, Record, Ref
from jaxaudit.spans import Span

if TYPE_CHECKING:
    from jaxaudit.frontends.source.interpreter import Interpreter

_METHODS: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
}


def overloaded(it: Interpreter, operator: ast.operator, left: Abstract, right: Abstract, span: Span) -> Abstract | None:
    """Call the method that an operand defines for an operator; None where neither does."""
    name = _METHODS[type(operator)]
    for receiver, other, method in ((left, right, f"__{name}__"), (right, left, f"__r{name}__")):
        found = _method(it, receiver, method)
        if found is not None:
            return it.call(BoundMethod(found, receiver), Arguments((other,)), span)
    return None


def _method(it: Interpreter, receiver: Abstract, name: str) -> FunctionValue | None:
    if isinstance(receiver, Record):
        cls = receiver.cls
    elif isinstance(receiver, Ref) and isinstance(box := it.heap[receiver], ObjectBox):
        cls = box.cls
    else:
        return None
    found = find_in_class(cls, name)
    return found if isinstance(found, FunctionValue) else None
