"""One rule with the kinds of its arguments: as a function from flat leaves to one vector, with and without the rule."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.probe.met import Kind, Met, is_kind, users_function
from jaxaudit.frontends.jaxpr.probe.samples import is_float

Vector = Callable[[Sequence[Any], Sequence[Any]], Any]
"""Gives all inexact results as one vector, from the differentiated leaves and the others."""

_ROUNDS = frozenset("floor ceil round sign argmax argmin bitcast_convert_type nextafter".split())
_RANDOM = frozenset("random_bits random_gamma threefry2x32 rng_bit_generator rng_uniform".split())
_CALLS_BACK = frozenset("pure_callback io_callback debug_callback callback ffi_call".split())


@dataclass(frozen=True, slots=True)
class Leaf:
    """One array among the arguments."""

    name: str
    kind: Kind
    position: int
    """Of its argument."""
    differentiated: bool


class Subject:
    """A rule and the arrays it takes."""

    def __init__(self, met: Met) -> None:
        self.met = met
        flat, self._tree = compat.tree_util.tree_flatten(met.args, is_leaf=is_kind)
        self._flat = flat
        self.leaves = list(_leaves(met))
        self.kinds = [leaf.kind for leaf in self.leaves]
        self.differentiated = [at for at, leaf in enumerate(self.leaves) if leaf.differentiated]

    def arguments(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Put values in the places of the arrays."""
        filled = iter(values)
        leaves = [next(filled) if isinstance(one, Kind) else one for one in self._flat]
        return compat.tree_util.tree_unflatten(self._tree, leaves)

    def vector(self, function: Callable[..., Any]) -> Vector:
        """Turn the function, or the rule, into one from leaves to a vector."""

        def flat(chosen: Sequence[Any], rest: Sequence[Any]) -> Any:
            return joined(function(*self.arguments(self._merged(chosen, rest))))

        return flat

    def _merged(self, chosen: Sequence[Any], rest: Sequence[Any]) -> list[Any]:
        first, other = iter(chosen), iter(rest)
        return [next(first) if leaf.differentiated else next(other) for leaf in self.leaves]


def joined(out: Any) -> Any:
    """Return all inexact leaves of a result as one vector."""
    jnp = compat.jax.numpy
    leaves = [jnp.asarray(leaf) for leaf in compat.tree_util.tree_leaves(out)]
    flat = [jnp.ravel(leaf) for leaf in leaves if jnp.issubdtype(leaf.dtype, jnp.floating)]
    return jnp.concatenate(flat) if flat else jnp.zeros((0,))


def _leaves(met: Met) -> Iterator[Leaf]:
    names = _names(met)
    for position, argument in enumerate(met.args):
        found = compat.tree_util.tree_flatten_with_path(argument, is_leaf=is_kind)[0]
        for path, one in found:
            if isinstance(one, Kind):
                free = position not in met.static | met.fixed and is_float(one)
                yield Leaf(names(position, compat.tree_util.keystr(path)), one, position, free)


def _names(met: Met) -> Callable[[int, str], str]:
    """Return how a leaf is called: by the parameter of the user's function."""
    owner = users_function(met.rule.fun, "fun") or met.rule.fun
    try:
        names = [one.name for one in inspect.signature(owner).parameters.values()]
    except (TypeError, ValueError):
        names = list[str]()
    wrapper = getattr(met.rule.fun, "__name__", "")

    def name(at: int, path: str) -> str:
        """Return how equinox packs arguments: `(args, kwargs)` in one, the first one apart."""
        packed = re.match(r"\[0\]\[(\d+)\](.*)", path)
        if wrapper == "fn_wrapper" and packed is not None:
            at, path = int(packed[1]), packed[2]
        elif wrapper == "fn_wrapped" and at == 2:
            at = 0
        return (names[at] if at < len(names) else f"argument {at + 1}") + path

    return name


def traits(jaxpr: Any) -> set[str]:
    """Return what a function is made of that has no derivative, or that no probe may run."""
    found: set[str] = set()
    for equation in compat.open_jaxpr(jaxpr).eqns:
        name = equation.primitive.name
        found |= {
            trait
            for trait, names in (("rounds", _ROUNDS), ("random", _RANDOM), ("callback", _CALLS_BACK))
            if name in names
        }
        if name == "while":
            found.add("loop")
        if name == "convert_element_type" and _to_integer(equation):
            found.add("rounds")
        for inner in compat.inner_jaxprs(equation.params):
            found |= traits(inner)
    return found


def _to_integer(equation: Any) -> bool:
    before, after = (compat.type_of(one) for one in (equation.invars[0], equation.outvars[0]))
    if before is None or after is None:
        return False
    return before.dtype.startswith(("float", "bfloat")) and not after.dtype.startswith(("float", "bfloat"))
