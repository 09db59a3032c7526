"""Operators that classes of the audited code define themselves, and those whose precedence is easily mistaken."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from jaxaudit.frontends.source.classes.members import find_in_class
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.values.arguments import Arguments
from jaxaudit.frontends.source.values.callables import BoundMethod, FunctionValue
from jaxaudit.frontends.source.values.heap import ListBox, ObjectBox, OpaqueBox
from jaxaudit.frontends.source.values.model import TUPLE, Abstract, Leaf, Record, Ref, Sequence, TupleValue
from jaxaudit.frontends.source.values.structure import argument
from jaxaudit.ir.operators import OPERATORS
from jaxaudit.spans import Span


def overloaded(it: Interpreter, operator: ast.operator, left: Abstract, right: Abstract, span: Span) -> Abstract | None:
    """Call the method that an operand defines for an operator; None where neither does."""
    name = OPERATORS[type(operator).__name__].method
    for receiver, other, method in ((left, right, f"__{name}__"), (right, left, f"__r{name}__")):
        found = _method(it, receiver, method)
        if found is not None:
            return it.call(BoundMethod(found, receiver), Arguments((other,)), span)
    return None


def contains(it: Interpreter, item: Abstract, container: Abstract, span: Span) -> Abstract | None:
    """Call the method by which a container of the audited code answers `in`; None where it has none."""
    found = _method(it, container, "__contains__")
    return None if found is None else it.call(BoundMethod(found, container), Arguments((item,)), span)


def is_list(it: Interpreter, value: Abstract) -> bool:
    """Whether a value is a list, whatever is known of its items."""
    if isinstance(value, Sequence):
        return not value.lazy and value.kind == "list"
    box = it.heap[value] if isinstance(value, Ref) else None
    return isinstance(box, ListBox | OpaqueBox) and box.kind == "list"


def is_tuple(value: Abstract) -> bool:
    """Whether a value is a tuple, whatever is known of its items."""
    if isinstance(value, Sequence):
        return not value.lazy and value.kind == "tuple"
    return isinstance(value, TupleValue) or (isinstance(value, Leaf) and value.cls == TUPLE)


def is_filler(it: Interpreter, value: Abstract) -> bool:
    """Whether a value is a list of one item, such as people repeat: `[1] * n` is a list, whatever `n` is."""
    box = it.heap[value] if isinstance(value, Ref) else None
    return isinstance(box, ListBox) and box.kind == "list" and len(box.items) == 1


def joined(it: Interpreter, left: Abstract, right: Abstract, span: Span) -> Abstract | None:
    """Return the list or tuple that `left + right` makes, as one value; None where they are no two of a kind."""
    kind = "list" if is_list(it, left) and is_list(it, right) else "tuple"
    if kind == "tuple" and not (is_tuple(left) and is_tuple(right)):
        return None
    arguments = {"x": argument(it, left, span), "y": argument(it, right, span)}
    made = it.emit("py.container", span, arguments, {"kind": kind}).result
    return Leaf(made, TUPLE) if kind == "tuple" else it.heap.new(OpaqueBox(made, kind))


def _method(it: Interpreter, receiver: Abstract, name: str) -> FunctionValue | None:
    if isinstance(receiver, Record):
        cls = receiver.cls
    elif isinstance(receiver, Ref) and isinstance(box := it.heap[receiver], ObjectBox):
        cls = box.cls
    else:
        return None
    found = find_in_class(cls, name)
    return found if isinstance(found, FunctionValue) else None


_BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor)
_NOTHING: Mapping[str, object] = {}


def grouping(it: Interpreter, node: ast.Compare) -> Mapping[str, object]:
    """Note a comparison with something like `0 | b`: whether brackets say so, and whether it is a chain."""
    parts = [node.left, *node.comparators]
    bitwise = [part for part in parts if isinstance(part, ast.BinOp) and isinstance(part.op, _BITWISE)]
    if not bitwise:
        return _NOTHING
    loose = [part for part in bitwise if not _bracketed(it, part)]
    chained = any(part in loose for part in parts[1:-1])
    return {"tighter": "chain" if chained else "loose" if loose else "brackets"}


def _bracketed(it: Interpreter, node: ast.expr) -> bool:
    """Whether an expression stands in brackets of its own."""
    lines = it.frame.module.text.split("\n")
    if not 0 < node.lineno <= len(lines):
        return True
    before = lines[node.lineno - 1].encode()[: node.col_offset].rstrip()
    return before.endswith(b"(")
