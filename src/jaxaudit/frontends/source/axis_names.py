"""Axis names in annotations: `Float[Array, "batch time hidden"]` says what each axis of a parameter is."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from jaxaudit.frontends.source.values import Abstract, FunctionValue, Leaf
from jaxaudit.ir import Declared

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
        names = None if param.annotation is None else axis_names(param.annotation)
        if names and isinstance(value, Leaf):
            it.declared[value.value] = Declared(names, f"{function.module.path}:{function.name}:axes")


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
