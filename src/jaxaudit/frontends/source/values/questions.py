"""Questions: conditions that ask what a value is before the program uses it.

`if "rng" in inspect.signature(step).parameters: step(x, rng)`, `if hasattr(x, "shape")`, `if x.ndim != 3: raise`: where
such a condition is not decided, the program expects other values than the one that is known here. What stands behind
it is for those, so nothing that is wrong with this one is a mistake.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jaxaudit.frontends.source.interpret.syntax import children
from jaxaudit.frontends.source.values.callables import BoundMethod, ClassValue, FunctionValue, Library, PartialValue
from jaxaudit.frontends.source.values.heap import ObjectBox
from jaxaudit.frontends.source.values.model import Abstract, Leaf, Ref
from jaxaudit.ir import Value
from jaxaudit.libraries.lookup import canonical, lookup
from jaxaudit.libraries.methods import ATTRIBUTES

if TYPE_CHECKING:
    from jaxaudit.frontends.source.interpret.interpreter import Interpreter


def asked_about(it: Interpreter, test: ast.expr) -> list[Abstract | Value]:
    """Return the values that a condition asks about: what a call is handed, and arrays whose shape is read."""
    found: list[Abstract | None] = []
    pending: list[ast.AST] = [test]
    for node in pending:
        match node:
            case ast.Call(func=func, args=[first, *_]) if not _computes(looked_up(it, func)):
                found.append(looked_up(it, first))
            case ast.Attribute(value=base, attr=name) if f"array.{name}" in ATTRIBUTES:
                array = looked_up(it, base)
                found.append(array if isinstance(array, Leaf) else None)
        pending += children(node)
    return [one.value if isinstance(one, Leaf) else one for one in found if isinstance(one, _THINGS)]


def asks_kind(it: Interpreter, test: ast.expr, answer: Value | None) -> bool:
    """Whether a condition asks what kind of array a value is: its rank, its shape as a whole, its dtype.

    Where that is not decided, each side is for values of one kind, and what is known here may be of another.
    """
    if answer in it.kinds:
        return True
    pending: list[ast.AST] = [test]
    for node in pending:
        match node:
            case ast.Subscript(value=ast.Attribute(attr="shape", value=base)):
                # One size says nothing of the rank.
                pending.append(base)
                continue
            case ast.Attribute(value=base, attr=name) if name in _KINDS and not isinstance(
                looked_up(it, base), Library
            ):
                return True
        pending += children(node)
    return False


_KINDS = frozenset("aval dtype ndim shape weak_type".split())
_THINGS = Leaf | Ref | FunctionValue | BoundMethod | PartialValue | ClassValue
"""What can be one thing or another."""


def is_asked(it: Interpreter, callee: Abstract) -> bool:
    """Whether a condition around asks about what is called here, or about the object whose method it is."""
    asked = it.frame.asked
    if not asked or callee in asked:
        return bool(asked)
    match callee:
        case PartialValue(function=function):
            return is_asked(it, function)
        case BoundMethod(function=function, receiver=receiver):
            return receiver in asked or function in asked
        case _:
            return False


def _computes(callee: Abstract | None) -> bool:
    """Whether a function computes with the elements of arrays, and so asks nothing about what they are."""
    row = lookup(canonical(callee.name)) if isinstance(callee, Library) else None
    return row is not None and row.op.startswith("array.")


def looked_up(it: Interpreter, node: ast.expr) -> Abstract | None:
    """Return what a name or a chain of attributes stands for, where that is known without evaluating it again."""
    match node:
        case ast.Name(id=name):
            frame = it.frame
            while frame is not None and name not in frame.env:
                frame = frame.enclosing()
            return it.frame.module.member(name) if frame is None else frame.env[name]
        case ast.Attribute(value=inner, attr=name):
            base = looked_up(it, inner)
            if isinstance(base, Library):
                return Library(f"{base.name}.{name}")
            box = it.heap[base] if isinstance(base, Ref) else None
            return box.attrs.get(name) if isinstance(box, ObjectBox) else None
        case _:
            return None
