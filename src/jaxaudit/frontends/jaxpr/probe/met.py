"""Writes down the derivative rules that a program calls, with the types of their arguments.

A note costs little and is made once for each rule and shape: rules are called in loops.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import CodeType
from typing import Any

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.files import USER, layer_of

_MOST = 200
"""Rules to remember; a program that makes new ones without end is not followed any further."""
_SHAPES = 2
"""Shapes to remember for one rule."""
_FIELDS = {"fun": "fn", "fwd": "fn_fwd", "bwd": "fn_bwd", "jvp": "fn_jvp"}
"""Where equinox keeps the user's functions."""
_MOST_LOOKED_AT = 1_000_000


@dataclass(frozen=True, slots=True)
class Kind:
    """What is known of one leaf of the arguments."""

    shape: tuple[int, ...]
    dtype: str
    low: float | None = None
    high: float | None = None
    """The range of the real values, where they were seen."""
    is_key: bool = False
    """Whether it holds typed random keys; the dtype names their kind then."""


def is_kind(thing: Any) -> bool:
    """Whether this stands for an array."""
    return isinstance(thing, Kind)


@dataclass(frozen=True, slots=True)
class Met:
    """One derivative rule, and the arguments of a call: arrays by their kind, all else as it was."""

    kind: str
    """`custom_vjp` or `custom_jvp`."""
    rule: Any
    args: tuple[Any, ...]
    static: frozenset[int]
    """Positions of arguments that are not differentiated."""
    fixed: frozenset[int] = frozenset()
    """Positions of arrays that the rule gives no derivative for by its own agreement."""


@dataclass(slots=True)
class Notes:
    """The rules of a process."""

    everything: bool = False
    """Whether rules of libraries count too."""
    by_code: dict[object, dict[object, Met]] = field(default_factory=dict)
    active: bool = True

    def all(self) -> Iterator[Met]:
        """Return what was met, in the order of first calls."""
        for shapes in self.by_code.values():
            yield from shapes.values()


NOTES = Notes()


def note(kind: str, rule: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Remember a call of a rule; nothing that goes wrong here may reach the user's program."""
    if not NOTES.active:
        return
    try:
        code = _identity(rule)
        if code is None:
            return
        shapes = NOTES.by_code.get(code)
        if shapes is None:
            if len(NOTES.by_code) >= _MOST:
                return
            shapes = NOTES.by_code.setdefault(code, {})
        if len(shapes) < _SHAPES:
            _add(shapes, kind, rule, args, kwargs)
    except Exception:  # noqa: BLE001, S110
        pass


def _identity(rule: Any) -> object:
    """Return what makes two rules the same, however often they are made; None for a rule that is not the user's."""
    back = getattr(rule, "bwd", None) or getattr(rule, "jvp", None)
    codes = code_of(rule.fun), code_of(back)
    if not any(isinstance(code, CodeType) and (code.co_freevars or _counts(code)) for code in codes):
        return None
    found = users_function(rule.fun, "fun"), users_function(back, "bwd" if hasattr(rule, "bwd") else "jvp")
    return None if found == (None, None) else (*codes, *map(code_of, found))


_ADAPTERS = frozenset("fn_wrapped fn_wrapper fn_fwd_wrapped fn_bwd_wrapped fn_jvp_wrapper wrapped_fun".split())
"""Functions of JAX and equinox that stand around a user's function."""


def _counts(code: CodeType) -> bool:
    return (NOTES.everything and code.co_name not in _ADAPTERS) or layer_of(code.co_filename) == USER


def _add(shapes: dict[object, Met], kind: str, rule: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    given = _positional(rule.fun, args, kwargs)
    static = frozenset(at % len(given) for at in getattr(rule, "nondiff_argnums", ()))
    kinds = tuple(_described(one, kept=at in static) for at, one in enumerate(given))
    leaves, tree = compat.tree_util.tree_flatten(kinds, is_leaf=is_kind)
    key = (str(tree), tuple((one.shape, one.dtype) for one in leaves if isinstance(one, Kind)))
    shapes.setdefault(key, Met(kind, rule, kinds, static, _fixed(rule)))


def _fixed(rule: Any) -> frozenset[int]:
    """Of `equinox.filter_custom_vjp`, only the first argument is differentiated; it stands third in the wrapper."""
    name = getattr(code_of(rule.fun), "co_name", "")
    return frozenset((3, 4)) if name == "fn_wrapped" else frozenset()


def _positional(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return all arguments by position, as JAX hands them to the rule."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return tuple(args)
    bound.apply_defaults()
    return tuple(bound.args)


def _described(argument: Any, *, kept: bool) -> Any:
    """Replace arrays by their kinds; an argument that is not differentiated keeps what is known of it."""
    return compat.tree_util.tree_map(partial(_leaf, kept=kept), argument)


def _leaf(leaf: Any, *, kept: bool) -> Any:
    if kept and not isinstance(leaf, compat.Tracer):
        return leaf
    if isinstance(leaf, bool | int | str) or not (isinstance(leaf, float) or hasattr(leaf, "dtype")):
        return leaf
    if isinstance(leaf, float) and not math.isfinite(leaf):
        return leaf
    if isinstance(leaf, float):
        return Kind((), "float32", leaf, leaf)
    shape, dtype = tuple(leaf.shape), leaf.dtype
    if compat.jax.dtypes.issubdtype(dtype, compat.jax.dtypes.prng_key):
        return Kind(shape, str(compat.jax.random.key_impl(leaf)), is_key=True)
    low, high = (None, None) if isinstance(leaf, compat.Tracer) else _range(leaf)
    return Kind(shape, str(dtype), low, high)


def _range(array: Any) -> tuple[float | None, float | None]:
    values = compat.np.asarray(array)
    if not 0 < values.size <= _MOST_LOOKED_AT or values.dtype.kind not in "iufb":
        return None, None
    low, high = float(values.min()), float(values.max())
    return (low, high) if compat.np.isfinite(low) and compat.np.isfinite(high) else (None, None)


def code_of(function: Any) -> object:
    """Return what two copies of one function share."""
    while isinstance(function, partial):
        function = function.func
    otherwise = id(function) if function is not None else None
    return getattr(getattr(function, "__func__", function), "__code__", otherwise)


def users_function(function: Any, role: str) -> Callable[..., Any] | None:
    """Find the user's function in a rule: the function itself, or one that a library's wrapper is closed over."""
    for one in _inside(function, role, set(), 0):
        code = code_of(one)
        if isinstance(code, CodeType) and _counts(code):
            return one
    return None


def _inside(thing: Any, role: str, seen: set[int], depth: int) -> Iterator[Any]:
    if thing is None or id(thing) in seen or depth > 4:
        return
    seen.add(id(thing))
    if isinstance(thing, partial):
        yield from _inside(thing.func, role, seen, depth)
        return
    if hasattr(thing, "__wrapped__"):
        yield from _inside(thing.__wrapped__, role, seen, depth + 1)
    thing = getattr(thing, "__func__", thing)
    if hasattr(thing, "__code__"):
        yield thing
        for name, cell in zip(thing.__code__.co_freevars, thing.__closure__ or (), strict=False):
            held = _held(cell)
            if callable(held) or name == "self":
                yield from _inside(getattr(held, _FIELDS[role], held), role, seen, depth + 1)


def _held(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None
