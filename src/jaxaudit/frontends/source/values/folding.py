"""Constant folding: what operators give when their operands are known, and nothing otherwise."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.values.callables import (
    Attribute,
    BoundMethod,
    ClassValue,
    FunctionValue,
    Library,
    PartialValue,
    Transformed,
)
from jaxaudit.frontends.source.values.heap import DictBox, ListBox, ObjectBox
from jaxaudit.frontends.source.values.model import Abstract, Const, Leaf, Record, Ref, TupleValue
from jaxaudit.ir import Size
from jaxaudit.ir.operators import OPERATORS
from jaxaudit.libraries.lookup import lookup


def _methods(*nodes: type[ast.AST]) -> dict[type[ast.AST], Callable[..., Any]]:
    return {node: getattr(operator, f"__{OPERATORS[node.__name__].method}__") for node in nodes}


_BINARY = _methods(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.BitAnd, ast.BitOr, ast.BitXor)
_UNARY = {**_methods(ast.UAdd, ast.USub, ast.Invert), ast.Not: operator.not_}
_COMPARE: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    **_methods(ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE),
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda item, container: item in container,
    ast.NotIn: lambda item, container: item not in container,
}
_NUMBERS = (int, float, complex)
_TRUE = (Record, FunctionValue, BoundMethod, PartialValue, ClassValue, Transformed)
"""Values that are true whatever they hold."""
_DEFINED = (FunctionValue, ClassValue)
"""What a statement of the audited code defines."""
_STANDARD = ("builtins.", "typing.")
# Results beyond these sizes are not worth knowing, and computing them could take for ever.
_LARGEST_TEXT = 10_000
_LARGEST_NUMBER = 2**128
_LONGEST_SEQUENCE = 256


def fold_binary(it: Interpreter, op: ast.operator, left: Abstract, right: Abstract) -> Abstract | None:
    """Return the result of a binary operator on known operands."""
    if isinstance(left, Const) and isinstance(right, Const):
        return _fold_constants(op, left.value, right.value)
    if isinstance(op, ast.Add):
        return _concatenated(it, left, right)
    if isinstance(op, ast.Mult):
        return _repeated(it, left, right)
    return None


def _fold_constants(op: ast.operator, left: object, right: object) -> Const | None:
    if isinstance(op, ast.Pow):
        if isinstance(left, int | float) and isinstance(right, int | float) and abs(left) < 1e6 and 0 <= right < 64:
            return Const(left**right)
        return None
    function = _BINARY.get(type(op))
    if function is None or not _small(left, right):
        return None
    try:
        return Const(_derived(op, left, right, function(left, right)))
    except (TypeError, ValueError, ArithmeticError):
        return None


_REMEMBERED = ((ast.Mult, "multiple"), (ast.FloorDiv, "part"), (ast.Add, "sum"))
"""The operators after which a number remembers the sizes it was computed of, and as what of them."""


def _derived(op: ast.operator, left: object, right: object, made: object) -> object:
    """Let a size remember the sizes that it was computed of."""
    how = next((how for kind, how in _REMEMBERED if isinstance(op, kind)), "")
    if type(made) is not int or made < 2 or not how:
        return made
    sides = (left,) if how == "part" else (left, right)
    of = tuple(size for side in sides if isinstance(side, Size) for size in _named(side, how))
    return Size(made, "", "", of, how) if of else made


def _named(size: Size, how: str) -> tuple[Size, ...]:
    is_factor = how == "multiple" and size.how == "part"
    own = (size,) if size.name or is_factor else size.of if size.how == how else ()
    return tuple(one for one in own if one > 1)


def _small(left: object, right: object) -> bool:
    if isinstance(left, str | bytes) or isinstance(right, str | bytes):
        sized = [value for value in (left, right) if isinstance(value, str | bytes)]
        return len(sized) == 2 and sum(map(len, sized)) < _LARGEST_TEXT
    return all(isinstance(value, _NUMBERS) and abs(value) < _LARGEST_NUMBER for value in (left, right))


def _concatenated(it: Interpreter, left: Abstract, right: Abstract) -> Abstract | None:
    if isinstance(left, TupleValue) and isinstance(right, TupleValue):
        return TupleValue((*left.items, *right.items)) if len(left.items) < _LONGEST_SEQUENCE else None
    lists = [it.heap[side] for side in (left, right) if isinstance(side, Ref)]
    if len(lists) == 2 and all(isinstance(box, ListBox) and len(box.items) < _LONGEST_SEQUENCE for box in lists):
        return it.heap.new(ListBox(tuple(item for box in lists if isinstance(box, ListBox) for item in box.items)))
    return None


def _repeated(it: Interpreter, left: Abstract, right: Abstract) -> Abstract | None:
    if isinstance(left, Const):
        left, right = right, left
    if not (isinstance(right, Const) and isinstance(right.value, int)):
        return None
    times = right.value
    if isinstance(left, TupleValue) and len(left.items) * times <= _LONGEST_SEQUENCE:
        return TupleValue(left.items * times)
    if isinstance(left, Ref) and isinstance(box := it.heap[left], ListBox):
        if len(box.items) * times <= _LONGEST_SEQUENCE:
            return it.heap.new(ListBox(box.items * times, box.kind, times if len(box.items) == 1 else None))
    return None


def fold_unary(op: ast.unaryop, operand: Abstract) -> Abstract | None:
    """Return the result of a unary operator on a known operand."""
    if not isinstance(operand, Const):
        return None
    try:
        return Const(_UNARY[type(op)](operand.value))
    except TypeError:
        return None


def fold_compare(it: Interpreter, op: ast.cmpop, left: Abstract, right: Abstract) -> Abstract | None:
    """Return the result of a comparison of known operands."""
    if isinstance(left, Const) and isinstance(right, Const):
        try:
            return Const(bool(_COMPARE[type(op)](left.value, right.value)))
        except TypeError:
            return None
    if isinstance(op, ast.Is | ast.IsNot) and is_never_none(it, left) and right == Const(None):
        return Const(isinstance(op, ast.IsNot))
    if isinstance(op, ast.Eq | ast.NotEq):
        same = _equal(left, right)
        return None if same is None else Const(same is isinstance(op, ast.Eq))
    if isinstance(op, ast.Is | ast.IsNot):
        same = _is_same(left, right)
        return None if same is None else Const(same is isinstance(op, ast.Is))
    if isinstance(op, ast.In | ast.NotIn):
        found = _contains(it, right, left)
        return None if found is None else Const(found is isinstance(op, ast.In))
    return None


def _equal(left: Abstract, right: Abstract) -> bool | None:
    """Compare constants, functions, classes, and two tuples item by item as far as they are known."""
    if isinstance(left, Const) and isinstance(right, Const):
        return bool(left.value == right.value)
    if not (isinstance(left, TupleValue) and isinstance(right, TupleValue)):
        return _is_same(left, right)
    if len(left.items) != len(right.items):
        return False
    found = [_equal(one, other) for one, other in zip(left.items, right.items, strict=True)]
    return False if False in found else None if None in found else True


def _is_same(left: Abstract, right: Abstract) -> bool | None:
    """Whether two things of which Python has one each are the same: functions, classes, and what is neither."""
    if isinstance(left, Library) and isinstance(right, Library):
        # Libraries have several names for one thing, Python itself has not.
        plain = all(one.name.startswith("builtins.") for one in (left, right))
        return True if left.name == right.name else False if plain else None
    if not isinstance(left, _DEFINED):
        left, right = right, left
    if not isinstance(left, _DEFINED):
        return None
    if isinstance(right, _DEFINED):
        # A definition inside a function gives a new thing with each call.
        return True if left is right else False if left.node is not right.node else None
    apart = isinstance(right, Const) or (isinstance(right, Library) and right.name.startswith(_STANDARD))
    return False if apart or _is_function(right) else None


def is_never_none(it: Interpreter, value: Abstract) -> bool:
    """Whether a value is surely not None."""
    box = it.heap[value] if isinstance(value, Ref) else value
    if isinstance(box, ObjectBox | Record) and box.derived:
        # Who asks for None does not believe the annotation.
        return False
    if isinstance(value, Leaf):
        return value.array or value.exists or value.cls.startswith("builtins.") or value.holds is not None
    return not isinstance(value, Const | Attribute | Library) or _is_function(value)


def _is_function(value: Abstract) -> bool:
    return isinstance(value, Library) and lookup(value.name) is not None


def _contains(it: Interpreter, container: Abstract, key: Abstract) -> bool | None:
    if isinstance(container, Ref):
        box = it.heap[container]
        if isinstance(box, DictBox) and isinstance(key, Const):
            return key.value in box.entries if box.rest is None or key.value in box.entries else None
        if isinstance(box, ListBox):
            return _among(box.items, key)
    if isinstance(container, TupleValue):
        return _among(container.items, key)
    return None


def _among(items: tuple[Abstract, ...], key: Abstract) -> bool | None:
    found = [_equal(item, key) for item in items]
    return True if True in found else None if None in found else False


def truth(it: Interpreter, value: Abstract) -> bool | None:
    """Whether a value is true, where that is known."""
    if isinstance(value, Const):
        return bool(value.value)
    if isinstance(value, TupleValue):
        return bool(value.items)
    if isinstance(value, Ref):
        box = it.heap[value]
        if isinstance(box, ListBox):
            return bool(box.items)
        if isinstance(box, DictBox):
            return True if box.entries else (None if box.rest is not None else False)
        return None
    return True if isinstance(value, _TRUE) or _is_function(value) else None
