"""Names of the axes of parameters: from annotations, `Float[Array, "batch time"]`, from comments and docstrings."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from jaxaudit.frontends.source.shape_notes import in_comment, in_docstring
from jaxaudit.frontends.source.values import Abstract, FunctionValue, Leaf
from jaxaudit.ir import Declared
from jaxaudit.spans import span_of

if TYPE_CHECKING:
    from jaxaudit.frontends.source.interpreter import Interpreter

_DTYPES = frozenset(
    """Shaped Bool Key Num Inexact Float Complex Integer Int UInt Real BFloat16 Float16 Float32 Float64 Int8 Int16
    Int32 Int64 UInt8 UInt16 UInt32 UInt64 Complex64 Complex128""".split()
)
"""The classes of jaxtyping that take a shape."""


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
    names = None if param.annotation is None else axis_names(param.annotation)
    if names:
        return Declared(names, f"{path}:{function.name}:axes", "annotation", span_of(param, path))
    comment = it.project.comments_in(function.module).get(param.end_lineno or param.lineno)
    told = None if comment is None or not _stands_alone(function.node, param) else in_comment(comment)
    if told is not None and told[0] in ("", param.arg):
        return Declared(told[1], f"{path}:notes", "comment", span_of(param, path))
    said = in_docstring(function.node).get(param.arg) if not isinstance(function.node, ast.Lambda) else None
    return None if said is None else Declared(said, f"{path}:notes", "docstring", span_of(param, path))


def _stands_alone(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, param: ast.arg) -> bool:
    """Tell whether a comment on the line of a parameter can speak of no other one."""
    params = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    return [one for one in params if one.lineno == param.lineno] == [param]


@lru_cache(maxsize=4096)
def axis_names(annotation: ast.expr) -> tuple[str, ...] | None:
    """Give the names in a jaxtyping annotation, empty for an axis without one; None where the rank is not told."""
    match annotation:
        case ast.Subscript(
            value=ast.Name(id=dtype) | ast.Attribute(attr=dtype),
            slice=ast.Tuple(elts=[_, ast.Constant(value=str(text))]),
        ) if dtype in _DTYPES:
            words = text.split()
            if any(word == "..." or word[0] in "*#?" for word in words):
                return None
            return tuple(word if word.isidentifier() and word != "_" else "" for word in words)
    return None
