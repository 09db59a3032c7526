"""Answers what a qualified library name means: its one canonical spelling, and its row in the tables."""

from __future__ import annotations

from functools import cache

from jaxaudit.ir import Op
from jaxaudit.libraries import (
    distributions,
    envs,
    equinox,
    flax,
    flax_layers,
    haiku,
    jax,
    lax,
    methods,
    nn,
    numpy,
    numpy_more,
    optax,
    others,
    python,
    random,
    scipy,
)
from jaxaudit.libraries.aliases import NAMES, PREFIXES
from jaxaudit.libraries.results import Like, Parts
from jaxaudit.libraries.rows import Row
from jaxaudit.libraries.table import Table, merge
from jaxaudit.libraries.unmodelled import UNMODELLED

_TABLES = (
    random, numpy, numpy_more, lax, nn, scipy, methods, jax, python,
    flax, flax_layers, equinox, haiku, distributions, envs, optax, others,
)  # fmt: skip

ROWS: Table = merge(*(table.ROWS for table in _TABLES))
"""Every row, by canonical name; a name with a `*` is a wildcard."""


@cache
def canonical(name: str) -> str:
    """Returns the one spelling of a qualified name: old names and re-exports become the current public name."""
    for _ in range(8):
        renamed = _rename(name)
        if renamed == name:
            break
        name = renamed
    return name


def _rename(name: str) -> str:
    """Applies the first alias that fits: the whole name, else its longest known prefix."""
    whole = NAMES.get(name)
    if whole is not None:
        return whole
    head = name
    while (cut := head.rfind(".")) > 0:
        head = head[:cut]
        target = PREFIXES.get(head)
        if target is not None:
            return target + name[cut:]
    return name


@cache
def lookup(name: str) -> Row | None:
    """Returns the row of a library name in any spelling, or None when nothing is known of it.

    An exact row wins over a wildcard. Of the wildcards that fit, the one that spells out most of the name wins.
    """
    name = canonical(name)
    row = ROWS.get(name)
    if row is not None or name in UNMODELLED:
        return row
    for first, last, wild in _WILDCARDS.get(name.partition(".")[0], ()):
        if len(name) > len(first) + len(last) and name.startswith(first) and name.endswith(last):
            return wild
    return None


def kind_of(op: Op) -> str:
    """Return what an op does; of a function of NumPy what that of JAX with the same name does."""
    row = lookup(f"jax.numpy.{op.function}") if op.name == "array.numpy" else None
    return op.name if row is None else row.op


@cache
def plays(name: str, role: str) -> bool:
    """Whether a library function plays a part in a protocol."""
    row = lookup(name)
    return row is not None and role in row.roles


@cache
def playing(*roles: str) -> tuple[str, ...]:
    """Return the functions that play one of some parts."""
    return tuple(name for role in roles for name, row in ROWS.items() if role in row.roles)


def takes_function(name: str) -> bool:
    """Whether a library function, or the constructor of a class, is given a function to keep or to call."""
    row = lookup(name)
    return row is not None and "function" in row.kinds.values()


def takes_trees(name: str) -> bool:
    """Whether a library function is for whole trees of parameters, gradients or states."""
    row = lookup(name)
    return row is not None and bool(row.trees)


def like(name: str, position: int | None = None) -> Like | None:
    """Return which argument of a library function its result is like, or that item of its result."""
    row = lookup(name)
    return None if row is None else row.like(position)


@cache
def updates(name: str) -> bool:
    """Whether a library function gives a newer version of an argument, alone or first of several."""
    row = lookup(name) if name else None
    result = None if row is None else row.result
    first = result.items[0] if isinstance(result, Parts) and result.items else result
    return isinstance(first, Like) and first.newer


def _wildcards() -> dict[str, list[tuple[str, str, Row]]]:
    """Sorts the wildcard rows by their top-level package, those with the most literal text first."""
    found: dict[str, list[tuple[str, str, Row]]] = {}
    for name, row in ROWS.items():
        first, star, last = name.partition("*")
        if star:
            found.setdefault(name.partition(".")[0], []).append((first, last, row))
    for group in found.values():
        group.sort(key=lambda entry: (-len(entry[0]) - len(entry[1]), -len(entry[0]), entry[0], entry[1]))
    return found


_WILDCARDS = _wildcards()
