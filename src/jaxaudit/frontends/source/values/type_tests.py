"""What tests say of values: `isinstance` and its kin, and `x is None` where it holds."""

from __future__ import annotations

import ast
import builtins
import collections.abc
import numbers
import typing
from functools import lru_cache

from jaxaudit.frontends.source.classes.members import ancestry, find_in_class, has_unknown_base, library_bases
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.values.arguments import Arguments, known_items
from jaxaudit.frontends.source.values.callables import (
    BoundMethod,
    ClassValue,
    FunctionValue,
    Library,
    PartialValue,
    Transformed,
)
from jaxaudit.frontends.source.values.heap import DictBox, ListBox, ObjectBox
from jaxaudit.frontends.source.values.model import NONE, Abstract, Const, Leaf, Record, Ref, Sequence, TupleValue
from jaxaudit.frontends.source.values.structure import argument, materialise
from jaxaudit.ir.record import replace
from jaxaudit.libraries.classes import bases
from jaxaudit.spans import Span

_STANDARD = {module.__name__: module for module in (builtins, collections.abc, numbers, typing)}
_ARRAYS = frozenset(
    "jax.Array jax.numpy.ndarray numpy.ndarray chex.Array jax.core.Tracer jax.typing.ArrayLike numpy.generic".split()
)
"""Classes that no plain value of Python is an instance of."""
_CONTAINERS = frozenset(f"builtins.{name}" for name in "tuple list dict set str bytes".split())
"""Classes that no array is an instance of."""
_NO_SCALARS = (tuple, list, dict, type(None))
_NOMINAL = bases("neutral") - bases("structural")
"""Bases that make nothing an instance that is none of a subclass."""


def is_instance(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Interpret `isinstance(value, classes)`."""
    if len(given.positional) != 2:
        return None
    value, classes = given.positional
    answers = [_one(it, value, cls) for cls in known_items(it, classes) or (classes,)]
    if True in answers:
        return Const(True)
    if None not in answers:
        return Const(False)
    arguments = {"x": materialise(it, value, span), "y": argument(it, classes, span)}
    return Leaf(it.emit("py.operator", span, arguments, {"operator": "isinstance"}).result)


def _one(it: Interpreter, value: Abstract, cls: Abstract) -> bool | None:
    if isinstance(cls, Library):
        if isinstance(value, Leaf) and value.array:
            return False if cls.name in _CONTAINERS else None
        plain = _plain_type(it, value)
        return None if plain is None else _is_kind(plain, cls.name)
    return _is_object(it, value, cls) if isinstance(cls, ClassValue) else None


def _plain_type(it: Interpreter, value: Abstract) -> type | None:
    """Return the built-in type of a value; None where it is not one of Python's own."""
    match value:
        case Const(value=constant):
            return type(constant)
        case TupleValue() | Record() | Sequence(lazy=False, kind="tuple") | Leaf(cls="builtins.tuple"):
            return tuple
        case FunctionValue():
            return type(is_instance)
        case ClassValue():
            return type
        case Ref() if isinstance(box := it.heap[value], ListBox | DictBox):
            return dict if isinstance(box, DictBox) else list if box.kind == "list" else None
        case _:
            return None


def _is_kind(plain: type, name: str) -> bool | None:
    asked = _standard(name)
    if asked is not None:
        return issubclass(plain, asked)
    return False if name in _ARRAYS else None


@lru_cache(maxsize=1024)
def _standard(name: str) -> type | None:
    """Return a class of Python's own by its name, `tuple` for `typing.Tuple`; None for any other."""
    module, _, last = name.rpartition(".")
    found = getattr(_STANDARD.get(module), last, None)
    found = typing.get_origin(found) or found
    return found if isinstance(found, type) and found not in (typing.Any, typing.Protocol) else None


def _is_object(it: Interpreter, value: Abstract, cls: ClassValue) -> bool | None:
    """Compare an instance of the audited code with a class of it."""
    if isinstance(value, Record):
        return True if cls in ancestry(value.cls) else None if value.derived else False
    if isinstance(value, Ref) and isinstance(box := it.heap[value], ObjectBox):
        if any(one is cls for one in ancestry(box.cls)):
            return True
        # An object whose class is only what an annotation says may be an instance of a subclass.
        known = box.value is None and not has_unknown_base(box.cls) and _NOMINAL.issuperset(library_bases(box.cls))
        return False if known and _NOMINAL.issuperset(library_bases(cls)) and not has_unknown_base(cls) else None
    foreign = _plain_type(it, value) is not None or (isinstance(value, Leaf) and value.array)
    nominal = _NOMINAL.issuperset(library_bases(cls)) and not has_unknown_base(cls)
    return False if foreign and nominal and cls.kind != "enum" else None


def has_attribute(it: Interpreter, value: Abstract | None, name: str) -> bool | None:
    """Whether a value has an attribute, where that is known: of Python's own containers and constants all are."""
    if isinstance(value, Record):
        return True if name in value.cls.fields or find_in_class(value.cls, name) is not None else None
    if isinstance(value, Ref) and isinstance(box := it.heap[value], ObjectBox):
        return True if name in box.attrs or find_in_class(box.cls, name) is not None else None
    plain = None if isinstance(value, FunctionValue | ClassValue | None) else _plain_type(it, value)
    return None if plain is None else hasattr(plain, name)


def type_of(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Interpret `type(value)` of Python's own constants and containers."""
    value = given.positional[0] if len(given.positional) == 1 else None
    plain = None if value is None or isinstance(value, Record) else _plain_type(it, value)
    return None if plain is None or plain.__module__ != "builtins" else Library(f"builtins.{plain.__name__}")


def is_scalar(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Interpret `jnp.isscalar(value)`: a number of Python's is one, a container is none."""
    value = given.get(0, "element")
    plain = None if value is None else _plain_type(it, value)
    if plain is None:
        return None
    return Const(True) if issubclass(plain, numbers.Number) else Const(False) if plain in _NO_SCALARS else None


def is_callable(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Interpret `callable(value)`."""
    value = given.positional[0] if len(given.positional) == 1 else None
    if isinstance(value, FunctionValue | ClassValue | BoundMethod | PartialValue | Transformed):
        return Const(True)
    return None if value is None or _plain_type(it, value) is None else Const(False)


def is_dataclass(it: Interpreter, given: Arguments, span: Span) -> Abstract | None:
    """Interpret `dataclasses.is_dataclass(value)`."""
    value = given.get(0, "obj")
    if isinstance(value, Ref) and isinstance(box := it.heap[value], ObjectBox):
        value = box.cls
    if not isinstance(value, ClassValue):
        return None if isinstance(value, Leaf) or value is None else Const(False)
    known = not has_unknown_base(value) and not any(library_bases(value)) and "" not in value.decorators
    return Const(True) if value.kind == "dataclass" else Const(False) if known else None


def narrowed(it: Interpreter, test: ast.expr, *, holds: bool) -> dict[str, Abstract]:
    """Return what a condition says of variables where it holds, or where it does not.

    They are None, or are not; or they are instances of a class that is not known, so no containers of Python's own.
    """
    # Each way gets a constant of its own, so that a merge can tell it from one that the program wrote.
    env = it.frame.env
    names = [name for name in _nones(test, holds) if isinstance(env.get(name), Leaf)]
    found: dict[str, Abstract] = {name: Const(None) for name in names}
    for name in _nones(test, not holds) if not isinstance(test, ast.BoolOp) else ():
        value = env.get(name)
        if isinstance(value, Leaf) and value.options:
            left = tuple(one for one in value.options if one != NONE)
            found[name] = left[0] if len(left) == 1 else replace(value, options=left)
    for name, asked in _instances(test) if holds else ():
        if (value := env.get(name)) is not None and _is_something_else(it, value, asked):
            found[name] = it.unknown("what it is an instance of is not known", it.span(test), name)
    return found


def _is_something_else(it: Interpreter, value: Abstract, asked: ast.expr) -> bool:
    """Whether a value cannot be what is seen of it where it is an instance of a class that nothing is known of."""
    several = value.options if isinstance(value, Leaf) and value.options else (value,)
    parts = asked.elts if isinstance(asked, ast.Tuple) else [asked]
    return all(_is_told(it, one) for one in several) and all(
        _one(it, value, it.evaluate(one)) is None for one in parts for value in several
    )


def _is_told(it: Interpreter, value: Abstract) -> bool:
    """Whether a value is a container, a function or an object that the code made itself."""
    box = it.heap[value] if isinstance(value, Ref) else None
    plain = _plain_type(it, value) in (tuple, list, dict, type(is_instance))
    return plain or (isinstance(box, ObjectBox) and box.value is None)


def matches(it: Interpreter, pattern: ast.pattern, subject: Abstract) -> bool | None:
    """Whether a pattern of a `match` fits its subject, where that is known."""
    match pattern:
        case ast.MatchAs(pattern=inner):
            return True if inner is None else matches(it, inner, subject)
        case ast.MatchOr(patterns=several):
            answers = [matches(it, one, subject) for one in several]
            return True if True in answers else None if None in answers else False
        case ast.MatchSingleton(value=value) if isinstance(subject, Const):
            return subject.value is value
        case ast.MatchValue(value=node) if isinstance(subject, Const) and isinstance(node, ast.Constant):
            return subject.value == node.value
        case ast.MatchClass(cls=cls, patterns=places, kwd_patterns=words):
            answer = _one(it, subject, it.evaluate(cls))
            return None if answer and (places or words) else answer
        case ast.MatchSequence(patterns=parts) if not any(isinstance(one, ast.MatchStar) for one in parts):
            items = None if isinstance(subject, Record) else known_items(it, subject)
            return None if items is None or len(items) == len(parts) else False
        case _:
            return None


def narrowed_case(it: Interpreter, subject: ast.expr, pattern: ast.pattern) -> dict[str, Abstract]:
    """Return what a case says of a variable: of a class that is not known it is no container of Python's own."""
    if not isinstance(subject, ast.Name) or (value := it.frame.env.get(subject.id)) is None:
        return {}
    strange = _plain_type(it, value) in (tuple, list, dict) and _asks_class(pattern)
    reason, span = "what it is an instance of is not known", it.span(subject)
    return {subject.id: it.unknown(reason, span, subject.id)} if strange and matches(it, pattern, value) is None else {}


def _asks_class(pattern: ast.pattern | None) -> bool:
    match pattern:
        case ast.MatchAs(pattern=inner):
            return _asks_class(inner)
        case ast.MatchOr(patterns=several):
            return all(map(_asks_class, several))
        case _:
            return isinstance(pattern, ast.MatchClass)


def is_for_others(it: Interpreter, test: ast.expr, *, holds: bool) -> bool:
    """Whether a condition holds only where a parameter is None that the call gives: that side is for other callers."""
    return any(map(it.frame.gives, _nones(test, holds)))


def _instances(test: ast.expr) -> list[tuple[str, ast.expr]]:
    """Return the variables that a condition asks the class of, with the class: it holds only where they have it."""
    match test:
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), asked]):
            return [(name, asked)]
        case ast.BoolOp(op=ast.And(), values=values):
            return [one for value in values for one in _instances(value)]
        case _:
            return []


def _nones(test: ast.expr, holds: bool) -> list[str]:
    match test:
        case ast.Compare(left=ast.Name(id=name), ops=[operator], comparators=[ast.Constant(value=None)]):
            return [name] if isinstance(operator, ast.Is if holds else ast.IsNot) else []
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _nones(inner, not holds)
        case ast.BoolOp(op=operator, values=values) if isinstance(operator, ast.And if holds else ast.Or):
            return [name for value in values for name in _nones(value, holds)]
        case _:
            return []
