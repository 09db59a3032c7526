"""Traces functions inside `jit` once more after the script has ended, and compares what JAX would compile.

A compiled call repeats the first trace. Where two traces in a row differ, what a call computes depends on state of
Python's that tracing itself changes: a counter, an iterator, the clock, numbers drawn by NumPy. Where they agree with
each other and not with what was compiled, and a call was seen to come after a change, that call used what was no more.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.captured import changed
from jaxaudit.frontends.jaxpr.failures import describe
from jaxaudit.frontends.jaxpr.frames import Origins
from jaxaudit.frontends.jaxpr.markers import MARKER
from jaxaudit.frontends.jaxpr.places import frame_at
from jaxaudit.frontends.jaxpr.protocol import Frame, LateCall, Unsteady
from jaxaudit.frontends.jaxpr.quiet import muted
from jaxaudit.frontends.jaxpr.seen import Site

SECONDS = 20.0
"""For all functions of a program together; what took longer to trace than is left is not traced again."""

_Variables = dict[Any, Any]


@dataclass(frozen=True, slots=True)
class Difference:
    """The first equation of one trace that another does not have, and those around it, innermost first."""

    equations: tuple[Any, ...]
    text: str

    def within(self, equation: Any) -> Difference:
        """Return the same difference, seen from the equation that holds it."""
        return Difference((*self.equations, equation), self.text)


def trace_again(sites: Sequence[Site], seconds: float = SECONDS) -> Iterator[Unsteady]:
    """Trace every function inside `jit` again, as far as the time allows, and tell which of them are not steady."""
    end = time.monotonic() + seconds
    for site in sites:
        with contextlib.suppress(Exception), muted():
            # Tracing itself may change something.
            late = _late(site)
            # What is transformed anew for each call is traced for each call.
            wanted = site.objects == 1 or late is not None or site.transform != "jit"
            if site.anew is not None and wanted and 2 * site.seconds <= end - time.monotonic():
                yield from _judged(site, site.anew, late)


def _judged(site: Site, anew: Callable[[], Any], late: LateCall | None) -> Iterator[Unsteady]:
    try:
        first, second = anew(), anew()
    except compat.jax.errors.UnexpectedTracerError as error:
        if site.transform != "jit":
            # What is around a loop may have been traced, too, and is no more.
            return
        # Whatever else goes wrong has to do with when it is traced, and not with what was kept of a trace.
        yield Unsteady(site.name, site.made, "", (), describe(error))
        return
    found = difference(first, second)
    if found is not None:
        yield Unsteady(site.name, site.made, found.text, tuple(_places(found)))
    elif late is not None and (stale := _since(site, first)) is not None:
        places = tuple(_places(stale))
        yield Unsteady(site.name, site.made, stale.text, places, late=late)


def _since(site: Site, now: Any) -> Difference | None:
    """Return where a program is another than the one that was compiled, with the constants that it had then."""
    kept = None if site.reads is None else site.reads.constants
    compiled = site.closed if kept is None else site.closed.replace(consts=kept)
    # Settings that held around the call hold no more: with x64, say, the very arguments are others.
    types = [[one.aval for one in compat.open_jaxpr(program).invars] for program in (compiled, now)]
    return difference(compiled, now) if types[0] == types[1] else None


def _late(site: Site) -> LateCall | None:
    """Return the last call that was seen to come after all that has changed."""
    reads = site.reads
    if reads is None or reads.late is None or site.closed is None:
        return None
    return reads.late if set(changed(reads.compiled, reads.look())) <= set(reads.late.names) else None


def _places(found: Difference) -> Iterator[Frame]:
    """Return the user's places of a difference, innermost first."""
    origins = Origins()
    for equation in found.equations:
        for place in origins.of(equation).users:
            yield frame_at(*place.frame)


def difference(one: Any, other: Any) -> Difference | None:
    """Return where two programs stop being the same; None where they compute the same."""
    return _between(one, other, {})


def _between(one: Any, other: Any, same: _Variables) -> Difference | None:
    first, second = compat.open_jaxpr(one), compat.open_jaxpr(other)
    same |= zip(first.invars, second.invars, strict=False)
    held = zip(first.constvars, second.constvars, compat.consts_of(one), compat.consts_of(other), strict=False)
    same |= {mine: yours for mine, yours, value, now in held if _is_same(value, now)}
    if not compat.consts_of(one):
        same |= zip(first.constvars, second.constvars, strict=False)
    for mine, yours in zip_longest(_used(first), _used(second)):
        found = _of_equations(mine, yours, same)
        if found is not None:
            return found
        same |= zip(mine.outvars, yours.outvars, strict=False)
    return None


def _used(jaxpr: Any) -> list[Any]:
    """Return the equations that results are made of; what is only told to a person may differ from time to time."""
    needed = {id(atom) for atom in jaxpr.outvars}
    found = []
    for equation in reversed(jaxpr.eqns):
        if not needed.isdisjoint(map(id, equation.outvars)):
            needed.update(map(id, equation.invars))
            found.append(equation)
    return found[::-1]


def _of_equations(mine: Any, yours: Any, same: _Variables) -> Difference | None:
    if mine is None or yours is None or mine.primitive is not yours.primitive:
        return Difference((mine or yours,), "another computation is done in each trace")
    for atom, now in zip_longest(mine.invars, yours.invars):
        if (text := _of_atoms(atom, now, same)) is not None:
            return Difference((yours,), text)
    if [one.aval for one in mine.outvars] != [one.aval for one in yours.outvars]:
        return Difference((yours,), "its shape is another in each trace")
    inner = zip_longest(compat.inner_jaxprs(mine.params), compat.inner_jaxprs(yours.params))
    found = next((found for pair in inner if (found := _of_bodies(*pair)) is not None), None)
    if found is not None:
        return found.within(yours)
    if mine.primitive.name != MARKER and _numbers(mine.params) != _numbers(yours.params):
        return Difference((yours,), "it is done with other numbers in each trace")
    return None


def _of_bodies(mine: Any, yours: Any) -> Difference | None:
    return None if mine is None or yours is None or mine is yours else _between(mine, yours, {})


def _of_atoms(atom: Any, now: Any, same: _Variables) -> str | None:
    """Return how an operand differs; None where it does not."""
    if atom is None or now is None or compat.is_literal(atom) != compat.is_literal(now):
        return _OTHER_VALUE
    if not compat.is_literal(atom):
        kept = same.get(atom)
        return None if kept is now else "a constant is another in each trace" if kept is None else _OTHER_VALUE
    if _is_same(atom.val, now.val):
        return None
    values = [compat.np.asarray(one.val) for one in (atom, now)]
    if any(one.size != 1 for one in values):
        return "a constant is another in each trace"
    return "a number is {:.6g} in one trace and {:.6g} in the next".format(*(one.item() for one in values))


_OTHER_VALUE = "another value is used in each trace"


def _is_same(one: Any, other: Any) -> bool:
    """Whether two constants hold the same numbers; what cannot be read counts as the same."""
    if one is other:
        return True
    with contextlib.suppress(Exception):
        mine, yours = map(_plain, (one, other))
        return mine.dtype == yours.dtype and mine.shape == yours.shape and mine.tobytes() == yours.tobytes()
    return True


def _plain(value: Any) -> Any:
    dtype = getattr(value, "dtype", None)
    if dtype is not None and compat.jax.dtypes.issubdtype(dtype, compat.jax.dtypes.prng_key):
        value = compat.jax.random.key_data(value)
    return compat.np.asarray(value)


def _numbers(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if _is_plain(value)}


def _is_plain(value: Any) -> bool:
    return isinstance(value, int | float) or (isinstance(value, tuple) and all(map(_is_plain, value)))
