"""What tells two instances of a class apart: the fields that `__eq__` or `__hash__` read, and what those hold.

JAX uses compiled code again for a static argument that is equal to an earlier one and has the same hash.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from jaxaudit.frontends.source.classes.fields import annotated
from jaxaudit.frontends.source.classes.members import ancestry, constructor, find_in_class, has_unknown_base
from jaxaudit.frontends.source.values.callables import ClassValue, FunctionValue
from jaxaudit.ir.record import record
from jaxaudit.spans import Span, span_of

_SPOKEN = {"hash": "__hash__", "repr": "__repr__", "str": "__str__"}
"""Functions that call a method of what they are given."""
_OF_CLASS = frozenset("isinstance type".split())
_PARTIAL = frozenset("shape ndim dtype size __class__ __name__".split())
_AS_GIVEN = frozenset("float int str bool tuple asarray array".split())
"""Functions whose results tell what they were given."""


@record
class Equality:
    """The fields that tell instances of a class apart, and those in which equal ones may differ."""

    told: frozenset[str]
    confused: frozenset[str]
    places: tuple[Span, ...]
    """Where the class says so."""


class _OpenError(Exception):
    """Raised where what is compared cannot be told."""


@lru_cache(maxsize=1024)
def equality_of(cls: ClassValue) -> Equality | None:
    """Return what tells instances apart; None where nothing is equal but itself, or that cannot be told."""
    written = [found for name in ("__eq__", "__hash__") if (found := find_in_class(cls, name)) is not None]
    if has_unknown_base(cls) or cls.kind not in ("plain", "dataclass"):
        return None
    try:
        if find_in_class(cls, "__eq__") is not None:
            found = [pair for one in written for pair in _read_by(cls, one, frozenset())]
            told = frozenset(name for name, _ in found if name)
            places = tuple(dict.fromkeys(span for name, span in found if not name))
        else:
            left_out = dict(_not_compared(cls))
            told, places = frozenset(cls.fields) - set(left_out), tuple(left_out.values())
            if not left_out:
                return None
        return Equality(told, frozenset(_confused(cls, told)), places)
    except _OpenError:
        return None


def _read_by(cls: ClassValue, method: object, seen: frozenset[str]) -> Iterator[tuple[str, Span]]:
    """Return the attributes of its own object that a method reads as a whole, also by others that it calls.

    Without a name come the places of what the methods return.
    """
    if not isinstance(method, FunctionValue) or isinstance(method.node, ast.Lambda) or not method.node.args.args:
        raise _OpenError
    receiver, path = method.node.args.args[0].arg, method.module.path
    yield from (("", span_of(one, path)) for one in ast.walk(method.node) if isinstance(one, ast.Return))
    above = {child: node for node in ast.walk(method.node) for child in ast.iter_child_nodes(node)}
    for node in above:
        if not isinstance(node, ast.Name) or node.id != receiver:
            continue
        member = _member(node, above[node], above)
        found = None if member is None else find_in_class(cls, member)
        if member is not None and member not in cls.fields and found is not None and member not in seen:
            yield from _read_by(cls, found, seen | {member})
        elif member is not None and (found is None or member in cls.fields):
            if member.startswith("__"):
                raise _OpenError
            holder = above[node]
            if not _is_partial(holder, above.get(holder)):
                yield member, span_of(node, path)


def _member(node: ast.Name, holder: ast.AST, above: dict[ast.AST, ast.AST]) -> str | None:
    """Return the member that is read of an object where it is named; None where only its class or identity is."""
    match holder:
        case ast.Attribute(attr=name):
            return None if name == "__class__" else name
        case ast.Call(func=ast.Name(id=name)) if node in holder.args and name in _SPOKEN:
            return _SPOKEN[name]
        case ast.Call(func=ast.Name(id=name)) if name in _OF_CLASS:
            return None
        case ast.Compare(ops=[ast.Is() | ast.IsNot()]) if isinstance(above.get(holder), ast.If):
            return None
    raise _OpenError


def _is_partial(read: ast.AST, holder: ast.AST | None) -> bool:
    """Whether only a part of what an attribute holds is looked at, such as its shape."""
    match holder:
        case ast.Attribute(attr=name):
            return name in _PARTIAL
        case ast.Call(func=ast.Name(id="len" | "type")):
            return True
        case ast.Subscript(value=value, slice=ast.Constant()):
            return value is read
    return False


def _not_compared(cls: ClassValue) -> Iterator[tuple[str, Span]]:
    """Return the fields that a dataclass leaves out when it compares."""
    for owner in ancestry(cls):
        for name, field in annotated(owner.node) if owner.node is not None else ():
            words = field.value.keywords if isinstance(field.value, ast.Call) else ()
            if any(word.arg == "compare" and getattr(word.value, "value", None) is False for word in words):
                yield name, span_of(field, owner.frame.module.path)


def _confused(cls: ClassValue, told: frozenset[str]) -> Iterator[str]:
    """Return the fields that follow from a parameter of the constructor which no field that is compared holds."""
    init = constructor(cls)
    if init is None:
        yield from (name for name in cls.fields if name not in told)
        return
    if not isinstance(init, FunctionValue) or isinstance(init.node, ast.Lambda):
        raise _OpenError
    made_of, exact = _stored(init.node)
    held = {exact[name] for name in told if name in exact}
    partly = {param for name in told for param in made_of.get(name, ())} - held
    for name, params in made_of.items():
        if name not in told and (open_ := params - held) and not open_ <= partly:
            yield name


def _stored(init: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[dict[str, set[str]], dict[str, str]]:
    """Return the parameters that each attribute is made of, and those that attributes hold as they are given."""
    first, *rest = (*init.args.posonlyargs, *init.args.args, *init.args.kwonlyargs)
    receiver, known = first.arg, {one.arg: {one.arg} for one in rest}
    made_of: dict[str, set[str]] = {}
    exact: dict[str, str] = {}
    for node in ast.walk(init):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target, value in (pair for one in targets for pair in _pairs(one, node.value)):
            read = _parameters(value, receiver, known, made_of)
            match target:
                case ast.Attribute(value=ast.Name(id=base), attr=attr) if base == receiver:
                    made_of.setdefault(attr, set()).update(read)
                    if (param := _as_given(value)) in known and len(made_of[attr]) == 1:
                        exact[attr] = param
                case ast.Name(id=name):
                    known.setdefault(name, set()).update(read)
    return made_of, exact


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    match target, value:
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
            yield from zip(targets, values, strict=True)
        case ast.Tuple(elts=targets), _:
            yield from ((one, value) for one in targets)
        case _:
            yield target, value


def _parameters(value: ast.expr, receiver: str, known: dict[str, set[str]], made_of: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    for one in ast.walk(value):
        match one:
            case ast.Attribute(value=ast.Name(id=base), attr=attr) if base == receiver:
                found |= made_of.get(attr, set())
            case ast.Name(id=name):
                found |= known.get(name, set())
    return found


def _as_given(value: ast.expr) -> str:
    """Return the name whose value is kept as it is, or in a form that tells it."""
    match value:
        case ast.Name(id=name):
            return name
        case ast.Call(func=ast.Name(id=function) | ast.Attribute(attr=function), args=[ast.Name(id=name)]):
            return name if function in _AS_GIVEN else ""
    return ""
