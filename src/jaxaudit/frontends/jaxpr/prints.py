"""What some equations do, as a value that is equal for equations that do the same to other variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.primitives.base import constant
from jaxaudit.frontends.jaxpr.sites import Surroundings

if TYPE_CHECKING:
    from jaxaudit.frontends.jaxpr.equations import Body

Print = tuple[object, ...]

_HOLDERS = ("jaxpr", "branches", "call", "fun", "jvp", "fwd", "bwd")
"""Parts of the names of parameters that hold jaxprs or functions."""


class Prints:
    """Reads prints; those of inner jaxprs once."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._holds: dict[str, bool] = {}
        self._inner: dict[int, tuple[Any, int]] = {}
        """The number of each jaxpr by its identity; those that do the same have the same number."""
        self._numbers: dict[Print, int] = {}

    def of(self, body: Body, start: int, stop: int, read: Sequence[Any]) -> Print | None:
        """Give the print of a stretch of equations that reads some variables from outside; None where it has none."""
        numbers = {atom: i for i, atom in enumerate(read)}
        found: list[object] = [compat.type_of(atom) for atom in read]
        last_use = body.last_use
        for position in range(start, stop):
            equation, site = body.equations[position], body.sites[position]
            found += (equation.primitive, self._params(equation), id(site.origin), id(site.around))
            for atom in equation.invars:
                number = None if compat.is_literal(atom) else numbers.get(atom)
                # What is neither made here nor a parameter is a constant that JAX had folded before.
                found.append((body.read(atom), compat.type_of(atom)) if number is None else number)
            for out in equation.outvars:
                found.append(last_use.get(out, -1) >= stop)
                numbers[out] = len(numbers)
        return _hashable(tuple(found))

    def _params(self, equation: Any) -> object:
        name, params = equation.primitive.name, equation.params
        holds = self._holds.get(name)
        if holds is None:
            holds = self._holds[name] = any(part in param for param in params for part in _HOLDERS)
        return tuple([self._param(value) for value in params.values()]) if holds else tuple(params.values())

    def _param(self, value: Any) -> object:
        if compat.is_jaxpr(value):
            return self._jaxpr(value)
        if isinstance(value, compat.SEQUENCES):
            return tuple([self._param(item) for item in value])
        # A function says nothing that the equations it made do not say.
        return type(value) if callable(value) else value

    def _jaxpr(self, closed: Any) -> int:
        known = self._inner.get(id(closed))
        if known is None:
            mine = _hashable(self._whole(closed))
            number = len(self._inner)
            known = self._inner[id(closed)] = (
                closed,
                number if mine is None else self._numbers.setdefault(mine, number),
            )
        return known[1]

    def _whole(self, closed: Any) -> Print:
        jaxpr = compat.open_jaxpr(closed)
        first = (*jaxpr.invars, *jaxpr.constvars)
        numbers: dict[Any, int] = {atom: i for i, atom in enumerate(first)}
        found: list[object] = [
            compat.function_of(closed),
            *map(compat.type_of, first),
            *map(id, compat.consts_of(closed)),
        ]
        for equation in jaxpr.eqns:
            origin, around = self._surroundings.read(equation)
            found += (equation.primitive, self._params(equation), id(origin), id(around))
            found += [_atom(atom, numbers) for atom in equation.invars]
            for out in equation.outvars:
                numbers[out] = len(numbers)
        found += [_atom(atom, numbers) for atom in jaxpr.outvars]
        return tuple(found)


def _atom(atom: Any, numbers: Mapping[Any, int]) -> object:
    return (constant(atom), compat.type_of(atom)) if compat.is_literal(atom) else numbers[atom]


def _hashable(found: Print) -> Print | None:
    try:
        hash(found)
    except TypeError:
        return None
    return found
