"""Decorators: those of Python that change what a function is, and all others as plain calls."""

from __future__ import annotations

import ast

from jaxaudit.frontends.source.classes.members import setter_of
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.values.arguments import Arguments
from jaxaudit.frontends.source.values.callables import (
    Attribute,
    FunctionValue,
    Library,
    PartialValue,
    Transformed,
    made_static,
)
from jaxaudit.frontends.source.values.model import Abstract
from jaxaudit.ir.record import replace
from jaxaudit.libraries.lookup import canonical

_KINDS = {
    "builtins.property": "property",
    "functools.cached_property": "cached property",
    "builtins.staticmethod": "static",
    "builtins.classmethod": "class",
    "functools.lru_cache": "cached",
    "functools.cache": "cached",
}
_ON_CLASSES = ("__init_subclass__", "__class_getitem__")
"""Methods that Python gives the class without being told."""
_TRANSPARENT = frozenset(
    """abc.abstractmethod typing.overload typing.final typing.override typing.no_type_check typing.runtime_checkable
    typing.dataclass_transform typing_extensions.dataclass_transform
    typing_extensions.override typing_extensions.deprecated warnings.deprecated functools.wraps
    flax.linen.compact flax.linen.nowrap flax.linen.module.compact flax.nnx.compact haiku.transparent haiku.name_like
    jaxtyping.jaxtyped jaxtyping.typecheck beartype.beartype typeguard.typechecked
    chex.assert_max_traces equinox.debug.assert_max_traces jax.named_call jax.named_scope jax.profiler.annotate_function
    jax.default_matmul_precision jax.util.wraps""".split()
)


def apply(it: Interpreter, function: FunctionValue, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Abstract:
    """Apply the decorators of a function, from the inside out."""
    on_class = it.frame.kind == "class" and function.name in _ON_CLASSES
    value: Abstract = replace(function, kind="class") if on_class else function
    for decorator in reversed(node.decorator_list):
        value = _apply_one(it, value, it.evaluate(decorator), it.span(decorator), decorator)
    return value


def _apply_one(it: Interpreter, value: Abstract, decorator: Abstract, span: object, node: ast.expr) -> Abstract:
    name = decorator_name(it, decorator, node)
    if isinstance(value, FunctionValue) and name in _KINDS:
        return replace(value, kind=_KINDS[name])
    if isinstance(value, Transformed) and name == "builtins.staticmethod":
        return made_static(value)
    if name in _TRANSPARENT:
        return value
    if isinstance(decorator, Attribute) and decorator.name in ("setter", "deleter", "getter"):
        if decorator.name == "setter" and isinstance(value, FunctionValue):
            it.frame.env[setter_of(value.name)] = value
        return decorator.receiver
    return it.call(decorator, Arguments((value,)), span)  # type: ignore[arg-type]


def decorator_name(it: Interpreter, decorator: Abstract, node: ast.expr) -> str:
    """Return the qualified name of a decorator, with or without a call around it; empty where it has none."""
    if isinstance(decorator, Library):
        return canonical(decorator.name)
    if isinstance(decorator, PartialValue) and isinstance(decorator.function, Library):
        return canonical(decorator.function.name)
    if isinstance(node, ast.Call):
        return decorator_name(it, it.evaluate(node.func), node.func)
    if isinstance(decorator, FunctionValue) and decorator.frame is decorator.module.frame:
        # A library that is itself what is read names its decorators as it does elsewhere.
        return canonical(f"{decorator.module.name}.{decorator.name}")
    return ""
