"""Evaluates a rule, autodiff of its function and finite differences, on the same inputs and directions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.probe.met import Kind, Met
from jaxaudit.frontends.jaxpr.probe.samples import Domain, directions, sample
from jaxaudit.frontends.jaxpr.probe.subject import Subject, Vector

POINTS = 8
FACTORS = 8
"""Cotangents at each point."""
_DIRECTIONS = 48

Array = Any


@dataclass(frozen=True, slots=True)
class Precision:
    """How exact numbers are, and how far to step for a difference."""

    step: float
    tolerance: float


WIDE = Precision(step=1e-5, tolerance=1e-3)
COARSE = Precision(step=2e-2, tolerance=3e-2)
"""For functions that compute with fewer bits inside, or that stop at a tolerance."""
NATIVE = Precision(step=2e-2, tolerance=5e-2)


@dataclass(frozen=True, slots=True)
class Measured:
    """The derivatives of one leaf, by point, cotangent and direction."""

    truth: Array
    """Finite differences."""
    sure: Array
    """Where two step lengths agree."""
    rule: Array
    auto: Array | None
    doubled: Array | None
    """Of a forward rule: the derivatives in directions twice as long."""
    identity: Array | None
    """The cotangent of the result at the moved element, where the result has the shape of the leaf."""
    unchanged: bool
    """Whether the function gives this leaf back as it is."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """All that was measured in one domain."""

    leaves: list[Measured]
    values: Array
    """What the function gives, by point."""
    rule_values: Array
    """What the rule gives as the value while derivatives are taken."""
    tolerance: float
    inputs: int


@dataclass(frozen=True, slots=True)
class _Derivative:
    """A compiled derivative: backwards from a cotangent, or forwards along a direction."""

    function: Callable[..., Any]
    backward: bool


def _derivative(function: Vector, *, backward: bool) -> _Derivative:
    return _Derivative(compat.jax.jit(_pulled(function) if backward else _pushed(function)), backward)


class Bench:
    """Measures one rule, as often as needed: its functions are compiled once for narrow and once for wide numbers."""

    def __init__(self, subject: Subject, kinds: Sequence[Kind], rule: Any = None, *, wide: bool = True) -> None:
        self.subject, self.kinds, self.wide = subject, kinds, wide
        primal, ruled = subject.vector(subject.met.rule.fun), subject.vector(rule or subject.met.rule)
        self.forward = subject.met.kind == "custom_jvp"
        self.value = compat.jax.jit(primal)
        self.rule = _derivative(ruled, backward=not self.forward)
        self.autos = [_derivative(primal, backward=way) for way in ((False,) if self.forward else (True, False))]

    def measure(self, domain: Domain, precision: Precision) -> Numbers:
        """Measure on one kind of numbers; what the user's code raises passes through."""
        self.domain, self.precision = domain, precision
        self.random = compat.np.random.default_rng(0)
        with compat.with_x64() if self.wide else nullcontext():
            return self._run()

    def _run(self) -> Numbers:
        """Measure at every point, and put the points together."""
        chosen = [self.kinds[at] for at in self.subject.differentiated]
        most = max(4, _DIRECTIONS // max(len(chosen), 1))
        ways = [directions(kind, self.domain, self.random, most) for kind in chosen]
        points = [self._point(ways) for _ in range(POINTS)]
        np = compat.np
        leaves = [_stacked([one.leaves[at] for one in points]) for at in range(len(chosen))]
        values, ruled = (np.stack([getattr(one, name) for one in points]) for name in ("values", "rule_values"))
        return Numbers(leaves, values, ruled, self.precision.tolerance, POINTS * FACTORS)

    def _point(self, ways: Sequence[Sequence[Array]]) -> Numbers:
        np = compat.np
        chosen, rest = self._inputs()
        value = np.asarray(self.value(chosen, rest), np.float64)
        factors = _factors(value.shape, self.random)
        ruled, rules = self._derivatives(self.rule, chosen, rest, factors, ways)
        twice = self._derivatives(self.rule, chosen, rest, factors, ways, 2.0)[1] if self.forward else []
        autos = self._auto(chosen, rest, factors, ways)
        leaves = []
        for at, moves in enumerate(ways):
            truth, sure = self._differences(chosen, rest, at, moves, factors)
            same, unchanged = _identity(chosen[at], value, factors, moves)
            auto = autos[at] if autos is not None else None
            leaves.append(Measured(truth, sure, rules[at], auto, twice[at] if twice else None, same, unchanged))
        return Numbers(leaves, value, ruled, 0.0, 0)

    def _inputs(self) -> tuple[list[Array], list[Array]]:
        sizes = [size for kind in self.kinds for size in kind.shape]
        chosen: list[Array] = []
        rest: list[Array] = []
        for leaf, kind in zip(self.subject.leaves, self.kinds, strict=True):
            dtype = "float64" if self.wide else kind.dtype
            value = compat.jax.numpy.asarray(
                sample(kind, self.domain, self.random, min(sizes, default=2), compat.jax.numpy.dtype(dtype))
            )
            (chosen if leaf.differentiated else rest).append(value)
        return chosen, rest

    def _derivatives(
        self, one: _Derivative, chosen: Any, rest: Any, factors: Array, ways: Any, length: float = 1.0
    ) -> tuple[Array, list[Array]]:
        """Return the value, and for each leaf the derivative by cotangent and direction."""
        if one.backward:
            return self._pull(one.function, chosen, rest, factors, ways)
        return self._push(one.function, chosen, rest, factors, ways, length)

    def _pull(self, function: Any, chosen: Any, rest: Any, factors: Array, ways: Any) -> tuple[Array, list[Array]]:
        np = compat.np
        dtype = compat.jax.eval_shape(self.value, chosen, rest).dtype
        value, rows = None, list[list[Array]]()
        for factor in factors:
            value, gradients = function(chosen, rest, compat.jax.numpy.asarray(factor, dtype))
            rows.append([np.asarray(one, np.float64) for one in gradients])
        found = [
            np.array([[np.sum(row[at] * move) for move in moves] for row in rows]) for at, moves in enumerate(ways)
        ]
        return np.asarray(value, np.float64), found

    def _push(
        self, function: Any, chosen: Any, rest: Any, factors: Array, ways: Any, length: float
    ) -> tuple[Array, list[Array]]:
        np, jnp = compat.np, compat.jax.numpy
        found, value = list[Array](), None
        for at, moves in enumerate(ways):
            columns = []
            for move in moves:
                tangents = [jnp.zeros_like(one) for one in chosen]
                tangents[at] = jnp.asarray(move * length, chosen[at].dtype)
                value, change = function(chosen, rest, tangents)
                columns.append(factors @ np.asarray(change, np.float64))
            found.append(np.stack(columns, axis=1))
        return np.asarray(value, np.float64), found

    def _auto(self, chosen: Any, rest: Any, factors: Array, ways: Any) -> list[Array] | None:
        """Differentiate the function itself: backwards, else forwards, else not at all."""
        while self.autos:
            try:
                return self._derivatives(self.autos[0], chosen, rest, factors, ways)[1]
            except Exception:  # noqa: BLE001
                self.autos.pop(0)
        return None

    def _differences(
        self, chosen: Any, rest: Any, at: int, moves: Sequence[Array], factors: Array
    ) -> tuple[Array, Array]:
        """Return central differences, and where halving the step changes nothing."""
        np = compat.np
        step = self.precision.step * max(1.0, float(np.max(np.abs(np.asarray(chosen[at], np.float64)), initial=0.0)))
        first = np.stack([factors @ self._slope(chosen, rest, at, move, step) for move in moves], axis=1)
        second = np.stack([factors @ self._slope(chosen, rest, at, move, step / 2) for move in moves], axis=1)
        sure = np.abs(first - second) <= self.precision.tolerance * (np.abs(second) + typical(second)) + 1e-9
        return second, sure & np.isfinite(second)

    def _slope(self, chosen: Any, rest: Any, at: int, move: Array, step: float) -> Array:
        np, jnp = compat.np, compat.jax.numpy
        ends = []
        for sign in (1.0, -1.0):
            moved = list(chosen)
            moved[at] = jnp.asarray(np.asarray(chosen[at], np.float64) + sign * step * move, chosen[at].dtype)
            ends.append(np.asarray(self.value(moved, rest), np.float64))
        return (ends[0] - ends[1]) / (2 * step)


def _stacked(parts: Sequence[Measured]) -> Measured:
    """Put the points of one leaf together."""

    def stack(name: str) -> Array | None:
        rows = [getattr(one, name) for one in parts]
        return None if any(row is None for row in rows) else compat.np.stack(rows)

    names = ("truth", "sure", "rule", "auto", "doubled", "identity")
    columns = {name: stack(name) for name in names}
    return Measured(**columns, unchanged=all(one.unchanged for one in parts))


def typical(numbers: Array) -> Array:
    """Return the usual size of the numbers of each row; a few huge ones do not change it."""
    np = compat.np
    sizes = np.where(np.isfinite(numbers) & (numbers != 0), np.abs(numbers), np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.nan_to_num(np.nanmedian(sizes, axis=-1, keepdims=True))


def _with(function: Vector, rest: Any, chosen: Any) -> Any:
    return function(chosen, rest)


def _pulled(function: Vector) -> Callable[..., Any]:
    def pull(chosen: Any, rest: Any, factor: Any) -> Any:
        value, back = compat.jax.vjp(partial(_with, function, rest), chosen)
        return value, back(factor)[0]

    return pull


def _pushed(function: Vector) -> Callable[..., Any]:
    def push(chosen: Any, rest: Any, tangents: Any) -> Any:
        return compat.jax.jvp(partial(_with, function, rest), (chosen,), (tangents,))

    return push


def _factors(shape: tuple[int, ...], random: Any) -> Array:
    """Return cotangents: two random ones, their sum, multiples of the first, and others."""
    np = compat.np
    first, second, third = (random.normal(size=shape) for _ in range(3))
    return np.stack([first, second, first + second, 2 * first, -first, first * 1e-3, third * 10, third])


def _identity(leaf: Any, value: Array, factors: Array, moves: Sequence[Array]) -> tuple[Array | None, bool]:
    """Return the cotangents that the moved elements have if the result is the leaf, and whether it is."""
    np = compat.np
    before = np.asarray(leaf, np.float64).ravel()
    if before.size == 0 or value.size < before.size:
        return None, False
    start = next(
        (at for at in range(value.size - before.size + 1) if np.array_equal(value[at : at + before.size], before)), None
    )
    if start is None and value.size != before.size:
        return None, False
    at = start or 0
    part = factors[:, at : at + before.size]
    return np.stack([part @ move.ravel() for move in moves], axis=1), start is not None


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
    """Return which two residuals the backward rule takes for each other: with them exchanged it would be right."""
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
