"""What a target is: a function to trace, with what is known of its arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Target:
    """A function to trace, with what is known of its arguments."""

    function: Callable[..., Any]
    name: str
    signature: inspect.Signature | None
    path: str = ""
    line: int = 1
    given: tuple[Sequence[Any], Mapping[str, Any]] | None = None
    """Arguments that came with it."""
    init: Callable[..., Any] | None = None
    """Makes the model's parameters from a key and the arguments; evaluated abstractly."""
    hints: Callable[..., Any] | None = None
    """The function whose annotations count."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Arguments that are arrays already, such as the leaves of an equinox model."""


def function_target(function: Callable[..., Any]) -> Target:
    """Take a plain function, a partial or a bound method."""
    plain = inspect.unwrap(getattr(function, "__func__", function))
    while hasattr(plain, "func"):
        plain = inspect.unwrap(plain.func)
    code = getattr(plain, "__code__", None)
    name = getattr(plain, "__qualname__", type(function).__name__).replace("<lambda>", "lambda")
    return Target(
        function,
        name.rpartition("<locals>.")[2],
        signature_of(function),
        code.co_filename if code else "",
        code.co_firstlineno if code else 1,
        hints=plain,
    )


def signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    """Return the signature of a function, where it has one."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None
