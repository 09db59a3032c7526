"""Signatures: what two calls must have in common to share one body."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field

from jaxaudit.frontends.source.values.callables import (
    Attribute,
    BoundMethod,
    ClassValue,
    FunctionValue,
    Library,
    ModuleValue,
    PartialValue,
    Transformed,
)
from jaxaudit.frontends.source.values.model import (
    Abstract,
    Const,
    Leaf,
    Range,
    Record,
    Ref,
    Sequence,
    Slice,
    TupleValue,
)
from jaxaudit.ir import Region, Size
from jaxaudit.ir.record import record


@record
class SharedBody:
    """The body of a closed function for arguments of one signature."""

    region: Region
    result: Abstract
    attrs: Mapping[str, object]


@dataclass(slots=True)
class BodyCache:
    """Bodies by function and signature."""

    bodies: dict[tuple[ast.AST, Hashable], SharedBody] = field(default_factory=dict)
    counts: dict[ast.AST, int] = field(default_factory=dict)
    unshareable: set[ast.AST] = field(default_factory=set)


def _never(ref: Ref) -> bool:
    return False


def signature(value: Abstract, box: Callable[[Ref], bool] = _never) -> Hashable | None:
    """Return what matters about a value to a body that is shared; None when the body must be this call's own.

    `box` says whether a container in the heap may be part of it.
    """
    match value:
        case Leaf(options=parts) if parts:
            return _all("one of", parts, box)
        case Leaf(cls=cls, holds=None, array=array):
            return ("leaf", cls, array)
        case Leaf(cls=cls, holds=held) if held is not None:
            return _all(("holder", cls), (held,), box)
        case Const(value=Size() as size):
            return ("constant", "int", repr(size), size.name, size.scope, tuple(one.name for one in size.of))
        case Const(value=constant):
            return ("constant", type(constant).__name__, repr(constant))
        case Library(name=name):
            return ("library", name)
        case TupleValue(items=items):
            return _all("tuple", items, box)
        case Record(cls=cls, items=items):
            return _all(("record", id(cls)), items, box)
        case Sequence(item=item, kind=kind):
            return _all(f"sequence {kind}", (item,), box)
        case Slice(start=start, stop=stop, step=step) | Range(start=start, stop=stop, step=step):
            return _all(type(value).__name__, (start, stop, step), box)
        case FunctionValue(node=node) if closed(value):
            return ("function", id(node))
        case ClassValue(node=node):
            return ("class", id(node))
        case ModuleValue(module=module):
            return ("module", module.name)
        case Transformed(transform=transform, function=function, options=options):
            return _all(("transformed", transform, tuple(options)), (function, *options.values()), box)
        case PartialValue(function=function, args=args, kwargs=kwargs):
            return _all(("partial", tuple(kwargs), len(args)), (function, *args, *kwargs.values()), box)
        case Attribute(receiver=Leaf() as receiver, name=name):
            return _all(("attribute", name), (receiver,), box)
        case Ref():
            return ("box", value.id) if box(value) else None
        case BoundMethod():
            return None
        case _:
            return None


def _all(tag: Hashable, parts: tuple[Abstract, ...], box: Callable[[Ref], bool]) -> Hashable | None:
    signatures = [signature(part, box) for part in parts]
    return None if None in signatures else (tag, *signatures)


def closed(function: FunctionValue) -> bool:
    """Whether a function sees only its own parameters and its module: no enclosing function, no receiver."""
    scope = function.frame
    while scope.kind == "class" and scope.parent is not None:
        scope = scope.parent
    return scope.kind == "module"
