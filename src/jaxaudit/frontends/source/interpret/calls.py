"""Calls: from the syntax of a call to whoever knows what the callee does."""

from __future__ import annotations

import ast

from jaxaudit.frontends.source.classes import definitions as classes
from jaxaudit.frontends.source.classes.members import find_in_class, library_bases
from jaxaudit.frontends.source.interpret import (
    attributes,
    choices,
    expressions,
    functions,
    library,
    methods,
    transforms,
)
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.notes import bindings, iterators, misfits
from jaxaudit.frontends.source.values.arguments import Arguments, evaluate_arguments, unfolded
from jaxaudit.frontends.source.values.callables import (
    Attribute,
    BoundMethod,
    ClassValue,
    FunctionValue,
    Library,
    PartialValue,
    Super,
    Transformed,
)
from jaxaudit.frontends.source.values.heap import ObjectBox
from jaxaudit.frontends.source.values.model import Abstract, Leaf, Ref
from jaxaudit.frontends.source.values.questions import is_asked
from jaxaudit.frontends.source.values.structure import leaves
from jaxaudit.ir.functions import EXHAUSTING
from jaxaudit.libraries.transformations import WRAPPERS
from jaxaudit.spans import Span


def call_expression(it: Interpreter, node: ast.Call) -> Abstract:
    """Evaluate a call."""
    if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
        found = _super(it)
        if found is not None:
            return found
    callee = it.evaluate(node.func)
    given = evaluate_arguments(it, node, at_once=isinstance(callee, Library) and callee.name in EXHAUSTING)
    if isinstance(callee, Library) and callee.name == "builtins.next" and node.args:
        if isinstance(asked := node.args[0], ast.Name):
            expressions.note_asked(it, asked.id, it.span(asked))
    bindings.note_passed(it, node, callee, given)
    if isinstance(callee, ClassValue) or (isinstance(callee, Attribute) and isinstance(callee.receiver, ClassValue)):
        if len(given.positional) == len(node.args):
            words = ((one.value, given.keywords[one.arg]) for one in node.keywords if one.arg in given.keywords)
            bindings.note_again(it, (*zip(node.args, given.positional, strict=True), *words))
    span = it.span(node)
    if isinstance(callee, Library) and callee.name in WRAPPERS:
        it.written[span] = {one.arg: it.span(one.value) for one in node.keywords if one.arg is not None}
    # What `**` brings may hang together with the conditions around the call, as does what one of them asks about.
    doubtful = None in [keyword.arg for keyword in node.keywords] or is_asked(it, callee)
    it.frame.guarded += doubtful
    refused = misfits.note_call(it, callee, given, span) and not it.frame.guarded
    it.frame.guarded -= doubtful
    if refused:
        # The body never runs so: what its parameters would hold is nobody's mistake.
        return unknown_call(it, callee, given, "it does not take these arguments", span)
    if node is it.handed_on:
        return transforms.hand_on(it, callee, given, span)
    return iterators.called(it, callee, given, call(it, callee, given, span), span)


def _super(it: Interpreter) -> Abstract | None:
    scope = it.frame
    while scope is not None:
        function = scope.function
        if function is not None and function.owner is not None:
            params = function.node.args
            first = next((param.arg for param in (*params.posonlyargs, *params.args)), None)
            receiver = scope.env.get(first) if first is not None else None
            return None if receiver is None else Super(function.owner, receiver)
        scope = scope.parent  # type: ignore[assignment]
    return None


def call(it: Interpreter, callee: Abstract, given: Arguments, span: Span) -> Abstract:
    """Call an abstract value with abstract arguments."""
    match callee:
        case FunctionValue():
            return functions.call_function(it, callee, given, span)
        case Library():
            return library.call(it, callee.name, given, span)
        case Attribute():
            return methods.call(it, callee.receiver, callee.name, given, span)
        case BoundMethod() | PartialValue():
            return call(it, *unfolded(callee, given), span)
        case Transformed():
            return transforms.apply(it, callee, given, span)
        case ClassValue():
            return classes.construct(it, callee, given, span)
        case Ref() if isinstance(box := it.heap[callee], ObjectBox):
            return _call_object(it, callee, box, given, span)
        case Leaf(options=options) if options:
            return choices.called(it, callee, given, span)
        case Leaf(cls=cls) if cls and cls != "builtins.function":
            return library.call_method(it, callee, cls, "__call__", given, span)
        case _:
            return unknown_call(it, callee, given, "the callee is not known", span)


def _call_object(it: Interpreter, callee: Ref, box: ObjectBox, given: Arguments, span: Span) -> Abstract:
    method = find_in_class(box.cls, "__call__")
    if isinstance(method, FunctionValue):
        return functions.call_function(it, method, given.prepended(callee), span)
    if isinstance(method, Transformed):
        return transforms.apply(it, method, given.prepended(callee), span)
    for base in library_bases(box.cls):
        found = library.row_of(f"{base}.__call__")
        if found is not None:
            return library.emit_row(it, found, f"{base}.__call__", given, span, held=leaves(it, callee))
    return unknown_call(it, callee, given, f"what calling a {box.cls.name} does is not known", span)


def unknown_call(
    it: Interpreter, callee: Abstract, given: Arguments, reason: str, span: Span, name: str = "", cls: str = ""
) -> Leaf:
    """Emit a call that cannot be followed; the objects it was given may have changed."""
    values = [callee, *given.all()]
    operands = tuple(dict.fromkeys(leaf for value in values for leaf in leaves(it, value)))
    for value in operands:
        if it.loaded:
            attributes.forget(it, value)
    for value in values:
        _forget_object(it, value)
    attrs: dict[str, object] = {"callee": name or _callee_name(callee), "reason": reason}
    if name.startswith(".") and isinstance(callee, Leaf):
        # The first operand is what the method belongs to; that of a class or module is none.
        attrs["method"] = True
    if str(attrs["callee"]).startswith("."):
        attrs |= by_position(it, callee, given)
    return Leaf(it.emit("py.call_unknown", span, attrs=attrs, operands=operands).result, cls)


def by_position(it: Interpreter, receiver: Abstract, given: Arguments) -> dict[str, object]:
    """Return what each positional argument of a method holds, where its operands do not tell."""
    placed = [leaves(it, value) for value in given.positional]
    found = [leaf for held in (leaves(it, receiver), *placed) for leaf in held]
    told = len(found) == len(set(found)) == len(placed) + 1 and all(len(held) == 1 for held in placed)
    return {} if told or given.star is not None else {"placed": tuple(map(tuple, placed))}


def _forget_object(it: Interpreter, value: Abstract) -> None:
    if isinstance(value, Attribute):
        value = value.receiver
    if not isinstance(value, Ref):
        return
    it.handed.add(value.id)
    box = it.heap[value]
    if isinstance(box, ObjectBox) and box.value is not None and not box.cls.frozen and box.attrs:
        it.heap[value] = ObjectBox(box.cls, {}, box.value)


def _callee_name(callee: Abstract) -> str:
    match callee:
        case Attribute(name=name):
            return f".{name}"
        case Leaf(value=value):
            return value.name
        case _:
            return ""


HANDLERS = {ast.Call: call_expression}
