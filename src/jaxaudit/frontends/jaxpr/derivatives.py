"""The user's derivative rules in a trace: where each was called, and traces of those that nothing differentiates.

JAX runs a rule long after the call that it belongs to, and gives its equations the place of that call. Here the rule
runs under a scope with a number and keeps its own frames; the number stands for the frames of the call, so that both
are known.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.probe.met import NOTES, Kind, Met, code_of, is_kind, users_function

RULE_SCOPE = "jaxaudit@"
"""Starts the name of the scopes in which rules run."""

_ROLES = {"custom_vjp": ("fwd", "bwd"), "custom_jvp": ("jvp",)}
_WORDS = {"fwd": "forward rule", "bwd": "backward rule", "jvp": "derivative rule"}


class Ran(NamedTuple):
    """One rule that ran for one call."""

    code: object
    """What identifies the user's function."""
    role: str
    """`fwd`, `bwd` or `jvp`."""
    called: Any
    """The frames of the call; None where those of the rule go on to it."""

    @property
    def name(self) -> str:
        """The name of the rule, for people."""
        return str(getattr(self.code, "co_name", "")).replace("<lambda>", "lambda")


_ran: list[Ran] = []
_numbers: dict[object, int] = {}
_followed: WeakKeyDictionary[Any, dict[str, tuple[Any, Any]]] = WeakKeyDictionary()


def ran(scope: str) -> Ran | None:
    """Return the rule that a scope's name stands for."""
    number = scope.removeprefix(RULE_SCOPE)
    return _ran[int(number)] if scope.startswith(RULE_SCOPE) and number.isdigit() else None


@contextmanager
def followed(kind: str, rule: Any) -> Iterator[None]:
    """Let a rule that is being called hand JAX functions that tell where they run."""
    known = _followed.setdefault(rule, {})
    before = {role: getattr(rule, role, None) for role in _ROLES[kind]}
    for role, function in before.items():
        if not any(one is function for one in known.get(role, ())):
            known[role] = (function, _wrapped(function, role) or function)
        setattr(rule, role, known[role][1])
    try:
        yield
    finally:
        for role, function in before.items():
            setattr(rule, role, function)


def _wrapped(function: Any, role: str) -> Any:
    mine = users_function(function, role) if callable(function) else None
    if mine is None:
        return None
    code = code_of(mine)

    @functools.wraps(function)
    def rule(*args: Any, **kwargs: Any) -> Any:
        return _run(function, (code, role), args, kwargs)

    return rule


def _run(function: Any, which: tuple[object, str], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    if not compat.is_recording():
        return function(*args, **kwargs)
    with compat.own_frames() as called, compat.jax.named_scope(f"{RULE_SCOPE}{_number(which, called)}"):
        return function(*args, **kwargs)


RUN_CODE = _run.__code__
"""The frames of a rule end here."""


def _number(which: tuple[object, str], called: Any) -> int:
    codes, offsets = called.raw_frames() if called is not None else ((), ())
    key = (which, tuple(map(id, codes)), tuple(offsets))
    known = _numbers.get(key)
    if known is None:
        known = _numbers[key] = len(_ran)
        _ran.append(Ran(*which, called))
    return known


def rules_of(path: str, line: int, lowered: set[object]) -> Iterator[tuple[str, Any]]:
    """Trace the rules of a function that no trace ran, with the types of a call; each with words for its role."""
    met = next((one for one in NOTES.all() if _place(one) == (path, line)), None)
    if met is None or getattr(met.rule, "symbolic_zeros", False):
        return
    for role in _ROLES[met.kind]:
        function = getattr(met.rule, role, None)
        if code_of(users_function(function, role)) not in lowered:
            with suppress(Exception):
                yield _WORDS[role], _traced(met, role)


def _place(met: Met) -> tuple[str, int]:
    code = code_of(met.rule.fun)
    return getattr(code, "co_filename", ""), getattr(code, "co_firstlineno", 0)


def _traced(met: Met, role: str) -> Any:
    """Trace one rule; what is no array stays as it was in the call."""
    args = list(compat.tree_util.tree_map(_abstract, met.args, is_leaf=is_kind))
    static = [args[at] for at in sorted(met.static)]
    moving = tuple(one for at, one in enumerate(args) if at not in met.static)
    if role == "fwd":
        return _jaxpr(met.rule.fwd, args)
    if role == "jvp":
        return _jaxpr(met.rule.jvp, [*static, moving, _tangents(moving)])
    call, given = _closed(met.rule.fwd, args)
    out, saved = compat.jax.eval_shape(call, *given)
    return _jaxpr(met.rule.bwd, [*static, saved, _tangents(out)])


def _jaxpr(function: Any, args: list[Any]) -> Any:
    call, given = _closed(function, args)
    return compat.jax.make_jaxpr(call)(*given)


def _closed(function: Any, args: list[Any]) -> tuple[Any, list[Any]]:
    """Close a function over the arguments that hold no arrays; give it with the others."""
    places = [at for at, one in enumerate(args) if any(map(_is_abstract, compat.tree_util.tree_leaves(one)))]
    if len(places) == len(args):
        return function, args

    @functools.wraps(function)
    def call(*given: Any) -> Any:
        filled = dict(zip(places, given, strict=True))
        return function(*[filled.get(at, one) for at, one in enumerate(args)])

    with suppress(TypeError, ValueError, IndexError):
        signature = inspect.signature(function)
        kept = [list(signature.parameters.values())[at] for at in places]
        vars(call)["__signature__"] = signature.replace(parameters=kept)
    return call, [args[at] for at in places]


def _is_abstract(leaf: Any) -> bool:
    return isinstance(leaf, compat.jax.ShapeDtypeStruct)


def _abstract(leaf: Any) -> Any:
    if not isinstance(leaf, Kind):
        return leaf
    dtype = compat.jax.random.key(0, impl=leaf.dtype).dtype if leaf.is_key else leaf.dtype
    return compat.jax.ShapeDtypeStruct(leaf.shape, dtype)


def _tangents(tree: Any) -> Any:
    """Return the types of tangents or cotangents; those of whole numbers and keys hold nothing."""
    return compat.tree_util.tree_map(_tangent, tree)


def _tangent(leaf: Any) -> Any:
    dtypes = compat.jax.dtypes
    if not hasattr(leaf, "dtype"):
        return leaf
    if dtypes.issubdtype(leaf.dtype, compat.np.inexact):
        return compat.jax.ShapeDtypeStruct(leaf.shape, leaf.dtype)
    return compat.np.zeros(leaf.shape, dtypes.float0)
