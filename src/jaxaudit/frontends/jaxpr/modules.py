"""Models of flax, haiku and equinox as functions of their parameters, whole or by one of their methods."""

from __future__ import annotations

import importlib
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


_STREAMS = ("params", "dropout", "default", "noise", "carry")
"""Names that flax modules use for their sources of random keys; each gets a key of its own."""


def module_target(found: Any, expression: str) -> Target | None:
    """Take a model, or a method of one; None when it is neither."""
    owner = getattr(found, "__self__", None)
    function = getattr(found, "__func__", None)
    model, method = (owner, function) if owner is not None and function is not None else (found, None)
    if inspect.isclass(model):
        return None
    if _is_a(model, "flax.linen", "Module"):
        return _flax(model, method)
    if _is_a(model, "flax.nnx", "Module"):
        return _nnx(model, method)
    if _is_a(model, "equinox", "Module") and (method is not None or callable(model)):
        return _equinox(model, method)
    if hasattr(model, "init") and hasattr(model, "apply"):
        return _haiku(model, expression)
    return None


def _is_a(model: Any, package: str, name: str) -> bool:
    return any(base.__name__ == name and base.__module__.startswith(package) for base in type(model).__mro__)


def _described(model: Any, method: Callable[..., Any] | None) -> tuple[Target, str, inspect.Signature | None]:
    """Return the method's own place, how to call it, and its signature without `self`."""
    called: Any = method or type(model).__call__
    base = function_target(called)
    name = type(model).__name__ + (f".{base.name.rpartition('.')[2]}" if method is not None else "")
    return base, name, _without_first(base.signature)


def _without_first(signature: inspect.Signature | None) -> inspect.Signature | None:
    return signature.replace(parameters=list(signature.parameters.values())[1:]) if signature is not None else None


def _flax(model: Any, method: Callable[..., Any] | None) -> Target:
    base, name, signature = _described(model, method)
    extra: dict[str, Any] = {} if method is None else {"method": inspect.unwrap(method).__name__}

    def keys(seed: int) -> dict[str, Any]:
        return {stream: the_jax().random.key(seed + place) for place, stream in enumerate(_STREAMS)}

    def apply_flax(variables: Any, *args: Any, **kwargs: Any) -> Any:
        mutable = [kind for kind in variables if kind != "params"]
        return model.apply(variables, *args, rngs=keys(100), mutable=mutable or False, **extra, **kwargs)

    def init_flax(key: Any, *args: Any, **kwargs: Any) -> Any:
        return model.init({**keys(0), "params": key}, *args, **extra, **kwargs)

    return Target(
        apply_flax, name, signature, base.path, base.line, init=init_flax, hints=method or type(model).__call__
    )


def _haiku(model: Any, expression: str) -> Target:
    """Take haiku's pair of `init` and `apply`, with state where the transform has one."""
    stateful = "WithState" in type(model).__name__ or "state" in signature_names(model.apply)[:2]

    def apply_haiku(made: Any, *args: Any, **kwargs: Any) -> Any:
        key = the_jax().random.key(1)
        return model.apply(*made, key, *args, **kwargs) if stateful else model.apply(made, key, *args, **kwargs)

    return Target(apply_haiku, expression, _haiku_signature(signature_of(model.init)), init=model.init)


def signature_names(function: Any) -> list[str]:
    """Return the names of a function's parameters."""
    signature = signature_of(function)
    return list(signature.parameters) if signature is not None else []


def _haiku_signature(signature: inspect.Signature | None) -> inspect.Signature | None:
    """Haiku's functions take `*args`, so positions name the arguments."""
    if signature is None or any(one.kind is one.VAR_POSITIONAL for one in signature.parameters.values()):
        return None
    return _without_first(signature)


def _equinox(model: Any, method: Callable[..., Any] | None) -> Target:
    """Take an equinox model: its arrays become arguments."""
    eqx: Any = importlib.import_module("equinox")
    arrays, rest = eqx.partition(model, eqx.is_array)
    base, name, signature = _described(model, method)
    called = inspect.unwrap(method) if method is not None else type(model).__call__

    def call(leaves: Any, *args: Any, **kwargs: Any) -> Any:
        return called(eqx.combine(leaves, rest), *args, **kwargs)

    return Target(call, name, signature, base.path, base.line, hints=called, extra={"model": arrays})


def _nnx(model: Any, method: Callable[..., Any] | None) -> Target:
    """Take an nnx model: its state becomes an argument, and what the call changes of it a result."""
    nnx: Any = importlib.import_module("flax.nnx")
    graph, state = nnx.split(model)
    base, name, signature = _described(model, method)
    called = method if method is not None else type(model).__call__

    def call(given: Any, *args: Any, **kwargs: Any) -> Any:
        merged = nnx.merge(graph, given)
        out = called(merged, *args, **kwargs)
        return out, nnx.state(merged)

    return Target(call, name, signature, base.path, base.line, hints=called, extra={"model": state})


__all__ = ["Target", "callable_of"]


def callable_of(found: Any, expression: str) -> Target:
    """Turn the value of a target's expression into something to trace."""
    if isinstance(found, tuple) and not hasattr(found, "apply") and found and callable(found[0]):
        return _built(found)
    if inspect.isclass(found):
        return callable_of(_instance(found, expression), expression)
    model = module_target(found, expression)
    if model is not None:
        return model
    if not callable(found):
        kind = type(found).__name__
        article = "an" if kind[:1].lower() in "aeiou" else "a"
        raise SpecError(f"`{expression}` is {article} {kind}, which cannot be called")
    return function_target(_bound(found, expression))


def _built(found: tuple[Any, ...]) -> Target:
    """Take what a `build()` gives: function and arguments, and keyword arguments."""
    function, args, *rest = (*found, ()) if len(found) == 1 else found
    if not isinstance(args, (list, tuple)):
        args = (args,)
    base = function_target(function)
    kwargs = rest[0] if rest else {}
    return Target(function, base.name, base.signature, base.path, base.line, (tuple(args), dict(kwargs)))


def _instance(kind: type, expression: str) -> Any:
    try:
        return kind()
    except TypeError as error:
        raise SpecError(f"`{expression}` is a class; give it its arguments: `{expression}(...)` ({error})") from error


def _bound(found: Any, expression: str) -> Any:
    """Bind a method that is named by its class to an instance, when one can be made."""
    signature = signature_of(found)
    names = list(signature.parameters) if signature else []
    if names[:1] != ["self"] or "." not in expression:
        return found
    owner = inspect.unwrap(found).__qualname__.rpartition(".")[0]
    raise SpecError(
        f"`{expression}` is a method; name it on an instance: `{owner}(...).{expression.rpartition('.')[2]}`"
    )
