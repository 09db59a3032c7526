"""JAX's promotion of dtypes: the least dtype above all operands in its lattice, weak Python scalars included."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from jaxaudit.analyses.shapes.facts import ShapeFact, canonical
from jaxaudit.ir import Argument, Symbol

_ABOVE = {
    "bool": "int*",
    "int*": "uint8 int8",
    "uint8": "uint16 int16",
    "uint16": "uint32 int32",
    "uint32": "int64",
    "int8": "int16",
    "int16": "int32",
    "int32": "int64",
    "int64": "float*",
    "float*": "bfloat16 float16 complex*",
    "bfloat16": "float32",
    "float16": "float32",
    "float32": "complex64",
    "complex*": "complex64",
    "complex64": "",
}
"""The next dtypes above each one; `*` marks what Python's own numbers are.
Of 64-bit types only the one that others meet in is listed."""

_WEAK = {"int32": "int*", "float32": "float*", "complex64": "complex*"}
_STRONG = {weak: strong for strong, weak in _WEAK.items()}
_INEXACT = frozenset({"bfloat16", "float16", "float32", "complex64"})

DTYPES = frozenset(name for name in _ABOVE if not name.endswith("*") and canonical(name) == name)
"""Every dtype with a place in the lattice."""


@cache
def _upwards(name: str) -> frozenset[str]:
    return frozenset({name}).union(*(_upwards(above) for above in _ABOVE[name].split()))


@cache
def _least(names: frozenset[str]) -> str | None:
    common = frozenset.intersection(*(_upwards(name) for name in names))
    return next((name for name in common if common == _upwards(name)), None)


def promote(facts: Iterable[ShapeFact]) -> tuple[str | None, bool]:
    """Return the dtype that operands have together, and whether it is weak; None where one of them is unknown.

    Whatever else an array is, together with floats of 32 bits it makes such floats: what is complex is known to be.
    """
    names: set[str] = set()
    open_array = False
    for fact in facts:
        if fact.dtype is None and fact.dims is not None:
            open_array = True
            continue
        if fact.dtype is None or fact.dtype not in DTYPES:
            return None, False
        names.add(_WEAK.get(fact.dtype, fact.dtype) if fact.weak else fact.dtype)
    if open_array:
        return ("float32" if "float32" in names and not any("complex" in one for one in names) else None), False
    if not names:
        return None, False
    found = _least(frozenset(names))
    if found is None:
        return None, False
    return _STRONG.get(found, canonical(found)), found in _STRONG


def inexact(dtype: str | None, weak: bool) -> tuple[str | None, bool]:
    """Return the dtype of a function such as `exp`, which makes floats of integers."""
    if dtype is None or dtype in _INEXACT:
        return dtype, weak
    return "float32", weak and dtype == "int32"


def summed(dtype: str | None) -> str | None:
    """Return the dtype of a sum: small integers and truth values are counted in whole words."""
    if dtype is None or dtype in _INEXACT:
        return dtype
    return "uint32" if dtype.startswith("uint") else "int32"


_NAMES = {"float_": "float32", "int_": "int32", "bool_": "bool", "uint": "uint32", "single": "float32"}
_PYTHON = {"float": "float32", "int": "int32", "bool": "bool", "complex": "complex64"}


def named_dtype(argument: Argument) -> str | None:
    """Return the dtype that an argument such as `jnp.float32`, `"float32"` or `float` names."""
    if not isinstance(argument, str):
        return None
    name = argument.rpartition(".")[2] if isinstance(argument, Symbol) or "." in argument else argument
    name = {**_NAMES, **_PYTHON, "double": "float64"}.get(name, name)
    name = canonical(name)
    return name if name in DTYPES else None
