"""Whether what is unpacked has as many parts as there are variables for them, and in which order."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jaxaudit.frontends.source.interpret.syntax import FunctionNode
from jaxaudit.frontends.source.values.callables import BoundMethod, FunctionValue, PartialValue, Transformed
from jaxaudit.frontends.source.values.heap import DictBox
from jaxaudit.frontends.source.values.model import Abstract, Leaf, Record, Ref, TupleValue
from jaxaudit.frontends.source.values.structure import leaves
from jaxaudit.ir.names import names_one
from jaxaudit.spans import Span

if TYPE_CHECKING:
    from jaxaudit.frontends.source.interpret.interpreter import Interpreter


def note_unpacking(it: Interpreter, count: int, star: int | None, value: Abstract, span: Span) -> None:
    """Note how the parts of a value compare with the variables that take them; lists may have changed since."""
    if not it.frame.module.audited:
        return
    match value:
        case TupleValue(items=items) | Record(items=items):
            fits = len(items) == count if star is None else len(items) >= count - 1
            many = f"{len(items)} value{'s' * (len(items) != 1)}"
            reason = f"{many} cannot be unpacked into {count - (star is not None)} variables"
        case Transformed(spelling=spelling):
            fits, reason = False, f"the function that `{spelling}` makes is unpacked, and was not called"
        case FunctionValue() | BoundMethod() | PartialValue():
            fits, reason = False, "a function is unpacked, and was not called"
        case _:
            return
    if fits:
        it.unpacked[span] = count
    else:
        doubtful = bool(it.frame.guarded) or it.frame.is_conditional
        attrs = {"reason": reason, "guarded": doubtful}
        it.emit("py.unfit", span, attrs=attrs, results=0)


def note_packed(it: Interpreter, targets: list[ast.expr], value: Abstract, span: Span) -> None:
    """Note what the parts of a tuple were called where another function has put it together, or of a record."""
    match value:
        case TupleValue(made=made) if _is_given(it, made):
            written = it.packed.get(made, ())
        case Record(cls=cls, made=made):
            written = tuple(cls.fields)
        case _:
            return
    params = tuple([name_of(one) for one in targets])
    if len(written) == len(params) and sum(any(names_one(name, one) for one in params) for name in written) > 1:
        values = tuple(tuple(dict.fromkeys(leaves(it, one))) for one in value.items)
        attrs = {"written": written, "params": params, "values": values, "where": made, "own": (), "twice": ()}
        it.emit("py.passed", span, attrs=attrs, results=0)


def _is_given(it: Interpreter, made: Span) -> bool:
    """Whether a place is in one of the functions that lead to the open one, and not in that one itself.

    Who unpacks what was packed in one function exchanges on purpose.
    """
    function = it.frame.function
    if function is None or _holds(function.node, made):
        return False
    return any(_holds(one, made) for one in it.active)


def _holds(node: FunctionNode, made: Span) -> bool:
    return node.lineno <= made.line <= (node.end_lineno or 0)


def name_of(node: ast.expr) -> str:
    """Return what an expression names: a variable, an attribute or an entry; empty where it is none of these."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
    return ""


def note_mapped(it: Interpreter, made: Abstract, parts: Sequence[Abstract], trees: Sequence[Abstract]) -> None:
    """Remember a tree that has a tuple for each leaf of some trees, and how many parts each tuple has."""
    counts = {len(one.items) if isinstance(one, TupleValue | Record) else 0 for one in parts}
    if len(counts) == 1 and (count := counts.pop()) > 1:
        it.mapped[_key(made)] = (count, (made, *trees))


def note_unzipped(it: Interpreter, targets: Sequence[ast.expr], value: Abstract, span: Span) -> None:
    """Note that a tree of tuples is unpacked into as many variables as each tuple has parts.

    Those of the variables are named that held one of the trees that the function was mapped over, as a whole.
    """
    if not isinstance(value, Leaf | Ref | TupleValue | Record) or not it.frame.module.audited:
        return
    count, (_, *trees) = it.mapped.get(_key(value), (0, (value,)))
    names = [one.id for one in targets if isinstance(one, ast.Name)]
    if count != len(targets) or len(names) != count:
        return
    keys = {_key(tree) for tree in trees}
    had = {name: it.frame.env.get(name) for name in names}
    written = tuple(name for name, old in had.items() if old is not None and _key(old) in keys)
    kind = "value" if isinstance(value, Leaf) else "tuple"
    kind = "dict" if isinstance(value, Ref) and isinstance(it.heap[value], DictBox) else kind
    attrs = {"kind": kind, "written": written, "guarded": bool(it.frame.guarded) or it.frame.is_conditional}
    it.emit("tree.unzipped", span, attrs=attrs, results=0)


def _key(value: Abstract) -> object:
    return value if isinstance(value, Leaf | Ref) else id(value)
