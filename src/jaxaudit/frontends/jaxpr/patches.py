"""Puts the markers into JAX's transformations, and takes them out again.

A patched transformation behaves as the original. While something is traced on behalf of the user it opens a scope with
the number of a record; those that leave no equation of their own (`vmap`, `grad`, ...) mark what goes in and out too.
Body functions of `scan`, `cond` and loops are handed on untouched, so that JAX's caches keep working.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.derivatives import followed
from jaxaudit.frontends.jaxpr.files import USER
from jaxaudit.frontends.jaxpr.frames import call_site
from jaxaudit.frontends.jaxpr.markers import mark, scope_of
from jaxaudit.frontends.jaxpr.probe import met
from jaxaudit.frontends.jaxpr.probe.registered import registrations
from jaxaudit.frontends.jaxpr.records import RECORDS, Record
from jaxaudit.frontends.jaxpr.wrappers import parameter_names, users_function

LEAVES: Mapping[str, tuple[str, tuple[str, ...], str]] = {
    "scan": ("f", ("init", "xs"), "[0]"),
    "while_loop": ("body_fun", ("init_val",), ""),
    "map": ("f", ("xs",), ""),
}
"""Of each loop: its body, the arguments that become those of the body, and where its result has the first of them."""


def leaves_of_turn(
    kind: str, original: Any, args: Sequence[Any], options: Mapping[str, Any]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the leaves that a body is given, and where the carried ones sit in the result."""
    body, arguments, first = LEAVES[kind]
    try:
        bound = inspect.signature(original).bind(*args, **options).arguments
        names = parameter_names(bound[body])
        paths = [_paths(bound.get(argument)) for argument in arguments]
    except (TypeError, ValueError, KeyError):
        return (), ()
    turn = tuple(name + path for name, own in zip(names, paths, strict=False) for path in own)
    return turn, () if kind == "map" else tuple(f"{first}{path}" for path in paths[0])


def _paths(tree: Any) -> list[str]:
    return [compat.tree_util.keystr(path) for path, _ in compat.tree_util.tree_flatten_with_path(tree)[0]]


Patch = Callable[..., Any]

_WRAPPING = "vmap pmap grad value_and_grad jacfwd jacrev jacobian hessian checkpoint remat shard_map".split()
"""Functions of `jax` that take a function and give one back."""

_SAME_AS = {"jacobian": "jacrev", "remat": "checkpoint"}

_IMMEDIATE = ("vjp", "jvp", "linearize")
"""Functions of `jax` that take a function and its arguments."""

_CONTROL_FLOW = ("scan", "while_loop", "fori_loop", "cond", "switch", "map", "associative_scan")
"""Functions of `jax.lax` that take functions and their operands."""

_MARKED = ("vmap", "grad", "value_and_grad", "jacfwd", "jacrev", "hessian", "vjp", "jvp", "linearize")
"""Transformations without an equation of their own.

A checkpointed function is not wrapped: JAX traces it once for many calls, which a wrapper for each call would prevent.
"""

_replaced: list[tuple[Any, str, Any, Any]] = []


def install(*, probe: bool) -> None:
    """Patch JAX and what was imported from it already; what libraries do inside themselves stays unmarked."""
    if _replaced:
        return
    # JAX hands out jaxprs that it traced before, and those have no markers.
    compat.jax.clear_caches()
    for name in _WRAPPING:
        if hasattr(compat.jax, name):
            _replace(compat.jax, name, _wrapping(_SAME_AS.get(name, name), getattr(compat.jax, name)))
    for name in _IMMEDIATE:
        _replace(compat.jax, name, _immediate(name, getattr(compat.jax, name)))
    for name in _CONTROL_FLOW:
        _replace(compat.lax, name, _control_flow(name, getattr(compat.lax, name)))
    for name, register in registrations().items() if probe else ():
        _replace(compat.tree_util, name, _like(register, getattr(compat.tree_util, name)))
    for kind in ("custom_jvp", "custom_vjp"):
        rule = getattr(compat.jax, kind)
        _replace(rule, "__call__", _custom(kind, rule.__call__))
    _rebind({id(old): new for owner, _, old, new in _replaced if not isinstance(owner, type)})


def is_installed() -> bool:
    """Whether the markers are in."""
    return bool(_replaced)


def uninstall() -> None:
    """Put the originals back everywhere."""
    _rebind({id(new): old for owner, _, old, new in _replaced if not isinstance(owner, type)})
    for owner, name, old, _ in reversed(_replaced):
        setattr(owner, name, old)
    _replaced.clear()


def _replace(owner: Any, name: str, new: Any) -> None:
    _replaced.append((owner, name, getattr(owner, name), new))
    setattr(owner, name, new)


def _rebind(table: Mapping[int, Any]) -> None:
    """Exchange what modules outside JAX have imported by name."""
    for name, module in list(sys.modules.items()):
        if name == "jax" or name.startswith(("jax.", "jaxlib", "jaxaudit.")):
            continue
        space = getattr(module, "__dict__", None)
        if isinstance(space, dict):
            for key, value in list(space.items()):
                if id(value) in table and callable(value):
                    space[key] = table[id(value)]


def _record(kind: str, function: Any, options: Mapping[str, Any]) -> Record | None:
    """Make a record when something is traced for the user; None when the call is to go on unmarked."""
    if not compat.is_recording():
        return None
    caller, span = call_site()
    if span is None or caller != USER:
        return None
    return RECORDS.new(kind, name_of(function), options, span)


def name_of(function: Any) -> str:
    """Name a function for people."""
    while isinstance(function, functools.partial):
        function = function.func
    function = users_function(inspect.unwrap(function))
    name = getattr(function, "__qualname__", None) or type(function).__name__
    return name.rpartition(".")[2].replace("<lambda>", "lambda")


def _like(wrapper: Patch, original: Any) -> Patch:
    return functools.update_wrapper(wrapper, original, updated=())


def _inside(function: Any, record: Record) -> Patch:
    """Mark what a function is given and what it gives back."""
    names = record.parameters = parameter_names(function)

    def marked(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = mark((args, kwargs), record, "in", names)
        return mark(function(*args, **kwargs), record, "out")

    return _like(marked, function)


def _wrapping(kind: str, original: Any) -> Patch:
    signature = inspect.signature(original)
    first = next(iter(signature.parameters))

    def transformation(*given: Any, **options: Any) -> Any:
        if not given and first not in options:
            original(**options)
            return functools.partial(transformation, **options)
        plain = original(*given, **options)
        function = given[0] if given else options[first]

        def transformed(*args: Any, **kwargs: Any) -> Any:
            if not compat.is_recording():
                return plain(*args, **kwargs)
            bound = signature.bind(*given, **options).arguments
            record = _record(kind, function, {name: value for name, value in bound.items() if name != first})
            if record is None:
                return plain(*args, **kwargs)
            with scope_of(record):
                if kind not in _MARKED:
                    return plain(*args, **kwargs)
                inner = _inside(function, record)
                again = {**options, first: inner} if first in options else options
                out = original(*((inner, *given[1:]) if given else ()), **again)(*args, **kwargs)
                return _left(out, record)

        return _keep(_like(transformed, plain), plain)

    return _like(transformation, original)


def _keep(wrapper: Any, plain: Any) -> Any:
    """Return a wrapper the methods of what it stands for, such as `lower` and `trace`."""
    for name in ("lower", "trace", "eval_shape", "clear_cache"):
        if hasattr(plain, name):
            setattr(wrapper, name, getattr(plain, name))
    return wrapper


def _left(out: Any, record: Record) -> Any:
    if record.kind == "vmap":
        treedef = compat.tree_util.tree_structure(out)
        record.out_axes = compat.axes_of_leaves(treedef, record.options.get("out_axes", 0))
    return mark(out, record, "post")


def _immediate(kind: str, original: Any) -> Patch:
    def transformation(function: Any, *args: Any, **options: Any) -> Any:
        record = _record(kind, function, options)
        if record is None:
            return original(function, *args, **options)
        with scope_of(record):
            return original(_inside(function, record), *args, **options)

    return _like(transformation, original)


def _control_flow(kind: str, original: Any) -> Patch:
    def transformation(*args: Any, **options: Any) -> Any:
        if not compat.is_recording():
            return original(*args, **options)
        functions = list(_functions(args, options))
        record = _record(kind, functions[0] if functions else None, {"functions": tuple(map(name_of, functions))})
        if record is None:
            return original(*args, **options)
        if kind in LEAVES:
            record.turn, record.carried = leaves_of_turn(kind, original, args, options)
        with scope_of(record):
            return original(*args, **options)

    return _like(transformation, original)


def _functions(args: tuple[Any, ...], options: Mapping[str, Any]) -> Iterator[Any]:
    for given in (*args, *options.values()):
        if isinstance(given, compat.SEQUENCES) and given and all(map(callable, given)):
            yield from given
        elif callable(given) and not isinstance(given, compat.Tracer):
            yield given


def _custom(kind: str, original: Any) -> Patch:
    def call(rule: Any, *args: Any, **kwargs: Any) -> Any:
        met.note(kind, rule, args, kwargs)
        if not compat.is_recording():
            return original(rule, *args, **kwargs)
        function = met.users_function(rule.fun, "fun")
        record = None if function is None else _record(kind, function, {})
        with scope_of(record) if record is not None else nullcontext(), followed(kind, rule):
            return original(rule, *args, **kwargs)

    return _like(call, original)
