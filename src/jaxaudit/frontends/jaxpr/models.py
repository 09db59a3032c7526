"""What a target turns out to be: a function, a function with its arguments, or a model of flax, equinox or haiku."""

from __future__ import annotations

import inspect
from typing import Any

from jaxaudit.frontends.jaxpr.modules import module_target
from jaxaudit.frontends.jaxpr.specs import SpecError
from jaxaudit.frontends.jaxpr.targets_model import Target, function_target, signature_of

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
