"""Concludes from the notes of a replay which equations did something that is hardly meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.protocol import Frame
from jaxaudit.frontends.jaxpr.replay.interpret import KEYS
from jaxaudit.frontends.jaxpr.replay.places import Places, Way
from jaxaudit.frontends.jaxpr.replay.watches import limits

Array = Any
Ways = Mapping[str, tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Suspect:
    """One equation that is in doubt."""

    at: str
    kind: str
    text: str
    places: tuple[Frame, ...]
    other: Frame | None = None
    backward: bool = False
    doubtful: bool = False
    key: bytes = b""
    """The bits of a key that served twice."""
    before: str = ""
    """The equation that drew with it first, where that is another one."""


def suspects(notes: Mapping[str, Array], ways: Ways, places: Places) -> Iterator[Suspect]:
    """Return every watched place; those without a text are in order."""
    for name, note in notes.items():
        at, _, kind = name.partition("#")
        way = ways[at]
        users = places.users(way) if kind in _JUDGES else ()
        if users and places.is_forward(way):
            yield from _JUDGES[kind](at, note, way, users, places)


def _index(at: str, note: Array, way: Way, users: tuple[Frame, ...], places: Places) -> Iterator[Suspect]:
    equation = way[-1]
    found = limits(equation)
    if found is None or not places.indexes(way):
        return
    drops = equation.primitive.name.startswith("scatter")
    kind = "update" if drops or equation.primitive.name == "dynamic_update_slice" else "index"
    text, single = "", True
    for axis, (last, size) in enumerate(zip(*found, strict=True)):
        high, low, above, below = (int(one) for one in note[:, axis])
        if high > -_NOTHING:
            single &= high == -low
            text = text or _beyond(high, last, size)
        elif below > -_NOTHING:
            single &= below == -above
            text = text or f"an index lies {below} before the start of an axis of size {size}"
    # One number beyond the end may stand for nothing: such updates are dropped, which is what it is for.
    yield Suspect(at, kind, text, users, doubtful=drops and single)


_NOTHING = 2**31 - 1


def _beyond(index: int, last: int, size: int) -> str:
    if last == size - 1:
        return f"index {index} lies outside an axis of size {size}"
    return f"a slice of {size - last} that starts at {index} ends outside an axis of size {size}"


def _wrap(at: str, note: Array, way: Way, users: tuple[Frame, ...], places: Places) -> Iterator[Suspect]:
    if places.is_random(way):
        return
    high, low = float(note[0]), -float(note[1])
    kind = str(way[-1].outvars[0].aval.dtype)
    text = "" if high == -compat.np.inf else f"{high if abs(high) > abs(low) else low:.6g} does not fit in `{kind}`"
    yield Suspect(at, "wrap", text, users)


def _choice(at: str, note: Array, way: Way, users: tuple[Frame, ...], places: Places) -> Iterator[Suspect]:
    if not compat.is_clamp_of_switch(way[-1]):
        return
    last, (high, low) = int(way[-1].invars[2].val), (int(note[0]), -int(note[1]))
    text = ""
    if high > last:
        text = f"branch {high} is asked for, and there are {last + 1}, counted from 0"
    elif low < 0:
        text = f"branch {low} is asked for, and JAX takes branch 0"
    # Whoever counts from 1 never asks for the first; a number that grows on may well stay at the last branch.
    yield Suspect(at, "choice", text, users, doubtful=not (low == 1 and high == last + 1))


_JUDGES = {"reach": _index, "choice": _choice, "wrap": _wrap}


def shared_keys(notes: Mapping[str, Array], ways: Ways, places: Places) -> Iterator[Suspect]:
    """Return the draws that were made with the bits of a key of another draw, turn or element."""
    first: dict[bytes, tuple[str, tuple[Frame, ...]]] = {}
    told: set[tuple[Frame, ...]] = set()
    for name, note in notes.items():
        at, _, kind = name.partition("#")
        users = places.users(ways[at]) if kind == KEYS and places.is_forward(ways[at]) else ()
        if not users:
            continue
        turns = _turns(note)
        text = _repeated(turns)
        bits = {one for turn in turns for one in turn}
        again = next((one for one in sorted(bits) if one in first), None)
        if text:
            yield Suspect(at, *text[:2], users, key=text[2], doubtful=any(map(_are_copied, turns)))
        elif again is not None and first[again][1] != users and users not in told:
            told.add(users)
            before, where = first[again]
            other = _apart(where, users)
            yield Suspect(at, "key", "the same key was drawn with before", users, other, key=again, before=before)
        for one in bits:
            first.setdefault(one, (at, users))


def drawn_again(before: Mapping[str, Array], now: Mapping[str, Array], ways: Ways, places: Places) -> Iterator[Suspect]:
    """Return the draws of one call that were made with the very keys of another call."""
    for name, note in now.items():
        at, _, kind = name.partition("#")
        users = places.users(ways[at]) if kind == KEYS and name in before and places.is_forward(ways[at]) else ()
        bits = {one for turn in _turns(note) for one in turn} if users else set()
        if bits and bits == {one for turn in _turns(before[name]) for one in turn}:
            yield Suspect(at, "calls", "two calls draw with the same key", users, key=min(bits))


def _turns(note: Array) -> list[list[bytes]]:
    """Return the bits of the keys that were drawn with, turn by turn."""
    return [[row[:-1].tobytes() for row in turn if row[-1]] for turn in note.reshape(-1, *note.shape[-2:])]


def _apart(one: Sequence[Frame], other: Sequence[Frame]) -> Frame:
    """Return the innermost place of one draw that is none of another."""
    return next((frame for frame in one if frame not in other), one[0])


def _repeated(turns: Sequence[Sequence[bytes]]) -> tuple[str, str, bytes] | None:
    """Return what shares a key, how many there are of it, and that key."""
    ran = [turn for turn in turns if turn]
    for turn in ran:
        if len(set(turn)) < len(turn):
            return "elements", f"{len(turn)} elements draw with {_keys(len(set(turn)))}", _commonest(turn)
    drawn = [one for turn in ran for one in turn]
    if len(ran) > 1 and len(set(drawn)) < len(drawn):
        return "turns", f"{len(ran)} turns draw with {_keys(len(set(drawn)))}", _commonest(drawn)
    return None


def _are_copied(keys: Sequence[bytes]) -> bool:
    """Whether several keys serve the same number of elements each, as in pairs that are compared on the same noise."""
    counts = Counter(keys).values()
    return len(counts) > 1 and len(set(counts)) == 1 < max(counts)


def _commonest(keys: Sequence[bytes]) -> bytes:
    return Counter(keys).most_common(1)[0][0]


def _keys(count: int) -> str:
    return "one key" if count == 1 else f"{count} keys"
