"""What libraries hide when they wrap the user's functions: whose function it is, and what its arguments are called.

Equinox hands JAX the leaves of all arguments in a structure of its own; here they get back the names that the user's
function has for them. A wrapper that is not known keeps the names that JAX sees.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from jaxaudit.frontends.jaxpr.files import LIBRARY, USER, layer_of
from jaxaudit.frontends.jaxpr.imports import the_jax

_EQUINOX_JIT = "fun_wrapped"
_EQUINOX_GRAD = "fun_value_and_grad"


def users_function(function: Any) -> Any:
    """Look through a library's closure to the one function of the user's that it holds."""
    code = getattr(function, "__code__", None)
    if code is None or layer_of(code.co_filename) != LIBRARY:
        return function
    held = [cell.cell_contents for cell in function.__closure__ or () if _is_full(cell)]
    mine = [one for one in held if layer_of(getattr(_code(one), "co_filename", "")) == USER]
    return mine[0] if len(mine) == 1 else function


def _code(thing: Any) -> Any:
    return getattr(inspect.unwrap(thing), "__code__", None) if callable(thing) else None


def _is_full(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def parameter_names(function: Any) -> list[str]:
    """Return the names of a function's positional parameters, as the user's own function has them."""
    own = _positional(function)
    inner = users_function(function)
    if inner is function or getattr(function, "__code__", None) is None:
        return own
    if function.__code__.co_name == _EQUINOX_GRAD:
        # The first argument comes in two halves: what is differentiated, and the rest of it.
        first, *rest = _positional(inner) or [""]
        return [first, first, *rest]
    return own


def _positional(function: Any) -> list[str]:
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [one.name for one in found if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]


def leaf_names(function: Any, args: Sequence[Any]) -> tuple[str, ...]:
    """Name the arrays that equinox's `filter_jit` hands to JAX; empty for any other function."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_name != _EQUINOX_JIT or "equinox" not in code.co_filename or len(args) != 3:
        return ()
    donated, kept, (fun, first, rest) = args
    leaves = {**donated, **kept}
    names = _positional(_combined(leaves["fun"], fun))
    told = {"fun": _paths(fun), "first": [names[0] + path for path in _paths(first)] if names else _paths(first)}
    told["rest"] = [_rest(path, names) for path in _paths(rest)]
    return tuple(name for part in (donated, kept) for key in sorted(part) for name in _present(part[key], told[key]))


def _present(leaves: Sequence[Any], names: Sequence[str]) -> list[str]:
    return [name for leaf, name in zip(leaves, names, strict=True) if leaf is not None]


def _combined(dynamic: Sequence[Any], static: tuple[Sequence[Any], Any]) -> Any:
    leaves = [d if s is None else s for d, s in zip(dynamic, static[0], strict=True)]
    return the_jax().tree_util.tree_unflatten(static[1], leaves)


def _paths(static: tuple[Sequence[Any], Any]) -> list[str]:
    util = the_jax().tree_util
    tree = util.tree_unflatten(static[1], list(range(static[1].num_leaves)))
    return [util.keystr(path) for path, _ in util.tree_flatten_with_path(tree)[0]]


def _rest(path: str, names: Sequence[str]) -> str:
    """Name a leaf of the arguments after the first, and of the keywords."""
    head, _, tail = path.removeprefix("[").partition("]")
    number, _, further = tail.removeprefix("[").partition("]")
    if head == "1":
        return number.strip("'") + further
    place = int(number) + 1 if number.isdigit() else len(names)
    return (names[place] if place < len(names) else path) + further
