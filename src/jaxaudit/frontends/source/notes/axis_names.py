"""Names of axes: in annotations of parameters, results and fields, `Float[Array, "batch time"]`, and in notes."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import lru_cache

from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.modules import Module
from jaxaudit.frontends.source.notes.shape_notes import in_comment, in_docstring
from jaxaudit.frontends.source.values.annotations import resolve
from jaxaudit.frontends.source.values.callables import ClassValue, FunctionValue, Library, PartialValue
from jaxaudit.frontends.source.values.model import Abstract, Const, Leaf, TupleValue
from jaxaudit.ir import REST, Declared, Value
from jaxaudit.ir.basis import Basis
from jaxaudit.spans import span_of

_DTYPES = frozenset(
    """Shaped Bool Key Num Inexact Float Complex Integer Int UInt Real BFloat16 Float16 Float32 Float64 Int8 Int16
    Int32 Int64 UInt8 UInt16 UInt32 UInt64 Complex64 Complex128""".split()
)
"""The classes of jaxtyping that take a shape."""
_CHECKERS = frozenset(("jaxtyped", "beartype", "typechecked"))
"""Decorators that compare arguments with their annotations when a function is called."""


def declare_axes(it: Interpreter, function: FunctionValue, bound: Mapping[str, Abstract]) -> None:
    """Note the names that the annotations of a function give the axes of its parameters."""
    params = function.node.args
    for param in (*params.posonlyargs, *params.args, *params.kwonlyargs):
        value = bound.get(param.arg)
        told = _told(it, function, param) if isinstance(value, Leaf) else None
        if told is not None and isinstance(value, Leaf):
            it.declared[value.value] = told


def _told(it: Interpreter, function: FunctionValue, param: ast.arg) -> Declared | None:
    path = function.module.path
    names = None if param.annotation is None else names_in(param.annotation, function.module)
    if names is None and _is_number(function, param):
        names = ()
    if names is not None:
        scope = f"{path}:{function.name}:axes"
        return Declared(names, scope, "annotation", span_of(param, path), _basis(function.node))
    comment = it.project.comments_in(function.module).get(param.end_lineno or param.lineno)
    told = None if comment is None or not _stands_alone(function.node, param) else in_comment(comment)
    if told is not None and told[0] in ("", param.arg):
        return Declared(told[1], f"{path}:notes", "comment", span_of(param, path))
    said = in_docstring(function.node).get(param.arg) if not isinstance(function.node, ast.Lambda) else None
    return None if said is None else Declared(said, f"{path}:notes", "docstring", span_of(param, path))


def _is_number(function: FunctionValue, param: ast.arg) -> bool:
    """Whether a parameter is said to be a number and starts as one: `decay: float = 0.9`."""
    said = isinstance(param.annotation, ast.Name) and param.annotation.id == "float"
    default = function.defaults.get(param.arg) if said else None
    return isinstance(default, Const) and isinstance(default.value, int | float)


def _stands_alone(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, param: ast.arg) -> bool:
    """Whether a comment on the line of a parameter can speak of no other one."""
    params = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    return [one for one in params if one.lineno == param.lineno] == [param]


def declare_result(it: Interpreter, function: FunctionValue, result: Abstract) -> None:
    """Note the names that the annotation of what a function returns gives to axes."""
    node = function.node
    if isinstance(node, ast.Lambda) or node.returns is None:
        return
    parts, results = (node.returns,), (result,)
    if isinstance(result, TupleValue):
        parts, results = _in_tuple(node.returns), result.items
    for annotation, value in zip(parts, results, strict=False):
        names = names_in(annotation, function.module) if len(parts) == len(results) else None
        if names is not None and isinstance(value, Leaf):
            where = span_of(node.returns, function.module.path)
            # Whatever a result is said to be, subclasses give others; only a checked annotation can be relied on.
            basis = _basis(node)
            source = "annotation" if basis is Basis.DECLARED else "return annotation"
            told = Declared(names, f"{function.module.path}:{function.name}:axes", source, where, basis)
            it.declared.setdefault(value.value, told)


def _basis(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef | None) -> Basis:
    """Return what annotations rest on: a decorator that compares them with the arguments each time, or nothing."""
    decorators = () if node is None or isinstance(node, ast.Lambda) else node.decorator_list
    named = (one.func if isinstance(one, ast.Call) else one for one in decorators)
    names = [ast.unparse(one).rpartition(".")[2] for one in named if isinstance(one, ast.Name | ast.Attribute)]
    return Basis.SAID if _CHECKERS.isdisjoint(names) else Basis.DECLARED


def declare_field(it: Interpreter, cls: ClassValue, annotation: ast.expr, value: Value, module: Module) -> None:
    """Note the names that the annotation of a field gives the axes of what it holds."""
    names = names_in(annotation, module)
    if names is not None:
        scope = f"{module.path}:{cls.name}:axes"
        it.declared[value] = Declared(names, scope, "annotation", span_of(annotation, module.path), _basis(cls.node))


def _in_tuple(annotation: ast.expr) -> tuple[ast.expr, ...]:
    match annotation:
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=ast.Tuple(elts=parts)):
            return tuple(parts) if name in ("tuple", "Tuple") else ()
    return ()


def names_in(annotation: ast.expr, module: Module) -> tuple[str, ...] | None:
    """Return the names in an annotation, through aliases and where `None` is allowed as well."""
    match annotation:
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return names_in(left, module)
        case ast.Subscript(value=ast.Name(id="Optional") | ast.Attribute(attr="Optional"), slice=inner):
            return names_in(inner, module)
        case ast.Name() | ast.Attribute() | ast.Constant():
            named = resolve(annotation, module)
            if isinstance(named, PartialValue) and isinstance(named.function, Library) and len(named.args) == 2:
                text = named.args[1]
                known = named.function.name.rpartition(".")[2] in _DTYPES
                return _names(text.value) if known and isinstance(text, Const) and isinstance(text.value, str) else None
            return None
    return axis_names(annotation)


@lru_cache(maxsize=4096)
def axis_names(annotation: ast.expr) -> tuple[str, ...] | None:
    """Return the names in a jaxtyping annotation; None where it is none."""
    match annotation:
        case ast.Subscript(
            value=ast.Name(id=dtype) | ast.Attribute(attr=dtype),
            slice=ast.Tuple(elts=[_, ast.Constant(value=str(text))]),
        ) if dtype in _DTYPES:
            return _names(text)
    return None


def _names(text: str) -> tuple[str, ...] | None:
    """Return one entry for each axis: its name, its size, empty where it has neither, `...` for any number of axes."""
    found = tuple(_entry(word) for word in text.split())
    return None if found.count(REST) > 1 else found


def _entry(word: str) -> str:
    if word == REST or word.startswith("*"):
        return REST
    if word.startswith(("#", "?", "_")):
        # Such an axis may have size one, another size each time, or no name on purpose.
        return ""
    name = word.rpartition("=")[2]
    return name if name.isidentifier() or name.isdigit() else ""
