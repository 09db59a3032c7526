"""Random numbers that come again from call to call, while what the calls compute goes on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.later import Later
from jaxaudit.frontends.jaxpr.protocol import Replayed
from jaxaudit.frontends.jaxpr.replay.judge import drawn_again
from jaxaudit.frontends.jaxpr.replay.program import WATCHES, Program, mattering, plain
from jaxaudit.frontends.jaxpr.seen import Site


def repeated(site: Site, later: Later, program: Program) -> Iterator[Replayed]:
    """Tell of a key that calls were given twice, where what they compute goes on meanwhile.

    Which draws hang on what was the same, and on nothing else, shows when the arguments are exchanged for others.
    """
    first, given = site.given or (), later.given or ()
    fixed = [_is_seed(one) and _same(one, other) for one, other in zip(first, given, strict=False)]
    if not any(fixed):
        return
    _, notes, interpreter = program.notes(given, **WATCHES)
    if not (later.goes_on or _learns(program, first, given, interpreter.way)):
        return

    def draws(move: bool, by: int) -> set[str]:
        others = [_moved(one, by) if same is move else one for one, same in zip(given, fixed, strict=True)]
        moved = program.notes(others, **WATCHES)[1]
        return {one.at for one in drawn_again(notes, moved, interpreter.way, program.places)}

    same = draws(move=False, by=1) & draws(move=False, by=_FURTHER) - draws(move=True, by=1)
    found = [one for one in drawn_again(notes, notes, interpreter.way, program.places) if one.at in same]
    for one in mattering(program, given, found):
        call = () if later.call is None else (later.call,)
        words = f"call 1 and call {later.number} of `{site.name}`"
        yield Replayed(site.name, words, "calls", one.text, (*call, *one.places), one.places[0])
        return


_FURTHER = 1009
"""So far that what counts calls in tens or hundreds comes to another number."""


def _learns(program: Program, first: Sequence[Any], given: Sequence[Any], ways: Mapping[str, Any]) -> bool:
    """Whether a call gives derivatives by something that is another one in a later call."""
    types = {one.aval.str_short() for one in compat.open_jaxpr(program.closed).outvars}
    variables = compat.open_jaxpr(program.closed).invars
    moved = (one for one, *pair in zip(variables, first, given, strict=True) if not _same(*pair))
    back = any(not program.places.is_forward(way) for way in ways.values())
    return back and any(one.aval.shape and one.aval.str_short() in types for one in moved)


def _is_seed(value: Any) -> bool:
    """Whether keys may be made of a value: it is one, or holds integers."""
    kind = getattr(value, "dtype", None)
    if kind is None:
        return type(value) is int
    return compat.jax.dtypes.issubdtype(kind, compat.jax.dtypes.prng_key) or compat.np.issubdtype(
        kind, compat.np.integer
    )


def _same(one: Any, other: Any) -> bool:
    """Whether two arrays hold the same; one that was given away may hold anything."""
    if getattr(one, "is_deleted", bool)():
        return False
    return one is other or plain(one).tobytes() == plain(other).tobytes()


def _moved(value: Any, by: int) -> Any:
    """Return another key, or other numbers."""
    jax, kind = compat.jax, getattr(value, "dtype", None)
    if kind is not None and jax.dtypes.issubdtype(kind, jax.dtypes.prng_key):
        return jax.random.wrap_key_data(jax.random.key_data(value) ^ by, impl=jax.random.key_impl(value))
    if isinstance(value, bool) or str(kind) == "bool":
        return value
    return value + compat.np.asarray(by).astype(kind or int).item()
