"""What some equations do, as a value that is equal for equations that do the same to other variables.

Calls of transformations are told apart by what they are and by their order, not by their number; and module names by
all but their digits, since the layers of a model are called `layer_0`, `layer_1` and so on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.markers import MARKER
from jaxaudit.frontends.jaxpr.primitives.base import constant, plain
from jaxaudit.frontends.jaxpr.sites import Around, Surroundings

if TYPE_CHECKING:
    from jaxaudit.frontends.jaxpr.equations import Body

Print = tuple[object, ...]

_HOLDERS = ("jaxpr", "branches", "call", "fun", "jvp", "fwd", "bwd")
"""Parts of the names of parameters that hold jaxprs or functions."""


@dataclass(slots=True)
class _Page:
    """A print as it grows."""

    numbers: dict[Any, int]
    """The variables that were met."""
    found: list[object]
    arounds: dict[int, object] = field(default_factory=dict)
    calls: dict[int, int] = field(default_factory=dict)
    """The order of the calls of transformations."""

    def finish(self) -> Print | None:
        """Return the print; None where a parameter cannot be compared."""
        done = tuple(self.found)
        try:
            hash(done)
        except TypeError:
            return None
        return done


class Prints:
    """Reads prints; those of inner jaxprs once."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._holds: dict[str, bool] = {}
        self._inner: dict[int, tuple[Any, int]] = {}
        """The number of each jaxpr by its identity; those that do the same have the same number."""
        self._numbers: dict[Print, int] = {}
        self._records: dict[int, str] = {}

    def of(self, body: Body, start: int, stop: int, read: Sequence[Any]) -> Print | None:
        """Return the print of a stretch of equations that reads some variables from outside; None where it has none."""
        page = _Page({atom: i for i, atom in enumerate(read)}, [compat.type_of(atom) for atom in read])
        numbers, found, last_use, literal = page.numbers, page.found, body.last_use, compat.Literal
        for position in range(start, stop):
            equation, site = body.equations[position], body.sites[position]
            self._begin(page, equation, id(site.origin), site.around)
            for atom in equation.invars:
                number = None if isinstance(atom, literal) else numbers.get(atom)
                # What is neither made here nor a parameter is a constant that JAX had folded before.
                found.append((body.read(atom), compat.type_of(atom)) if number is None else number)
            for out in equation.outvars:
                found.append(last_use.get(out, -1) >= stop)
                numbers[out] = len(numbers)
        return page.finish()

    def _whole(self, closed: Any) -> Print | None:
        jaxpr = compat.open_jaxpr(closed)
        first = (*jaxpr.invars, *jaxpr.constvars)
        page = _Page({atom: i for i, atom in enumerate(first)}, [compat.function_of(closed)])
        numbers, found = page.numbers, page.found
        found += map(compat.type_of, first)
        found += map(id, compat.consts_of(closed))
        for equation in jaxpr.eqns:
            origin, around = self._surroundings.read(equation)
            self._begin(page, equation, id(origin), around)
            found += [_atom(atom, numbers) for atom in equation.invars]
            for out in equation.outvars:
                numbers[out] = len(numbers)
        found += [_atom(atom, numbers) for atom in jaxpr.outvars]
        return page.finish()

    def _begin(self, page: _Page, equation: Any, origin: int, around: Around) -> None:
        known = page.arounds.get(id(around))
        if known is None:
            known = page.arounds[id(around)] = self._around(page, around)
        page.found += (equation.primitive, self._params(page, equation), origin, known)

    def _around(self, page: _Page, around: Around) -> object:
        keys = tuple((self._call(page, key.uid), key.under) for key in around.keys)
        control = self._call(page, around.control.uid) if around.control is not None else None
        return keys, control, re.sub(r"\d+", "", around.scope), around.backward, around.recomputed

    def _call(self, page: _Page, uid: int) -> tuple[int, str]:
        """Return what identifies a call of a transformation: what it is and the order of calls."""
        text = self._records.get(uid)
        if text is None:
            one = self._surroundings.records.by_uid[uid]
            options = {name: plain(value) for name, value in one.options.items()}
            text = self._records[uid] = repr((one.kind, one.function, one.span, options, one.leaves, one.out_axes))
        return page.calls.setdefault(uid, len(page.calls)), text

    def _params(self, page: _Page, equation: Any) -> object:
        name, params = equation.primitive.name, equation.params
        if name == MARKER:
            return self._call(page, params["uid"]), params["side"], params["leaf"], params["trail"]
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
            mine = self._whole(closed)
            new = len(self._inner)
            known = self._inner[id(closed)] = (closed, new if mine is None else self._numbers.setdefault(mine, new))
        return known[1]


def _atom(atom: Any, numbers: Mapping[Any, int]) -> object:
    return (constant(atom), compat.type_of(atom)) if compat.is_literal(atom) else numbers[atom]
