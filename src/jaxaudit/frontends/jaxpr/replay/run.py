"""The door: replays the first call of each transformed function within bounds, and tells what its numbers show."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.probe.run import stuck
from jaxaudit.frontends.jaxpr.protocol import Replayed
from jaxaudit.frontends.jaxpr.quiet import muted
from jaxaudit.frontends.jaxpr.replay import watches
from jaxaudit.frontends.jaxpr.replay.interpret import NotReplayed
from jaxaudit.frontends.jaxpr.replay.judge import Suspect, shared_keys, suspects
from jaxaudit.frontends.jaxpr.replay.places import Places
from jaxaudit.frontends.jaxpr.replay.program import MOST_SUSPECTS, WATCHES, Program, is_whole, mattering
from jaxaudit.frontends.jaxpr.replay.repeats import repeated
from jaxaudit.frontends.jaxpr.seen import Site

SECONDS = 30.0
"""Of the processor, for all functions of a program together."""
_MOST_SECONDS, _HURRIED_SECONDS = 300.0, 5.0
_MOST_EQUATIONS, _MOST_WORK = 10_000, 2e9

Array = Any


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
    program, calls = _program(site), list(_calls(site))
    told: set[tuple[str, str]] = set()
    in_order: dict[str, Suspect] = {}
    for words, given in calls:
        outs, notes, interpreter = program.notes(given, **WATCHES)
        turns = max(interpreter.turns.values(), default=0)
        words += f", {turns} turns" if turns else ""
        found = list(suspects(notes, interpreter.way, program.places))
        wrong = [one for one in found if one.text]
        wrong += shared_keys(notes, interpreter.way, program.places)
        kept = list(mattering(program, given, [one for one in wrong if (one.at, one.kind) not in told]))
        if _not_finite(outs):
            beyond = {one.at for one in wrong}
            inexact = [one for one in outs if _is_inexact(one)]
            kept += (one for one in _infinite(program, given, inexact) if one.at not in beyond)
        told.update((one.at, one.kind) for one in kept)
        yield from (_replayed(site, words, one) for one in kept)
        in_order |= {f"{one.at}#{one.kind}": one for one in found if not one.text}
    many = calls[0][0] if len(calls) == 1 else f"{len(calls)} calls of `{site.name}`"
    yield from (_replayed(site, many, one) for one in in_order.values() if (one.at, one.kind) not in told)
    if site.later is not None and is_whole(site.later.given):
        yield from repeated(site, site.later, program)


def _replayed(site: Site, calls: str, one: Suspect) -> Replayed:
    return Replayed(site.name, calls, one.kind, one.text, one.places, one.other, one.backward, one.doubtful)


def _program(site: Site) -> Program:
    if site.closed is None or not any(True for _ in _calls(site)):
        raise NotReplayed("its arguments are too large to keep, not at hand, or were donated")
    equations, work = _work(compat.open_jaxpr(site.closed))
    if equations > _MOST_EQUATIONS or work > _MOST_WORK:
        raise NotReplayed(f"it is too large ({equations} equations, {work:.0e} numbers)")
    return Program(site.closed, Places())


def _calls(site: Site) -> Iterator[tuple[str, Sequence[Any]]]:
    """Return the calls that can be evaluated, with words for each: the first one, and the last that was looked at."""
    if is_whole(site.given):
        yield f"1 call of `{site.name}`", site.given or ()
    if site.later is not None and is_whole(site.later.given):
        yield f"call {site.later.number} of `{site.name}`", site.later.given or ()


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


def _infinite(program: Program, given: Sequence[Any], outs: Sequence[Array]) -> Iterator[Suspect]:
    """Return the first equation without which less of the results would be NaN or infinite."""
    _, notes, interpreter = program.notes(given, finite=watches.finiteness)
    made = {name.partition("#")[0]: note for name, note in notes.items() if note.max() > 0}
    tried, ways = list(made)[:MOST_SUSPECTS], interpreter.way
    if not tried:
        return
    first, others = program.changed(given, [(at, watches.made_finite) for at in tried])
    isnan, isinf = compat.np.isnan, compat.np.isinf
    nan = any(isnan(one).any() for one in outs)
    # A value that is finite with a derivative that is not: NaN comes up in the backward pass alone.
    forward = any(isinf(one).any() for one in outs)
    forward |= any(note[0] > 0 and program.places.is_forward(ways[at]) for at, note in made.items())
    for at, changed in zip(tried, others, strict=True):
        users = program.places.users(ways[at])
        if _not_finite(changed) < _not_finite(first) and users:
            what = "NaN" if made[at][0] > 0 else "infinite"
            text = f"`{program.places.act(ways[at])}` is {what}" if forward else f"a derivative taken here is {what}"
            yield Suspect(at, "nan" if nan else "infinity", text, users, backward=not forward)
            return


def _not_finite(outs: Sequence[Array]) -> int:
    return sum(int((~compat.np.isfinite(one)).sum()) for one in outs if _is_inexact(one))


def _is_inexact(one: Array) -> bool:
    return bool(compat.np.issubdtype(one.dtype, compat.np.inexact))
