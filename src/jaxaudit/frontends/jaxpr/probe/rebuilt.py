"""Takes objects of the user's classes apart and puts them together again, as every transformation does, and compares.

What the user registers is handed on to JAX as it is, but for the function that takes objects apart: the first objects
that go through it are rebuilt at once, since nothing of them may be kept, and each attribute must come back as it was.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.files import USER, layer_of
from jaxaudit.frontends.jaxpr.probe.met import code_of
from jaxaudit.frontends.jaxpr.probe.where import place_of_returned
from jaxaudit.frontends.jaxpr.protocol import Rebuilt
from jaxaudit.frontends.jaxpr.quiet import muted

LOOKS = 3
"""Objects of each class that are rebuilt."""

AGREES, DIFFERS, DOUBTFUL, OPEN = "agrees", "differs", "doubtful", "open"


@dataclass(slots=True)
class _Class:
    """A class that the user registered, and what rebuilding its objects showed."""

    cls: type
    flatten: Callable[[Any], Any]
    unflatten: Callable[[Any, Any], Any]
    looks: int = 0
    differences: dict[str, tuple[str, str]] = field(default_factory=dict)
    """For each attribute the verdict and a clause."""


class Rebuilds:
    """The classes of a process."""

    def __init__(self) -> None:
        self._classes: list[_Class] = []
        self._busy = False

    def watched(self, cls: type, flatten: Callable[[Any], Any], unflatten: Callable[[Any, Any], Any]) -> Any:
        """Return a function that takes objects apart as the given one does; that itself where it is not the user's."""
        code = code_of(_plain(flatten)) or code_of(_plain(unflatten))
        if layer_of(getattr(code, "co_filename", "")) != USER:
            return flatten
        known = _Class(cls, flatten, unflatten)
        self._classes.append(known)

        @functools.wraps(flatten)
        def taken_apart(thing: Any) -> Any:
            parts = flatten(thing)
            if known.looks < LOOKS and not self._busy:
                parts = self._look(known, thing, parts)
            return parts

        return taken_apart

    def _look(self, known: _Class, thing: Any, parts: Any) -> Any:
        """Rebuild one object; nothing that goes wrong here may reach the user's program."""
        self._busy = True
        try:
            children, aux = parts
            # The user may give a generator, which can be read once.
            children = tuple(children)
            parts = children, aux
            if not _is_traced(children):
                # An object that cannot be rebuilt of its own parts ends the program, and is explained there.
                with muted():
                    again = known.unflatten(aux, children)
                known.looks += 1
                for name, verdict, text in _differences(thing, again):
                    known.differences.setdefault(name, (verdict, text))
        except Exception:  # noqa: BLE001, S110
            pass
        finally:
            self._busy = False
        return parts

    def told(self) -> Iterator[Rebuilt]:
        """Return what was seen of each class, field by field where something is wrong."""
        for one in self._classes:
            place, other = (place_of_returned(_plain(it)) for it in (one.flatten, one.unflatten))
            if (place or other) is not None:
                unseen = {"": (OPEN, "no object of it was put together again")}
                about = one.differences or ({"": (AGREES, "")} if one.looks else unseen)
                for name, (verdict, text) in about.items():
                    yield Rebuilt(one.cls.__name__, name, verdict, text, one.looks, place or other, other)


REBUILDS = Rebuilds()


def _plain(function: Any) -> Any:
    """Return the user's function: that of a method, or one that ours stands around."""
    return inspect.unwrap(getattr(function, "__func__", function))


def _is_traced(children: tuple[Any, ...]) -> bool:
    leaves = (
        children if any(isinstance(one, compat.Tracer) for one in children) else compat.tree_util.tree_leaves(children)
    )
    return any(isinstance(one, compat.Tracer) for one in leaves)


def _differences(before: Any, after: Any) -> Iterator[tuple[str, str, str]]:
    """Return the attributes that do not surely come back as they were, with a verdict and a clause."""
    old, new = _state(before), _state(after)
    if not old:
        yield "", OPEN, "it has no attributes that could be compared"
    given = _parameters(type(before))
    for name in sorted(old.keys() | new.keys()):
        if name not in old or name not in new:
            yield name, OPEN, "is not on both objects, and whether it is needed is not known"
            continue
        same = _same(old[name], new[name])
        if same is None:
            yield name, OPEN, "could not be compared"
        elif not same:
            yield name, *_difference(name, old, new[name], known=name in given)


def _difference(name: str, old: Mapping[str, Any], now: Any, *, known: bool) -> tuple[str, str]:
    """Return the verdict and a clause for an attribute that comes back otherwise; `known` to the constructor."""
    others = (one for one in old if one != name and _is_data(old[one]) and _same(old[one], now))
    source = next(others, None) if _is_data(old[name]) else None
    if source is not None:
        return DIFFERS, f"comes back as what `{source}` was"
    # What no constructor takes may be a cache or a counter that is to start anew.
    verdict = DIFFERS if known else DOUBTFUL
    if _is_number(old[name]):
        return verdict, f"comes back as {now!r}, and was {old[name]!r}"
    return verdict, "comes back with other numbers"


def _state(thing: Any) -> Mapping[str, Any]:
    """Return the attributes that an object keeps itself."""
    slots = (name for cls in type(thing).__mro__ for name in getattr(cls, "__slots__", ()))
    kept = {name: getattr(thing, name) for name in slots if isinstance(name, str) and hasattr(thing, name)}
    return {**kept, **getattr(thing, "__dict__", {})}


def _parameters(cls: type) -> frozenset[str]:
    """Return the names of what a constructor takes."""
    try:
        return frozenset(inspect.signature(cls).parameters)
    except (TypeError, ValueError):
        return frozenset()


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float | complex | str)


def _is_data(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _same(one: Any, other: Any) -> bool | None:
    """Whether two values are the same; None where they cannot be compared."""
    if one is other:
        return True
    if _is_number(one) and _is_number(other):
        return bool(one == other)
    if _is_data(one) and _is_data(other):
        return _same_numbers(one, other)
    return None


def _same_numbers(one: Any, other: Any) -> bool | None:
    """Whether two arrays hold the same, once converted to the type of the second: constructors make arrays of JAX."""
    np = compat.np
    try:
        first, second = np.asarray(one), np.asarray(other)
        alike = second.dtype.kind in "fc"
        return bool(np.array_equal(first.astype(second.dtype), second, equal_nan=alike))
    except Exception:  # noqa: BLE001
        return None
