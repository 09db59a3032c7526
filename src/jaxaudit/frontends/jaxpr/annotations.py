"""Reads specs from annotations: jaxtyping's `Float[Array, "batch time"]` and typed keys."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, get_type_hints

from jaxaudit.frontends.jaxpr.specs import KEY, ArraySpec, Spec

_FIRST = ("float32", "int32", "bool", "uint32", "complex64", "uint8", "bfloat16", "float16")
"""Which dtype stands for an annotation that admits several."""


def annotated_specs(function: Callable[..., Any]) -> dict[str, Spec]:
    """Return the specs of the parameters whose annotations tell shape and dtype."""
    found: dict[str, Spec] = {}
    for name, annotation in _annotations(function).items():
        spec = spec_of(annotation)
        if spec is not None:
            found[name] = spec
    return found


def spec_of(annotation: Any) -> Spec | None:
    """Turn one annotation into a spec; None when it says no shape."""
    dims = getattr(annotation, "dim_str", None)
    if isinstance(dims, str):
        return ArraySpec(_dtype(getattr(annotation, "dtypes", ())), tuple(_dims(dims)))
    if getattr(annotation, "__name__", "") == "PRNGKeyArray" or "PRNGKeyArray" in str(annotation):
        return ArraySpec(KEY, ())
    return None


def _annotations(function: Callable[..., Any]) -> dict[str, Any]:
    plain = inspect.unwrap(function)
    try:
        return get_type_hints(plain)
    except Exception:  # noqa: BLE001
        return dict(getattr(plain, "__annotations__", {}))


def _dtype(admitted: Any) -> str:
    names = [admitted] if isinstance(admitted, str) else [str(name) for name in admitted or ()]
    if any("key<" in name or name == "prng_key" for name in names):
        return KEY
    return next((name for name in _FIRST if name in names), names[0] if names and names[0].isalnum() else "float32")


def _dims(text: str) -> list[str]:
    """Return the axes of a jaxtyping string; a variadic one stands for one axis, an anonymous one for a new name."""
    dims: list[str] = []
    for number, part in enumerate(text.split()):
        bare = part.lstrip("#*?_") or f"axis{number}"
        if bare == "...":
            bare = f"axis{number}"
        name, equals, size = bare.partition("=")
        known = size if equals and size.isdigit() else bare
        dims.append(f"{name}={size}" if equals and size.isdigit() else re.sub(r"[{}]", "", known))
    return dims
