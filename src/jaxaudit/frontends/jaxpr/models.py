"""What a target turns out to be: a function, a function with its arguments, or a model of flax, equinox or haiku."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jaxaudit.frontends.jaxpr.imports import the_jax
from jaxaudit.frontends.jaxpr.specs import SpecError


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


def callable_of(found: Any, expression: str) -> Target:
    """Turn the value of a target's expression into something to trace."""
    if hasattr(found, "init") and hasattr(found, "apply") and not inspect.isclass(found):
        return _transformed(found, expression)
    if isinstance(found, tuple) and found and callable(found[0]):
        return _built(found, expression)
    if inspect.isclass(found):
        found = _instance(found, expression)
        return callable_of(found, expression)
    if _is_equinox(found):
        return _equinox(found)
    if not callable(found):
        raise SpecError(f"`{expression}` is a {type(found).__name__}, which cannot be called")
    return _function(_bound(found, expression))


def _built(found: tuple[Any, ...], expression: str) -> Target:
    """Take what a `build()` gives: function and arguments, and keyword arguments."""
    function, args, *rest = (*found, ()) if len(found) == 1 else found
    if not isinstance(args, (list, tuple)):
        args = (args,)
    base = _function(function)
    kwargs = rest[0] if rest else {}
    return Target(function, base.name, base.signature, base.path, base.line, (tuple(args), dict(kwargs)))


def _function(function: Callable[..., Any]) -> Target:
    plain = inspect.unwrap(getattr(function, "__func__", function))
    while hasattr(plain, "func"):
        plain = inspect.unwrap(plain.func)
    code = getattr(plain, "__code__", None)
    name = getattr(plain, "__qualname__", type(function).__name__).replace("<lambda>", "lambda")
    return Target(
        function,
        name.rpartition("<locals>.")[2],
        _signature(function),
        code.co_filename if code else "",
        code.co_firstlineno if code else 1,
        hints=plain,
    )


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _transformed(model: Any, expression: str) -> Target:
    """Take a flax module, or haiku's pair of `init` and `apply`."""
    name = type(model).__name__ if hasattr(model, "__call__") else expression  # noqa: B004
    if hasattr(model, "scope") or hasattr(model, "tabulate"):
        call = type(model).__call__
        base = _function(call)
        signature = _without_first(base.signature)

        def apply_flax(variables: Any, *args: Any, **kwargs: Any) -> Any:
            rngs = {"dropout": the_jax().random.key(1)}
            return model.apply(variables, *args, rngs=rngs, **kwargs)

        def init_flax(key: Any, *args: Any, **kwargs: Any) -> Any:
            return model.init({"params": key, "dropout": key}, *args, **kwargs)

        return Target(apply_flax, name, signature, base.path, base.line, init=init_flax, hints=call)

    def apply_haiku(params: Any, *args: Any, **kwargs: Any) -> Any:
        return model.apply(params, the_jax().random.key(1), *args, **kwargs)

    return Target(apply_haiku, expression, _haiku_signature(_signature(model.init)), init=model.init)


def _haiku_signature(signature: inspect.Signature | None) -> inspect.Signature | None:
    """Haiku's functions take `*args`, so positions name the arguments."""
    if signature is None or any(one.kind is one.VAR_POSITIONAL for one in signature.parameters.values()):
        return None
    return _without_first(signature)


def _without_first(signature: inspect.Signature | None) -> inspect.Signature | None:
    if signature is None:
        return None
    return signature.replace(parameters=list(signature.parameters.values())[1:])


def _is_equinox(found: Any) -> bool:
    return any(base.__module__.startswith("equinox.") and base.__name__ == "Module" for base in type(found).__mro__)


def _equinox(model: Any) -> Target:
    """Take an equinox model: its arrays become arguments."""
    import importlib

    eqx: Any = importlib.import_module("equinox")
    arrays, rest = eqx.partition(model, eqx.is_array)
    base = _function(type(model).__call__)

    def call(model_: Any, *args: Any, **kwargs: Any) -> Any:
        return eqx.combine(model_, rest)(*args, **kwargs)

    return Target(
        call,
        type(model).__name__,
        _without_first(base.signature),
        base.path,
        base.line,
        hints=type(model).__call__,
        extra={"model": arrays},
    )


def _instance(kind: type, expression: str) -> Any:
    try:
        return kind()
    except TypeError as error:
        raise SpecError(f"`{expression}` is a class; give it its arguments: `{expression}(...)` ({error})") from error


def _bound(found: Any, expression: str) -> Any:
    """Bind a method that is named by its class to an instance, when one can be made."""
    signature = _signature(found)
    names = list(signature.parameters) if signature else []
    if names[:1] != ["self"] or "." not in expression:
        return found
    owner = inspect.unwrap(found).__qualname__.rpartition(".")[0]
    raise SpecError(
        f"`{expression}` is a method; name it on an instance: `{owner}(...).{expression.rpartition('.')[2]}`"
    )
