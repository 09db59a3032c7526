"""Puts equations together that are one act to the user: a call of `jax.random`, or a row taken out of an array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.sites import Site

RANDOM, ROW, SINGLE = "random", "row", ""

KEY_PRIMITIVES = {
    "random_bits": "bits",
    "random_clone": "clone",
    "random_fold_in": "fold_in",
    "random_gamma": "gamma",
    "random_seed": "key",
    "random_split": "split",
    "random_unwrap": "key_data",
    "random_wrap": "wrap_key_data",
}
"""The primitives about keys, and the function of `jax.random` that each stands for when it is met alone."""


_SLICES = ("slice", "dynamic_slice")
_FIRSTS = frozenset((*KEY_PRIMITIVES, *_SLICES))
"""Primitives that more than a single equation may begin with."""


class Run(NamedTuple):
    """Consecutive equations that become one op."""

    start: int
    stop: int
    kind: str = SINGLE
    function: str = ""
    """Of a call of `jax.random`: the function's name."""


def runs(equations: Sequence[Any], sites: Sequence[Site], last_use: Mapping[Any, int]) -> list[Run]:
    """Divide the equations of a jaxpr into runs."""
    found: list[Run] = []
    position = 0
    while position < len(equations):
        run = None
        if sites[position].origin.random is not None or equations[position].primitive.name in _FIRSTS:
            run = _random(equations, sites, position) or _row(equations, position, last_use)
        if run is None:
            run = Run(position, position + 1)
        found.append(run)
        position = run.stop
    return found


def _random(equations: Sequence[Any], sites: Sequence[Site], start: int) -> Run | None:
    frame = sites[start].origin.random
    if frame is None:
        name = KEY_PRIMITIVES.get(equations[start].primitive.name, "")
        return Run(start, start + 1, RANDOM, name) if name else None
    stop = start + 1
    while stop < len(equations) and _goes_on(equations, sites, start, stop):
        stop += 1
    if not any(_touches_keys(equation) for equation in equations[start:stop]):
        return None
    return Run(start, stop, RANDOM, frame[0].co_name.strip("_"))


def _goes_on(equations: Sequence[Any], sites: Sequence[Site], start: int, position: int) -> bool:
    """Whether an equation belongs to the same call as the one before it."""
    first, site = sites[start], sites[position]
    called, before, now = first.origin.random, sites[position - 1].origin.random, site.origin.random
    if called is None or before is None or now is None:
        return False
    same = now[0] is called[0] and site.span == first.span and site.around.keys == first.around.keys
    if not same or now[1] < before[1]:
        return False
    # A loop in the user's code may call the same function twice in a row: then the same step comes twice.
    one, other = equations[position - 1], equations[position]
    repeated = now[1] == before[1] and _is_step(other) and one.primitive is other.primitive
    return not repeated


def _is_step(equation: Any) -> bool:
    return equation.primitive.name in ("jit", "pjit") or equation.primitive.name in KEY_PRIMITIVES


def _touches_keys(equation: Any) -> bool:
    name = equation.primitive.name
    return name in KEY_PRIMITIVES or any(
        not compat.is_literal(atom) and compat.is_key(atom) for atom in equation.invars
    )


def _row(equations: Sequence[Any], start: int, last_use: Mapping[Any, int]) -> Run | None:
    """Find a slice whose only reader squeezes axes of size one away: `a[0]`."""
    first = equations[start]
    if first.primitive.name not in _SLICES or start + 1 >= len(equations):
        return None
    second, made = equations[start + 1], first.outvars[0]
    if second.primitive.name == "squeeze" and second.invars[0] is made and last_use.get(made) == start + 1:
        return Run(start, start + 2, ROW)
    return None


def outside_inputs(equations: Sequence[Any]) -> list[Any]:
    """Return the operands of a run that come from outside it, each once."""
    # A variable is made before it is read, so one look at each is enough.
    known: set[int] = set()
    found: list[Any] = []
    for equation in equations:
        for atom in equation.invars:
            if id(atom) not in known:
                known.add(id(atom))
                found.append(atom)
        for out in equation.outvars:
            known.add(id(out))
    return found
