"""The door: replays the first call of each transformed function within bounds, and tells what its numbers show."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.observe import muted
from jaxaudit.frontends.jaxpr.probe.run import stuck
from jaxaudit.frontends.jaxpr.protocol import Replayed
from jaxaudit.frontends.jaxpr.replay import watches
from jaxaudit.frontends.jaxpr.replay.interpret import KEYS, Change, Interpreter, Notes, NotReplayed
from jaxaudit.frontends.jaxpr.replay.judge import Suspect, shared_keys, suspects
from jaxaudit.frontends.jaxpr.replay.places import Places
from jaxaudit.frontends.jaxpr.seen import Site

SECONDS = 30.0
"""Of the processor, for all functions of a program together."""
_MOST_SECONDS, _HURRIED_SECONDS = 300.0, 5.0
_MOST_EQUATIONS, _MOST_WORK = 10_000, 2e9
_MOST_SUSPECTS = 8

Array = Any


@dataclass(frozen=True, slots=True)
class _Call:
    """A call that can be evaluated again."""

    closed: Any
    given: Sequence[Any]
    places: Places

    def notes(self, **asked: Any) -> tuple[list[Array], dict[str, Array], Interpreter]:
        """Evaluate it and give its results, what is noted of its equations, and how to get to these."""
        interpreter = Interpreter(asked)

        def run(*args: Array) -> tuple[list[Array], Notes]:
            return interpreter.run(self.closed, args)

        outs, notes = compat.jax.jit(run)(*self.given)
        order = {at: number for number, at in enumerate(interpreter.way)}
        names = sorted(notes, key=lambda name: order[name.partition("#")[0]])
        return [_plain(one) for one in outs], {name: _plain(notes[name]) for name in names}, interpreter

    def changed(self, changes: Sequence[tuple[str, Change]]) -> tuple[list[Array], list[list[Array]]]:
        """Evaluate it as it is, and once with each of some changes."""

        def run(wanted: Array, *args: Array) -> list[Array]:
            made = {at: (change, wanted[number]) for number, (at, change) in enumerate(changes)}
            return Interpreter({}, made).run(self.closed, args)[0]

        compiled, count = compat.jax.jit(run), len(changes)
        rows = [compat.np.zeros(count, bool), *compat.np.eye(count, dtype=bool)]
        first, *others = [[_plain(one) for one in compiled(row, *self.given)] for row in rows]
        return first, others


def replay_all(sites: Sequence[Site], *, hurried: bool = False) -> tuple[Replayed, ...]:
    """Replay what was seen, as far as the time allows; where somebody waits for the end, that is a few seconds."""
    # What others do on this machine is none of our affair: the time that counts is the processor's.
    end = time.process_time() + SECONDS
    last = time.monotonic() + (_HURRIED_SECONDS if hurried else _MOST_SECONDS)
    return tuple(one for site in sites for one in _within(site, end, last))


def _within(site: Site, end: float, last: float) -> list[Replayed]:
    """Replay in a thread of its own: a loop that takes long must not hold up the report."""
    if stuck or time.process_time() > end or time.monotonic() > last:
        return [_open(site, "the time for it was used up")]
    found: list[Replayed] = []
    thread = threading.Thread(target=lambda: found.extend(replay(site)), daemon=True)
    with muted():
        thread.start()
        while thread.is_alive() and time.process_time() < end and time.monotonic() < last:
            thread.join(0.05)
    if thread.is_alive():
        stuck.append(site.name)
        return [_open(site, "it did not end in time")]
    return found


def replay(site: Site) -> list[Replayed]:
    """Replay one call."""
    try:
        return list(_told(site))
    except NotReplayed as error:
        return [_open(site, str(error))]
    except Exception as error:  # noqa: BLE001
        return [_open(site, f"{type(error).__name__}: {error}".splitlines()[0][:200])]


def _open(site: Site, why: str) -> Replayed:
    return Replayed(site.name, "", "open", f"`{site.name}` was not evaluated once more: {why}", (site.made,))


def _told(site: Site) -> Iterator[Replayed]:
    call = _call(site)
    outs, notes, interpreter = call.notes(reach=watches.reach, wrap=watches.wrapping, **{KEYS: watches.keys})
    turns = max(interpreter.turns.values(), default=0)
    calls = f"1 call of `{site.name}`" + (f", {turns} turns" if turns else "")
    found = list(suspects(notes, interpreter.way, call.places))
    wrong = [one for one in found if one.text]
    wrong += shared_keys(notes, interpreter.way, call.places)
    kept = list(_mattering(call, wrong))
    if _not_finite(outs):
        beyond = {one.at for one in wrong}
        kept += (one for one in _infinite(call, [one for one in outs if _is_inexact(one)]) if one.at not in beyond)
    for one in [*kept, *(one for one in found if not one.text)]:
        yield Replayed(site.name, calls, one.kind, one.text, one.places, one.other, one.backward, one.doubtful)


def _call(site: Site) -> _Call:
    if site.closed is None or site.given is None:
        raise NotReplayed("its arguments are too large to keep, or not at hand")
    if any(getattr(one, "is_deleted", bool)() for one in site.given):
        raise NotReplayed("its arguments were donated")
    equations, work = _work(compat.open_jaxpr(site.closed))
    if equations > _MOST_EQUATIONS or work > _MOST_WORK:
        raise NotReplayed(f"it is too large ({equations} equations, {work:.0e} numbers)")
    return _Call(site.closed, site.given, Places())


def _work(jaxpr: Any) -> tuple[int, float]:
    """Count the equations of a program, and the numbers that it computes."""
    equations, work = 0, 0.0
    for equation in jaxpr.eqns:
        inner = [_work(compat.open_jaxpr(one)) for one in compat.inner_jaxprs(equation.params)]
        turns = int(equation.params.get("length", 1)) if equation.primitive.name == "scan" else 1
        own = sum(prod(getattr(one.aval, "shape", ())) for one in equation.outvars)
        if equation.primitive.name == "dot_general":
            own *= max(prod(one.aval.shape) for one in equation.invars) ** 0.5
        equations += 1 + sum(one[0] for one in inner)
        work += own + turns * sum(one[1] for one in inner)
    return equations, work


def _mattering(call: _Call, wrong: Sequence[Suspect]) -> Iterator[Suspect]:
    """Return those equations whose results would be others, had they done what they did in another way.

    Of a key that served twice both draws have to matter: a `cond` under `vmap` makes both of its branches draw, and
    throws the numbers of one away.
    """
    tried = wrong[:_MOST_SUSPECTS]
    if not tried:
        return
    changes = [(number, at, change) for number, one in enumerate(tried) for at, change in _otherwise(one)]
    first, others = call.changed([(at, change) for _, at, change in changes])
    idle = {
        number
        for (number, *_), outs in zip(changes, others, strict=True)
        if all(before.tobytes() == after.tobytes() for before, after in zip(first, outs, strict=True))
    }
    yield from (one for number, one in enumerate(tried) if number not in idle)


def _otherwise(one: Suspect) -> list[tuple[str, Change]]:
    """Return what is to be changed to see whether an equation matters."""
    if one.key:
        return [(at, watches.redrawn(one.key)) for at in (one.before, one.at) if at]
    return [(one.at, watches.unwrapped if one.kind == "wrap" else watches.elsewhere)]


def _infinite(call: _Call, outs: Sequence[Array]) -> Iterator[Suspect]:
    """Return the first equation without which less of the results would be NaN or infinite."""
    _, notes, interpreter = call.notes(finite=watches.finiteness)
    made = {name.partition("#")[0]: note for name, note in notes.items() if note.max() > 0}
    tried, ways = list(made)[:_MOST_SUSPECTS], interpreter.way
    if not tried:
        return
    first, others = call.changed([(at, watches.made_finite) for at in tried])
    isnan, isinf = compat.np.isnan, compat.np.isinf
    nan = any(isnan(one).any() for one in outs)
    # A value that is finite with a derivative that is not: NaN comes up in the backward pass alone.
    forward = any(isinf(one).any() for one in outs)
    forward |= any(note[0] > 0 and call.places.is_forward(ways[at]) for at, note in made.items())
    for at, changed in zip(tried, others, strict=True):
        users = call.places.users(ways[at])
        if _not_finite(changed) < _not_finite(first) and users:
            what = "NaN" if made[at][0] > 0 else "infinite"
            text = f"`{call.places.act(ways[at])}` is {what}" if forward else f"a derivative taken here is {what}"
            yield Suspect(at, "nan" if nan else "infinity", text, users, backward=not forward)
            return


def _not_finite(outs: Sequence[Array]) -> int:
    return sum(int((~compat.np.isfinite(one)).sum()) for one in outs if _is_inexact(one))


def _is_inexact(one: Array) -> bool:
    return bool(compat.np.issubdtype(one.dtype, compat.np.inexact))


def _plain(value: Any) -> Array:
    """Return an array of NumPy: of keys their bits, of short floats longer ones."""
    if compat.jax.dtypes.issubdtype(value.dtype, compat.jax.dtypes.prng_key):
        value = compat.jax.random.key_data(value)
    array = compat.np.asarray(value)
    return array.astype(compat.np.float32) if array.dtype.kind == "V" else array
