"""Writes types the way people write them: `f32[32,4]`, `key[8]`, `i32[]`; `f32[NUM_ENVS,?]` where source tells less."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from jaxaudit.analyses.axes.threads import Sign, signs_of
from jaxaudit.analyses.dims import Dim
from jaxaudit.analyses.labels import told
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.facts import shown
from jaxaudit.ir import ArrayType, Value

_SHORT = (("bfloat", "bf"), ("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c"))


class Shown(NamedTuple):
    """A type as it is shown: exact where JAX told it, as far as it is known where only source was read."""

    shape: tuple[str, ...]
    dtype: str


Types = Callable[[Value], Shown | None]
"""Gives the type of a value; None where nothing is known of it."""


def exact_types(types: Mapping[Value, ArrayType]) -> Types:
    """Read the types that JAX told."""

    def of(value: Value) -> Shown | None:
        known = types.get(value)
        return _shown(known) if known is not None else None

    return of


@lru_cache(maxsize=4096)
def _shown(known: ArrayType) -> Shown:
    return Shown(tuple(map(str, known.shape)), known.dtype)


def inferred_types(shapes: Shapes) -> Types:
    """Read the types that the source shows; a value whose rank is unknown has none."""

    def of(value: Value) -> Shown | None:
        known = shapes.of(value)
        if known.dims is None or known.number is not None:
            return None
        return Shown(tuple(map(size_text, known.dims)), known.dtype or "?")

    return of


def axis_id(dim: Dim, path: str, known: Mapping[Sign, str]) -> str:
    """Return the id of an axis among those that are known, where a constant, an annotation or a comment names it."""
    signs = (sign for label in told(dim.labels) for sign in signs_of(label, path))
    return min((known[sign] for sign in signs if sign in known), default="")


def size_text(dim: Dim) -> str:
    """Write a size: a number, or an expression of the program's own numbers, short enough to be read in a shape."""
    text = shown(dim) if _is_own(dim) else str(dim)
    return text if text.isdecimal() or (len(text) <= 12 and "#" not in text) else "?"


def has_name(dim: Dim) -> bool:
    """Whether a size is a number or goes by names of the program's, however long it is when it is written.

    `n` of a function that makes `jnp.zeros((n, 3))` is such a number; a size that only the array itself tells is not.
    """
    return dim.terms is not None and (_is_own(dim) or "#" not in str(dim))


def _is_own(dim: Dim) -> bool:
    return all(atom.parts or (atom.kind == "number" and not atom.text.startswith("_")) for atom in dim.atoms())


@lru_cache(maxsize=4096)
def type_text(kind: Shown | None) -> str:
    """Return the short form of a type; empty when it is not known."""
    return f"{short_dtype(kind.dtype)}[{','.join(kind.shape)}]" if kind else ""


def short_dtype(name: str) -> str:
    """Shorten `float32` to `f32`, and every kind of typed key to `key`."""
    if name.startswith("key<"):
        return "key"
    for long, short in _SHORT:
        if re.fullmatch(rf"{long}\d+.*", name):
            return short + name[len(long) :]
    return name
