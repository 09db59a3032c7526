"""Notes with what each function of the user's is called while a program is observed.

Only what can be read without running code of the user's is read: types, sizes, fields. A function is looked at until
its calls bring nothing new.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import CodeType, FrameType, FunctionType, MappingProxyType
from typing import Any

from jaxaudit.frontends.forms import ENOUGH, Form, Sighting, has_array, sizes_apart, widened
from jaxaudit.frontends.jaxpr.places import is_user_file

_DEEPEST, _MOST_PARTS, _LONGEST = 8, 400, 80
"""How deep values are taken apart, into how many parts at most, and how long a text may be that is kept."""
_MOST_KINDS, _MOST_ALIKE = 6, 2
"""How many kinds of calls of a function are kept, and how many of a kind that differ in integers alone."""

_MODULES_OWN = frozenset(("parent", "scope", "name"))
"""What flax keeps in a module besides its fields, and what begins with `_`."""


@dataclass(slots=True)
class _Calls:
    """The calls of one function."""

    code: CodeType
    kinds: dict[str, list[Sighting]] = field(default_factory=dict)
    stale: int = 0
    """How many calls brought nothing new."""


@dataclass(slots=True)
class Sightings:
    """What was seen of the calls of each function."""

    where: str = ""
    """The script or test that is running."""
    calls: dict[int, _Calls] = field(default_factory=dict)
    """By the identity of the code, which compares by content and slowly so."""

    def begin(self, where: str) -> None:
        """Start on another test: functions that were seen before are looked at again."""
        self.where = where
        for one in self.calls.values():
            one.stale = 0

    def wants(self, code: CodeType) -> bool:
        """Whether calls of a function are worth looking at."""
        if not is_user_file(code.co_filename):
            return False
        known = self.calls.get(id(code))
        return _is_function(code) if known is None else known.stale < ENOUGH

    def see(self, frame: FrameType) -> bool:
        """Look at a call that begins, and say whether it is news; a fault of ours costs its facts alone."""
        code = frame.f_code
        known = self.calls.setdefault(id(code), _Calls(code))
        new = False
        with suppress(Exception):
            new = self._note(known, _sighting(frame, self.where))
        known.stale = 0 if new else known.stale + 1
        return new

    def _note(self, known: _Calls, seen: Sighting) -> bool:
        kind = repr(({name: sizes_apart(form) for name, form in seen.arguments.items()}, seen.within, seen.axes))
        alike = known.kinds.get(kind)
        if alike is None:
            if len(known.kinds) >= _MOST_KINDS:
                return False
            known.kinds[kind] = [seen]
            return True
        for number, one in enumerate(alike):
            if one.where == seen.where and _covers(one.arguments, seen.arguments):
                alike[number] = replace(one, calls=one.calls + 1)
                return False
        here = [one for one in alike if one.where == seen.where]
        if len(here) < _MOST_ALIKE:
            alike.append(seen)
            return True
        both = {name: widened(form, seen.arguments[name]) for name, form in here[0].arguments.items()}
        for one in here[1:]:
            both = {name: widened(form, one.arguments[name]) for name, form in both.items()}
        total = sum(one.calls for one in here) + 1
        known.kinds[kind] = [*(one for one in alike if one not in here), replace(seen, arguments=both, calls=total)]
        return True

    def all(self) -> tuple[Sighting, ...]:
        """Return all that was seen, by file and line."""
        found = [one for calls in self.calls.values() for alike in calls.kinds.values() for one in alike]
        return tuple(sorted(found, key=lambda one: (one.path, one.line)))


def _covers(known: Mapping[str, Form], seen: Mapping[str, Form]) -> bool:
    return all(widened(form, seen[name]) == form for name, form in known.items())


def _is_function(code: CodeType) -> bool:
    """Whether code is the body of a `def`; generators are entered again at every step."""
    steps = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
    return bool(code.co_flags & inspect.CO_OPTIMIZED) and not code.co_flags & steps and code.co_name[0] != "<"


def _sighting(frame: FrameType, where: str) -> Sighting:
    code, values = frame.f_code, frame.f_locals
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    arguments = {name: _Reader().form(values[name]) for name in code.co_varnames[:count] if name in values}
    axes, within = _around(frame)
    return Sighting(code.co_filename, code.co_qualname, code.co_firstlineno, where, arguments, axes=axes, within=within)


def _around(frame: FrameType) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return the axes that are bound now, and the transformations that the call stands in, outermost first."""
    compat, patches = _ours("compat"), _ours("patches")
    if compat is None or patches is None:
        return {}, ()
    within: list[str] = []
    outer = frame.f_back
    while outer is not None:
        if outer.f_code.co_filename == patches.__file__ and "kind" in outer.f_code.co_freevars:
            within.insert(0, outer.f_locals["kind"])
        outer = outer.f_back
    return compat.bound_axes(), ("jit", *within) if compat.is_recording() else tuple(within)


def _ours(name: str) -> Any:
    """Return a module of this front end that imports jax, where the user's program has done so."""
    return sys.modules.get(f"jaxaudit.frontends.jaxpr.{name}")


class _Reader:
    """Takes one set of arguments apart."""

    def __init__(self) -> None:
        self.parts = 0
        self.open: set[int] = set()
        self.tracer: Any = getattr(sys.modules.get("jax.core"), "Tracer", ())

    def form(self, value: Any, depth: int = 0) -> Form:
        """Return the form of a value."""
        kind = type(value)
        self.parts += 1
        if value is None or kind in (bool, int) or (kind is str and len(value) <= _LONGEST):
            return ["is", value]
        if kind in (float, complex):
            return ["array", "float32" if kind is float else "complex64", [], "w"]
        if issubclass(kind, FunctionType):
            return self._function(value)
        if self.parts > _MOST_PARTS:
            return ["other", kind.__qualname__]
        if _is_array(kind):
            return self._array(value)
        if depth >= _DEEPEST or id(value) in self.open:
            return ["other", kind.__qualname__]
        self.open.add(id(value))
        try:
            return self._container(value, kind, depth + 1)
        finally:
            self.open.discard(id(value))

    def _container(self, value: Any, kind: type, depth: int) -> Form:
        if kind in (tuple, list):
            return [kind.__name__, [self.form(item, depth) for item in value]]
        if issubclass(kind, dict) or kind is MappingProxyType:
            return self._dict(value, depth)
        if kind.__qualname__ == "FrozenDict":
            return self._dict(object.__getattribute__(value, "_dict"), depth)
        if issubclass(kind, type) or kind is functools.partial or kind.__module__ in ("builtins", "types"):
            return ["other", getattr(value, "__qualname__", kind.__qualname__)]
        return self._object(value, kind, depth)

    def _dict(self, value: Mapping[Any, Any], depth: int) -> Form:
        if not all(type(key) in (str, int) for key in value):
            return ["other", "dict"]
        return ["dict", [[key, self.form(item, depth)] for key, item in value.items()]]

    def _object(self, value: Any, kind: type, depth: int) -> Form:
        names = getattr(kind, "_fields", None) if issubclass(kind, tuple) else None
        tag = "record" if isinstance(names, tuple) else "object"
        if isinstance(names, tuple):
            inside = dict(zip(names, tuple.__iter__(value), strict=False))
        else:
            inside = held(value, kind)
        module = sys.modules.get(kind.__module__)
        path = getattr(module, "__file__", None) or ""
        path = path if path and is_user_file(path) else ""
        attributes = {name: self.form(item, depth) for name, item in inside.items()}
        if not path and not any(map(has_array, attributes.values())):
            # An object of a library that holds no arrays tells nothing, and may be large.
            return ["other", kind.__qualname__]
        return [tag, kind.__module__, kind.__qualname__, path, attributes]

    def _array(self, value: Any) -> Form:
        traced = isinstance(value, self.tracer) if self.tracer else False
        aval = getattr(value, "aval", None) if traced else value
        shape = [int(size) if hasattr(size, "__index__") else -1 for size in value.shape]
        weak = bool(getattr(aval, "weak_type", False))
        form: Form = ["array", str(value.dtype), shape, "w" * weak + "t" * traced]
        mapped = _mapped(value) if traced else []
        return [*form, mapped] if mapped else form

    def _function(self, value: FunctionType) -> Form:
        path = value.__code__.co_filename
        return ["function", value.__qualname__, path if is_user_file(path) else ""]


def _is_array(kind: type) -> bool:
    """Whether a class is that of arrays of JAX or NumPy, or of tracers: their sizes can be read at no cost."""
    return (
        kind.__module__.partition(".")[0] in ("jax", "jaxlib", "numpy")
        and hasattr(kind, "shape")
        and hasattr(kind, "dtype")
    )


def _mapped(tracer: Any) -> list[int]:
    compat = _ours("compat")
    return compat.mapped_sizes(tracer) if compat is not None else []


def held(value: Any, kind: type) -> dict[str, Any]:
    """Return what an object holds itself, without asking properties."""
    found: dict[str, Any] = {}
    slots = (name for base in kind.__mro__ for name in _slots(base))
    for name in (*slots, *getattr(value, "__dict__", ())):
        with suppress(AttributeError):
            found[name] = object.__getattribute__(value, name)
    flax = any(base.__module__.startswith("flax.linen") for base in kind.__mro__)
    return {name: item for name, item in found.items() if not (flax and (name in _MODULES_OWN or name[0] == "_"))}


def _slots(base: type) -> tuple[str, ...]:
    slots = vars(base).get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    return tuple(name for name in names if not name.startswith("__"))
