"""Looks for exchanges that explain a wrong rule: two gradients, or two residuals, in each other's place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.probe.measure import Measured, Numbers
from jaxaudit.frontends.jaxpr.probe.met import Met

_MOST_RESIDUALS = 5


def swapped_leaves(numbers: Numbers) -> tuple[int, int] | None:
    """Return two arguments each of which has the derivative that the other should have."""
    for first, second in combinations(range(len(numbers.leaves)), 2):
        one, other = numbers.leaves[first], numbers.leaves[second]
        if one.truth.shape == other.truth.shape and _is(one, other) and _is(other, one):
            return first, second
    return None


def _is(one: Measured, other: Measured) -> bool:
    np = compat.np
    of = other.sure & np.isfinite(one.rule)
    return bool(of.any() and np.allclose(one.rule[of], other.truth[of], rtol=1e-2, atol=1e-4))


def swapped_residuals(met: Met, fits: Callable[[Any], bool]) -> str:
    """Say which two residuals the backward rule takes for each other: with them exchanged it would be right."""
    for first, second in combinations(range(_MOST_RESIDUALS), 2):
        for rule in _exchanged(met, first, second):
            try:
                right = fits(rule)
            except Exception:  # noqa: BLE001
                right = False
            if right:
                return f"with residuals {first + 1} and {second + 1} exchanged it would be right"
    return ""


def _exchanged(met: Met, first: int, second: int) -> Iterator[Any]:
    def forward(*args: Any) -> Any:
        out, saved = met.rule.fwd(*args)
        items = list(saved)
        items[first], items[second] = items[second], items[first]
        return out, type(saved)(items)

    rule = compat.jax.custom_vjp(met.rule.fun, nondiff_argnums=tuple(sorted(met.static)))
    rule.defvjp(forward, met.rule.bwd)
    yield rule
