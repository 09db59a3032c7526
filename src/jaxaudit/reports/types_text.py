"""Writes exact types the way people write them: `f32[32,4]`, `key[8]`, `i32[]`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from jaxaudit.ir import ArrayType, Value

_SHORT = (("bfloat", "bf"), ("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c"))


def type_text(kind: ArrayType | None) -> str:
    """Give the short form of a type; empty when it is not known."""
    return f"{short_dtype(kind.dtype)}[{','.join(map(str, kind.shape))}]" if kind else ""


def short_dtype(name: str) -> str:
    """Shorten `float32` to `f32`, and every kind of typed key to `key`."""
    if name.startswith("key<"):
        return "key"
    for long, short in _SHORT:
        if re.fullmatch(rf"{long}\d+.*", name):
            return short + name[len(long) :]
    return name


def value_type(value: Value, types: Mapping[Value, ArrayType]) -> str:
    """Give the short form of a value's type."""
    return type_text(types.get(value))


def without_axis(kind: ArrayType | None, axis: int | None) -> ArrayType | None:
    """Give a type with one axis taken away; unchanged where there is none to take."""
    if kind is None or axis is None or not kind.shape:
        return kind
    sizes = list(kind.shape)
    del sizes[axis % len(sizes)]
    return ArrayType(tuple(sizes), kind.dtype, kind.weak)


def with_axis(kind: ArrayType | None, axis: int | None, size: int | None) -> ArrayType | None:
    """Give a type with one axis put in; unchanged where nothing is known of it."""
    if kind is None or axis is None or size is None:
        return kind
    sizes = list(kind.shape)
    sizes.insert(axis if axis >= 0 else len(sizes) + 1 + axis, size)
    return ArrayType(tuple(sizes), kind.dtype, kind.weak)
