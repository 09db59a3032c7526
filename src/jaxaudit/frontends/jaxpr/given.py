"""Says in a few words what functions were given when an exception went through them: types of arrays, small values."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from itertools import islice
from traceback import walk_tb
from types import FrameType, FunctionType, TracebackType
from typing import Any

from jaxaudit.frontends.jaxpr.places import is_own_file, is_user_file
from jaxaudit.frontends.jaxpr.protocol import Given

_MOST_FRAMES = 40
_MOST_ITEMS = 4
_LONGEST = 40


def given(traceback: TracebackType | None) -> tuple[Given, ...]:
    """Describe the calls of libraries inside the user's innermost frame."""
    frames = [frame for frame, _ in walk_tb(traceback)]
    own = [number for number, frame in enumerate(frames) if is_user_file(frame.f_code.co_filename)]
    inner = frames[own[-1] + 1 :] if own else []
    return tuple(
        Given(frame.f_code.co_name, tuple(_arguments(frame)))
        for frame in inner[:_MOST_FRAMES]
        if not is_own_file(frame.f_code.co_filename)
    )


def _arguments(frame: FrameType) -> Iterable[tuple[str, str]]:
    code = frame.f_code
    names = [*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]]
    for name in names:
        told = text_of(frame.f_locals[name]) if name in frame.f_locals else ""
        if told:
            yield name, told
    if code.co_flags & inspect.CO_VARARGS:
        rest = frame.f_locals.get(code.co_varnames[len(names)])
        for number, value in enumerate(rest if isinstance(rest, tuple) else ()):
            yield f"argument {number + 1}", text_of(value)


def text_of(value: object, depth: int = 2) -> str:
    """Describe a value; nothing for what says nothing, and never anything that runs the user's code."""
    if value is None or isinstance(value, FunctionType):
        return ""
    if is_array(value):
        array: Any = value
        return f"{array.dtype}[{','.join(map(str, array.shape))}]"
    if type(value) in (bool, int, float, complex, str):
        told = repr(value)
        return told if len(told) <= _LONGEST else told[: _LONGEST - 3] + "..."
    if depth and type(value) is dict:
        return (
            "{"
            + _items(
                (f"{key!r}: {text_of(one, depth - 1)}" for key, one in islice(value.items(), _MOST_ITEMS)), len(value)
            )
            + "}"
        )
    if depth and type(value) in (tuple, list):
        parts: Any = value
        opening, closing = "()" if type(value) is tuple else "[]"
        closing = ",)" if (opening, len(parts)) == ("(", 1) else closing
        return opening + _items((text_of(one, depth - 1) or "..." for one in parts[:_MOST_ITEMS]), len(parts)) + closing
    held = [f"{name} {text_of(array)}" for name, one in _attributes(value) if is_array(array := _inside(one))]
    return f"a {type(value).__name__}" + (f" with {', '.join(held[:_MOST_ITEMS])}" if held else "")


def _attributes(value: object) -> list[tuple[str, object]]:
    """Return what an object keeps under names, without asking it."""
    try:
        kept = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return []
    return [(name, one) for name, one in kept.items() if not name.startswith("_")] if type(kept) is dict else []


def _inside(value: object) -> object:
    """Return the array that a variable of flax's nnx holds."""
    if not type(value).__module__.startswith("flax.nnx"):
        return value
    try:
        return object.__getattribute__(value, "_raw_value")
    except AttributeError:
        return value


def is_array(value: object) -> bool:
    """Whether a value is an array of JAX or NumPy, or stands for one."""
    jax, numpy = sys.modules.get("jax"), sys.modules.get("numpy")
    kinds = [*([jax.Array, jax.ShapeDtypeStruct] if jax else ()), *([numpy.ndarray, numpy.generic] if numpy else ())]
    return isinstance(value, tuple(kinds))


def _items(parts: Iterable[str], count: int) -> str:
    return ", ".join(parts) + (", ..." if count > _MOST_ITEMS else "")
