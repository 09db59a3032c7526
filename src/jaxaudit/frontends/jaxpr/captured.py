"""What a function reads besides its arguments, as it is now: variables, globals, attributes, entries of containers.

Nothing of the user's is run for it: objects are told apart by identity, plain values by value, NumPy's arrays by what
they hold.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any

from jaxaudit.frontends.jaxpr.imports import the_jax
from jaxaudit.frontends.jaxpr.places import is_own_file, is_user_file
from jaxaudit.frontends.jaxpr.sightings import held

State = dict[tuple[str, str], object]
"""What stands at each place, by who reads it and the user's words for the place."""

_MOST = 1000
"""Places to look at: those that are nearest to the function come first."""
_MOST_BYTES = 1 << 16
"""Of an array of NumPy's; of larger ones elements here and there are read."""
_MOST_ROUNDS = 8
_ORDERED: tuple[type, ...] = (list, tuple, deque)
_SIZED: tuple[type, ...] = (dict, list, deque, set)
_PLAIN = (bool, int, str, bytes, complex)

_Names = frozenset[str]
_Part = tuple[str, str, Any]
"""Who reads, the user's words for the place, and what stands there."""


def state_of(function: object, given: Sequence[Any] = ()) -> State:
    """Return what a function and the functions that it is given read from outside."""
    names: _Names = frozenset()
    for _ in range(_MOST_ROUNDS):
        walk = _Walk(names)
        state = walk.run(("", "", root) for root in (function, *given))
        if walk.mentioned <= names:
            break
        # Functions that were found may name attributes of objects that were passed by.
        names |= walk.mentioned
    return state


def changed(before: State, now: State) -> list[str]:
    """Return the places that hold something else than before, in the user's words."""
    names = (place[1] for place, value in before.items() if place in now and not _is_same(value, now[place]))
    return list(dict.fromkeys(name for name in names if name[:1].isidentifier()))


def _is_same(before: object, now: object) -> bool:
    if isinstance(before, weakref.ref) and isinstance(now, weakref.ref):
        return before() is not None and before() is now()
    return type(before) is type(now) and before == now


class _Walk:
    """Goes from functions to whatever they can reach, breadth first; of the user's objects to what is named."""

    def __init__(self, names: _Names) -> None:
        self.mentioned: _Names = frozenset()
        """The names that the functions on the way mention."""
        self._names = names
        self._state: State = {}
        self._seen: set[int] = set()
        self._pending: deque[_Part] = deque()
        self._tracer: Any = the_jax().core.Tracer
        self._array: Any = the_jax().Array

    def run(self, roots: Iterator[_Part]) -> State:
        """Look at roots and at what comes of them, within bounds."""
        self._pending.extend(roots)
        while self._pending and len(self._state) < _MOST:
            reader, path, value = self._pending.popleft()
            known = self._token(value)
            if known is not None:
                self._state[reader, path] = known
            elif id(value) not in self._seen and not isinstance(value, self._tracer):
                self._seen.add(id(value))
                self._pending.extend(self._parts(reader, path, value))
        return self._state

    def _token(self, value: Any) -> object:
        """Return what tells a value from others that may stand in its place; None for what is taken apart."""
        kind, numpy = type(value), sys.modules["numpy"]
        if value is None or kind in _PLAIN:
            return (kind, value)
        if kind is float:
            return repr(value)
        if isinstance(value, self._tracer):
            return None
        if isinstance(value, self._array):
            return weakref.ref(value)
        if isinstance(value, numpy.ndarray | numpy.generic) and not value.dtype.hasobject:
            return (value.shape, str(value.dtype), _content(value))
        return None

    def _parts(self, reader: str, path: str, value: Any) -> Iterator[_Part]:
        if _is_ours(value):
            return iter([(reader, path, getattr(value, "__wrapped__", None))])
        if isinstance(value, _SIZED):
            self._state[reader, path and f"len({path})"] = len(value)
        if isinstance(value, FunctionType) and is_user_file(value.__code__.co_filename):
            self.mentioned |= _mentioned(value.__code__)
        for kinds, parts in _PARTS:
            if isinstance(value, kinds):
                return parts(reader, path, value, self._names)
        return self._of_object(reader, path, value)

    def _of_object(self, reader: str, path: str, value: Any) -> Iterator[_Part]:
        kind = type(value)
        inside, mine = held(value, kind), _is_users(kind.__module__)
        if not inside:
            self._state[reader, path] = (kind, id(value))
        for name, part in inside.items():
            if not mine or name in self._names:
                # What a library keeps to itself is no word of the user's.
                hidden = not mine and name.startswith("_")
                yield f"{reader}.{name}", path and (path if hidden else f"{path}.{name}"), part
        yield reader, "", kind


def _is_ours(value: Any) -> bool:
    """Whether a value is what the observer put around something of the user's."""
    if isinstance(value, FunctionType):
        return is_own_file(value.__code__.co_filename)
    return type(value).__module__.startswith(f"{__name__.partition('.')[0]}.")


def _is_users(module: str) -> bool:
    return is_user_file(getattr(sys.modules.get(module), "__file__", None) or "")


def _content(value: Any) -> bytes:
    step = value.nbytes // _MOST_BYTES
    return value.reshape(-1)[:: step + 1].tobytes() if step else value.tobytes()


@functools.cache
def _mentioned(code: CodeType) -> _Names:
    """Return the globals and attributes that a function and those inside it name."""
    inner = (one for one in code.co_consts if isinstance(one, CodeType))
    return frozenset(code.co_names).union(*map(_mentioned, inner))


def _of_function(reader: str, path: str, function: FunctionType, names: _Names) -> Iterator[_Part]:
    code, mine = function.__code__, is_user_file(function.__code__.co_filename)
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield function.__qualname__, name if mine else "", cell.cell_contents
        except ValueError:
            continue
    for part in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        yield function.__qualname__, "", part
    if mine:
        for name in sorted(_mentioned(code) & function.__globals__.keys()):
            yield function.__module__, name, function.__globals__[name]


def _of_method(reader: str, path: str, method: MethodType, names: _Names) -> Iterator[_Part]:
    yield reader, path or "self", method.__self__
    yield reader, path, method.__func__


def _of_partial(reader: str, path: str, partial: functools.partial[Any], names: _Names) -> Iterator[_Part]:
    for number, part in enumerate((partial.func, *partial.args, *partial.keywords.values())):
        yield f"{reader}.{number}", path, part


def _of_mapping(reader: str, path: str, mapping: Mapping[Any, Any], names: _Names) -> Iterator[_Part]:
    items = dict.items(mapping) if isinstance(mapping, dict) else mapping.items()
    for key, part in items:
        if type(key) in (str, int):
            yield f"{reader}[{key!r}]", path and f"{path}[{key!r}]", part


def _of_sequence(reader: str, path: str, items: Sequence[Any], names: _Names) -> Iterator[_Part]:
    fields = getattr(type(items), "_fields", ())
    # A class of the user's may have an iterator of its own.
    base: Any = next(one for one in _ORDERED if isinstance(items, one))
    for number, part in enumerate(base.__iter__(items)):
        last = f".{fields[number]}" if isinstance(fields, tuple) and number < len(fields) else f"[{number}]"
        yield f"{reader}[{number}]", path and f"{path}{last}", part


_MAKING = ("__init__", "__new__", "__post_init__")
"""What runs where an object is made, and nowhere else."""


def _of_class(reader: str, path: str, kind: type, names: _Names) -> Iterator[_Part]:
    for name, part in list(vars(kind).items()) if _is_users(kind.__module__) else ():
        plain = part.fget if isinstance(part, property) else getattr(part, "__func__", part)
        made = kind.__name__ in names or name not in _MAKING
        if name in names or (name.startswith("__") and made and isinstance(plain, FunctionType)):
            yield kind.__qualname__, f"{kind.__name__}.{name}", plain


def _of_module(reader: str, path: str, module: ModuleType, names: _Names) -> Iterator[_Part]:
    if _is_users(module.__name__):
        for name in sorted(names & vars(module).keys()):
            yield module.__name__, f"{path}.{name}", vars(module)[name]


_PARTS: tuple[tuple[type | tuple[type, ...], Callable[[str, str, Any, _Names], Iterator[_Part]]], ...] = (
    (FunctionType, _of_function),
    (MethodType, _of_method),
    (functools.partial, _of_partial),
    ((dict, MappingProxyType), _of_mapping),
    (_ORDERED, _of_sequence),
    (type, _of_class),
    (ModuleType, _of_module),
)
