"""Lifted transformations of flax: `nn.scan` and `nn.vmap` of a module's class or of one of its methods.

The module itself is not an argument that is scanned or mapped, what comes after it is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jaxaudit.frontends.source import control_flow, transforms
from jaxaudit.frontends.source.arguments import Arguments, known_items
from jaxaudit.frontends.source.values import (
    Abstract,
    ClassValue,
    Const,
    FunctionValue,
    Library,
    Transformed,
    TupleValue,
)
from jaxaudit.spans import Span

if TYPE_CHECKING:
    from jaxaudit.frontends.source.interpreter import Interpreter

LIFTS = frozenset(("flax.linen.scan", "flax.linen.vmap"))
_BROADCAST = Library("flax.linen.broadcast")


def lifted_class(cls: ClassValue, made: Transformed) -> ClassValue:
    """Give a class whose `__call__` runs under a lifted transformation."""
    methods = made.options.get("methods")
    member = cls.namespace.get("__call__")
    if made.spelling not in LIFTS or methods is not None or not isinstance(member, FunctionValue):
        return cls
    return replace(cls, namespace={**cls.namespace, "__call__": replace(made, function=member)})


def apply(it: Interpreter, callee: Transformed, given: Arguments, span: Span) -> Abstract | None:
    """Call a lifted method; None where it cannot be said what is scanned or mapped."""
    if given.star is not None or given.stars is not None or given.keywords or len(given.positional) < 2:
        return None
    if callee.spelling == "flax.linen.scan":
        return _scanned(it, callee, given, span)
    axes = known_items(it, callee.options.get("in_axes", Const(0)))
    in_axes = callee.options.get("in_axes", Const(0)) if axes is None else TupleValue((Const(None), *axes))
    if axes is None:
        in_axes = TupleValue((Const(None), *(in_axes for _ in given.positional[1:])))
    out_axes = callee.options.get("out_axes", Const(0))
    mapped = replace(callee, transform="vmap", options={"in_axes": in_axes, "out_axes": out_axes})
    return transforms.apply(it, mapped, given, span)


def _scanned(it: Interpreter, callee: Transformed, given: Arguments, span: Span) -> Abstract | None:
    receiver, carry, *xs = given.positional
    axes = callee.options.get("in_axes", Const(0))
    each = known_items(it, axes) or tuple(axes for _ in xs)
    plain = all(axis == Const(0) or axis == _BROADCAST for axis in each) and len(each) == len(xs)
    if not plain or callee.options.get("out_axes", Const(0)) != Const(0):
        return None
    scanned = tuple(x for x, axis in zip(xs, each, strict=True) if axis != _BROADCAST)

    def call(inner: Abstract, items: Abstract) -> Arguments:
        taken = iter(known_items(it, items) or ())
        given = [x if axis == _BROADCAST else next(taken) for x, axis in zip(xs, each, strict=True)]
        return Arguments((receiver, inner, *given))

    options = {name: callee.options.get(name) for name in ("length", "reverse", "unroll")}
    return control_flow.run_scan(it, callee.function, carry, TupleValue(scanned), options, span, call)
