"""Library functions: Python's own, transformations, and everything that has a row in the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxaudit.frontends.source import calls, control_flow, python_calls, transforms
from jaxaudit.frontends.source.api.lookup import canonical, lookup
from jaxaudit.frontends.source.api.rows import Row
from jaxaudit.frontends.source.arguments import Arguments
from jaxaudit.frontends.source.structure import argument, leaves
from jaxaudit.frontends.source.values import Abstract, Leaf, Library, TupleValue
from jaxaudit.ir import Argument
from jaxaudit.spans import Span

if TYPE_CHECKING:
    from jaxaudit.frontends.source.interpreter import Interpreter


def call(it: Interpreter, name: str, given: Arguments, span: Span) -> Abstract:
    """Call a library function by its qualified name."""
    name = canonical(name)
    for table in (python_calls.HANDLERS, control_flow.HANDLERS):
        handler = table.get(name)
        if handler is not None:
            made = handler(it, given, span)
            if made is not None:
                return made
    if name in transforms.WRAPPERS:
        return transforms.wrap(it, name, given, span)
    row = lookup(name)
    if row is not None:
        return emit_row(it, row, name, given, span)
    cls = name if name.rpartition(".")[2][:1].isupper() else ""
    reason = f"{name} is not modelled"
    return calls.unknown_call(it, Library(name), given, reason, span, name, cls)


def row_of(name: str) -> Row | None:
    """Give the row of a library name."""
    return lookup(name)


def emit_row(it: Interpreter, row: Row, name: str, given: Arguments, span: Span) -> Abstract:
    """Emit the op of a table row."""
    arguments = bind_row(it, row, given, span)
    if row.op == "key.stream" and not any(True for value in arguments.values() if value is not None):
        arguments = {}
    # The distributions' and layers' own operands matter to the analyses as much as the key does.
    op = it.emit(row.op, span, arguments, {"function": name, **row.attrs})
    return _result(it, op.result, row, span)


def _result(it: Interpreter, value: object, row: Row, span: Span) -> Abstract:
    if "," in row.result:
        classes = row.result.split(",")
        unpacked = it.emit("py.unpack", span, {"base": value}, {"count": len(classes), "star": None}, results=len(classes))
        return TupleValue(tuple(Leaf(part, cls) for part, cls in zip(unpacked.results, classes, strict=True)))
    return Leaf(value, row.result)  # type: ignore[arg-type]


def bind_row(it: Interpreter, row: Row, given: Arguments, span: Span) -> dict[str, Argument]:
    """Bind a call's arguments to the parameter names of a row; the key is always called `key`."""
    bound: dict[str, Argument] = {}
    params = row.params
    for position, value in enumerate(given.positional):
        name = params[position] if position < len(params) else ""
        if name.startswith("*"):
            rest = given.positional[position:]
            bound[name[1:]] = tuple(argument(it, part, span) for part in rest)
            break
        bound[_role(row, name or f"extra{position}")] = argument(it, value, span)
    for name, value in given.keywords.items():
        bound[_role(row, name)] = argument(it, value, span)
    for name, value in (("*", given.star), ("**", given.stars)):
        if value is not None:
            bound[name] = tuple(leaves(it, value))
    return bound


def _role(row: Row, name: str) -> str:
    return "key" if name == row.key else name


def call_method(it: Interpreter, receiver: Leaf, cls: str, name: str, given: Arguments, span: Span) -> Abstract:
    """Call a method of a library object whose class is known."""
    qualified = f"{cls}.{name}"
    row = lookup(qualified)
    if row is None:
        reason = f"{qualified} is not modelled"
        return calls.unknown_call(it, receiver, given, reason, span, qualified)
    if cls == "array.at":
        return _update(it, row, receiver, name, given, span)
    arguments = {"self": receiver.value, **bind_row(it, row, given, span)}
    op = it.emit(row.op, span, arguments, {"function": qualified, **row.attrs})
    return _result(it, op.result, row, span)


def _update(it: Interpreter, row: Row, receiver: Leaf, name: str, given: Arguments, span: Span) -> Abstract:
    """Emit `x.at[i].set(v)` with its base and index."""
    place = it.updates.get(receiver.value, {})
    arguments = {**place, **bind_row(it, row, given, span)}
    return Leaf(it.emit(row.op, span, arguments, {"function": name, **row.attrs}).result)
