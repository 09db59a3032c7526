"""Names the leaves of trees that an exception is about: arguments of a transformed call, the leaf that a map was at."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from traceback import walk_tb
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any

from jaxaudit.frontends.jaxpr.given import is_array, text_of
from jaxaudit.frontends.jaxpr.places import is_own_file, is_user_file
from jaxaudit.frontends.jaxpr.protocol import Leaf

_MOST = 2000
"""Leaves beyond this many are not looked at: nobody reads their names."""
_SEVERAL = (tuple, list)
_TREES = {"scan": ("init", "xs"), "while_loop": ("init_val",), "fori_loop": ("init_val",), "map": ("xs",)}
"""The parameters of JAX's loops that hold trees."""


def argument_leaves(traceback: TracebackType | None) -> tuple[Leaf, ...]:
    """Return the leaves of what the transformation was called with that raised inside the user's innermost frame.

    JAX takes its own frames out of tracebacks; those of the functions that stand in for its transformations stay.
    """
    frames = [frame for frame, _ in walk_tb(traceback)]
    own = [number for number, frame in enumerate(frames) if is_user_file(frame.f_code.co_filename)]
    # A library may call one transformation inside another; the innermost is the one that raised.
    for frame in reversed(frames[own[-1] + 1 :]) if own else ():
        if is_own_file(frame.f_code.co_filename):
            found = tuple(_leaves(_arguments(frame.f_code.co_name, frame.f_locals)))
            if found:
                return found
    return ()


def mapped_leaf(traceback: TracebackType | None) -> Leaf | None:
    """Return the leaf at which `tree.map` was when the user's innermost function raised: its path and all its types."""
    frames = [frame for frame, _ in walk_tb(traceback)]
    own = [number for number, frame in enumerate(frames) if is_user_file(frame.f_code.co_filename)]
    inside = frames[own[-2] + 1 : own[-1]] if len(own) > 1 else []
    outer = next((frame for frame in inside if frame.f_code.co_name in ("tree_map", "map") and _walks(frame)), None)
    current = next((one for frame in inside if (one := _current(frame)) is not None), None)
    if outer is None or current is None:
        return None
    at = next((path for path, leaf in _flat(outer.f_locals["tree"]) if leaf is current[0]), None)
    return Leaf(at, ", ".join(text_of(one) or "..." for one in current)) if at is not None else None


def _walks(frame: FrameType) -> bool:
    return all(name in frame.f_locals for name in ("f", "tree", "rest"))


def _current(frame: FrameType) -> tuple[Any, ...] | None:
    """Return the leaves that are just handed to the function."""
    found = frame.f_locals.get("xs")
    return found if frame.f_code.co_name in ("<genexpr>", "tree_map") and isinstance(found, tuple) and found else None


def _arguments(name: str, known: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Return the trees that a transformation was called with, by names that the user knows."""
    args, kind = known.get("args", ()), known.get("kind", "")
    if name == "transformation" and kind in _TREES:
        bound = inspect.signature(known["original"]).bind_partial(*args, **known["options"]).arguments
        yield from ((key, bound[key]) for key in _TREES[kind] if key in bound)
    elif name == "transformed":
        names = _parameters(known["function"])
        wanted = _differentiated(known, len(args)) if "grad" in kind else _mapped(known, len(args))
        for at, one in enumerate(args):
            if at in wanted:
                yield names[at] if at < len(names) else f"argument {at + 1}", one
        yield from known["kwargs"].items() if "grad" not in kind else ()


def _differentiated(known: Mapping[str, Any], count: int) -> Sequence[int]:
    """Return the positions of the arguments that a gradient is taken with respect to."""
    options, given = known.get("options", {}), known.get("given", ())
    argnums = options.get("argnums", given[1] if len(given) > 1 else 0)
    places = argnums if isinstance(argnums, _SEVERAL) else (argnums,)
    return [place % count for place in places if isinstance(place, int) and -count <= place < count]


def _mapped(known: Mapping[str, Any], count: int) -> Sequence[int]:
    """Return the positions of the arguments that are mapped: all but those that `in_axes` leaves out as a whole."""
    options, given = known.get("options", {}), known.get("given", ())
    axes = options.get("in_axes", given[1] if len(given) > 1 else 0)
    if isinstance(axes, _SEVERAL) and len(axes) == count:
        return [at for at, axis in enumerate(axes) if axis is not None]
    return range(count)


def _parameters(function: Callable[..., Any]) -> Sequence[str]:
    """Name the positional parameters of a function; of one that was wrapped, those of the function inside."""
    for _ in range(8):
        inner = getattr(function, "__wrapped__", None) or getattr(function, "func", None)
        if not callable(inner):
            break
        function = inner
    owner = getattr(function, "__func__", function)
    if not isinstance(owner, FunctionType):
        return ()
    code: CodeType = owner.__code__
    names = code.co_varnames[: code.co_argcount]
    return names[1:] if owner is not function else names


def _leaves(trees: Iterable[tuple[str, Any]]) -> Iterator[Leaf]:
    for name, tree in trees:
        for path, leaf in _flat(tree):
            yield Leaf(f"{name}{path}", text_of(leaf) if is_array(leaf) else _kind(leaf))


def _kind(leaf: object) -> str:
    return f"a Python {type(leaf).__name__}" if type(leaf) in (bool, int, float, complex, str) else type(leaf).__name__


def _flat(tree: Any) -> list[tuple[str, Any]]:
    """Take a tree apart; JAX did so before, so classes of the user's are asked nothing new."""
    jax = sys.modules.get("jax")
    if jax is None:
        return []
    try:
        flat, _ = jax.tree_util.tree_flatten_with_path(tree)
        return [(jax.tree_util.keystr(path), leaf) for path, leaf in flat[:_MOST]]
    except Exception:  # noqa: BLE001
        return []
