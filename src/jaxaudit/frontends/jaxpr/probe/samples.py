"""Makes small random inputs of the kinds that a rule was called with.

Large sizes are made small, equal ones alike and different ones differently, where the function still accepts them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.probe.met import Kind

Domain = str

SMALL = 4096
"""Elements of all arguments together that need no smaller stand-in."""
LARGEST = 1 << 20
"""Elements that are still evaluated where no smaller stand-in fits."""
_PRIMES = (3, 5, 7, 2, 11, 13, 4, 6)


def plans(kinds: Sequence[Kind]) -> Iterator[list[Kind]]:
    """Return the kinds with sizes to try, the smallest first."""
    total = sum(_size(one.shape) for one in kinds)
    if total <= SMALL:
        yield list(kinds)
        return
    sizes = sorted({size for one in kinds for size in one.shape if size > 8})
    small = {size: _PRIMES[at % len(_PRIMES)] for at, size in enumerate(sizes)}
    yield [_shrunk(one, small) for one in kinds]
    # Sizes that are products or multiples of each other keep that when all are divided alike.
    for divisor in (64, 16, 4):
        if all(size % divisor == 0 for size in sizes):
            yield [_shrunk(one, {size: size // divisor for size in sizes}) for one in kinds]
    first = {one.shape[0] for one in kinds if len(one.shape) > 1 and one.shape[0] > 8}
    yield [_shrunk(one, dict.fromkeys(first, 3)) for one in kinds]
    if total <= LARGEST:
        yield list(kinds)


def _shrunk(kind: Kind, sizes: dict[int, int]) -> Kind:
    shape = tuple(sizes.get(size, size) for size in kind.shape)
    return Kind(shape, kind.dtype, kind.low, kind.high, kind.is_key)


def _size(shape: Sequence[int]) -> int:
    return int(compat.np.prod(shape, dtype=float)) if shape else 1


def is_float(kind: Kind) -> bool:
    """Whether a leaf can be differentiated."""
    return not kind.is_key and kind.dtype.startswith(("float", "bfloat"))


def domains(kinds: Sequence[Kind]) -> list[Domain]:
    """Return the kinds of numbers to try: those that were seen, any, positive ones, fractions, definite matrices."""
    floats = [one for one in kinds if is_float(one)]
    seen = any(one.low is not None and one.high is not None and one.low < one.high for one in floats)
    square = any(len(one.shape) >= 2 and one.shape[-1] == one.shape[-2] > 1 for one in floats)
    return [*(["seen"] if seen else []), "any", "positive", "fraction", *(["definite"] if square else [])]


def sample(kind: Kind, domain: Domain, random: Any, bound: int, dtype: str) -> Any:
    """Return one random value; `bound` is a safe bound for indices whose real range is not known."""
    np = compat.np
    if kind.is_key:
        return _keys(kind, random)
    if kind.dtype == "bool":
        return random.integers(0, 2, kind.shape).astype(bool)
    if not is_float(kind):
        return _integers(kind, random, bound)
    if kind.low is not None and kind.low == kind.high and kind.shape == () and kind.low != 0:
        return np.asarray(kind.low * random.uniform(0.7, 1.4), dtype)
    return np.asarray(_DOMAINS[domain](kind, random), dtype)


def _keys(kind: Kind, random: Any) -> Any:
    jax = compat.jax
    made = jax.random.key(int(random.integers(0, 1 << 30)), impl=kind.dtype)
    return jax.random.split(made, kind.shape) if kind.shape else made


def _integers(kind: Kind, random: Any, bound: int) -> Any:
    low, high = kind.low, kind.high
    if low is None or high is None:
        low, high = 0, (1 << 30) if kind.dtype == "uint32" else max(bound - 1, 1)
    return random.integers(int(low), int(high) + 1, kind.shape).astype(kind.dtype)


def _any(kind: Kind, random: Any) -> Any:
    return random.normal(size=kind.shape) * 1.3 + 0.1


def _seen(kind: Kind, random: Any) -> Any:
    if kind.low is None or kind.high is None or kind.low == kind.high:
        return _any(kind, random)
    return random.uniform(kind.low, kind.high, kind.shape)


def _definite(kind: Kind, random: Any) -> Any:
    np = compat.np
    values = random.normal(size=kind.shape)
    if is_square(kind.shape):
        return values @ np.swapaxes(values, -1, -2) + kind.shape[-1] * np.eye(kind.shape[-1])
    return values


def is_square(shape: Sequence[int]) -> bool:
    """Whether an array holds square matrices."""
    return len(shape) >= 2 and shape[-1] == shape[-2] > 1


_DOMAINS: dict[Domain, Callable[[Kind, Any], Any]] = {
    "any": _any,
    "seen": _seen,
    "positive": lambda kind, random: random.uniform(0.3, 3.0, kind.shape),
    "fraction": lambda kind, random: random.uniform(0.05, 0.95, kind.shape),
    "definite": _definite,
}


def directions(kind: Kind, domain: Domain, random: Any, most: int) -> list[Any]:
    """Return directions to move a value in: single elements, symmetric pairs of them for definite matrices."""
    np = compat.np
    size = _size(kind.shape)
    chosen = range(size) if size <= most else sorted(random.choice(size, most, replace=False))
    made = []
    for at in chosen:
        unit = np.zeros(size)
        unit[at] = 1.0
        unit = unit.reshape(kind.shape)
        if domain == "definite" and is_square(kind.shape):
            unit = unit + np.swapaxes(unit, -1, -2)
        made.append(unit)
    return made
