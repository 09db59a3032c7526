"""Lifted transformations of flax: `nn.scan` and `nn.vmap` of a module's class or of one of its methods.

The module itself is not an argument that is scanned or mapped, what comes after it is.
"""

from __future__ import annotations

from jaxaudit.frontends.source.interpret import control_flow, transforms
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.values.arguments import Arguments, known_items
from jaxaudit.frontends.source.values.callables import ClassValue, FunctionValue, Library, Transformed
from jaxaudit.frontends.source.values.model import Abstract, Const, Leaf, TupleValue
from jaxaudit.ir.record import replace
from jaxaudit.spans import Span

LIFTS = frozenset(("flax.linen.scan", "flax.linen.vmap"))
_OF_CLASSES = frozenset(("flax.linen.remat", "flax.linen.checkpoint"))
"""Those that leave a class what it was to its callers."""
_OF_MAPS = ("out_axes", "axis_size", "variable_axes", "split_rngs")
"""The options of a lifted map that say what differs from element to element, and where that goes."""
_BROADCAST = Library("flax.linen.broadcast")


def is_class(callee: Transformed) -> bool:
    """Whether a lifted transformation was given a class of a library."""
    named = isinstance(callee.function, Library) and callee.function.name.rpartition(".")[2][:1].isupper()
    return named and (callee.spelling in LIFTS or callee.spelling in _OF_CLASSES)


def is_mapped(made: Transformed) -> bool:
    """Whether a class is called for each element, as any function: `eqx.filter_vmap(Model)(keys)`."""
    return made.transform in ("vmap", "pmap") and made.spelling not in LIFTS


def lifted_class(cls: ClassValue, made: Transformed) -> ClassValue:
    """Return a class whose `__call__` runs under a lifted transformation."""
    methods = made.options.get("methods")
    member = cls.namespace.get("__call__")
    if made.spelling not in LIFTS or methods is not None or not isinstance(member, FunctionValue):
        return cls
    return replace(cls, namespace={**cls.namespace, "__call__": replace(made, function=member)})


def lifted_layer(it: Interpreter, callee: Transformed, given: Arguments, span: Span) -> Abstract:
    """Make a layer of a library's class that was lifted: `nn.vmap(nn.Dense, ...)(64)`. Its call is the lifted one."""
    made = it.call(callee.function, given, span)
    if callee.spelling in _OF_CLASSES or not isinstance(made, Leaf):
        return made
    return Leaf(made.value, made.cls, replace(callee, function=made))


def apply(it: Interpreter, callee: Transformed, given: Arguments, span: Span, *, bound: bool = True) -> Abstract | None:
    """Call a lifted method; None where it cannot be said what is scanned or mapped.

    Where it is `bound`, its first argument is the module.
    """
    receiver = given.positional[:1] if bound else ()
    rest = given.positional[len(receiver) :]
    if given.star is not None or given.stars is not None or given.keywords or not rest:
        return None
    if callee.spelling == "flax.linen.scan":
        return _scanned(it, callee, receiver, rest, span)
    axes = known_items(it, callee.options.get("in_axes", Const(0)))
    each = tuple(callee.options.get("in_axes", Const(0)) for _ in rest) if axes is None else axes
    in_axes = TupleValue((*(Const(None) for _ in receiver), *each))
    kept = {name: value for name, value in callee.options.items() if name in _OF_MAPS}
    options = {"out_axes": Const(0), **kept, "in_axes": in_axes}
    mapped = replace(callee, transform="vmap", options=options)
    return transforms.apply(it, mapped, given, span)


def _scanned(
    it: Interpreter, callee: Transformed, receiver: tuple[Abstract, ...], given: tuple[Abstract, ...], span: Span
) -> Abstract | None:
    carry, *xs = given
    axes = callee.options.get("in_axes", Const(0))
    each = known_items(it, axes) or tuple(axes for _ in xs)
    plain = all(axis == Const(0) or axis == _BROADCAST for axis in each) and len(each) == len(xs)
    if not plain or callee.options.get("out_axes", Const(0)) != Const(0):
        return None
    scanned = tuple(x for x, axis in zip(xs, each, strict=True) if axis != _BROADCAST)

    def call(inner: Abstract, items: Abstract) -> Arguments:
        taken = iter(known_items(it, items) or ())
        given = [x if axis == _BROADCAST else next(taken) for x, axis in zip(xs, each, strict=True)]
        return Arguments((*receiver, inner, *given))

    options = {name: callee.options.get(name) for name in ("length", "reverse")}
    return control_flow.run_scan(it, callee.function, carry, TupleValue(scanned), options, span, call)
