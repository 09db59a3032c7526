"""A program that was read while a script ran, and the evaluation of its calls: as they were, and changed in places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.replay import watches
from jaxaudit.frontends.jaxpr.replay.interpret import KEYS, Change, Interpreter, Notes, Watch
from jaxaudit.frontends.jaxpr.replay.judge import Suspect
from jaxaudit.frontends.jaxpr.replay.places import Places

MOST_SUSPECTS = 8

Array = Any

WATCHES: dict[str, Watch] = {
    "reach": watches.reach,
    "choice": watches.choice,
    "wrap": watches.wrapping,
    KEYS: watches.keys,
}
"""What is looked at in every call."""


@dataclass(slots=True)
class Program:
    """A program whose calls can be evaluated again; it is compiled once for all of them."""

    closed: Any
    places: Places
    _compiled: dict[tuple[str, ...], tuple[Any, Interpreter]] = field(default_factory=dict)

    def notes(self, given: Sequence[Any], **asked: Watch) -> tuple[list[Array], dict[str, Array], Interpreter]:
        """Evaluate a call and give its results, what is noted of its equations, and how to get to these."""
        if tuple(asked) not in self._compiled:
            interpreter = Interpreter(asked)

            def run(*args: Array) -> tuple[list[Array], Notes]:
                return interpreter.run(self.closed, args)

            self._compiled[tuple(asked)] = compat.jax.jit(run), interpreter
        compiled, interpreter = self._compiled[tuple(asked)]
        outs, notes = compiled(*given)
        order = {at: number for number, at in enumerate(interpreter.way)}
        names = sorted(notes, key=lambda name: order[name.partition("#")[0]])
        return [plain(one) for one in outs], {name: plain(notes[name]) for name in names}, interpreter

    def changed(
        self, given: Sequence[Any], changes: Sequence[tuple[str, Change]]
    ) -> tuple[list[Array], list[list[Array]]]:
        """Evaluate a call as it is, and once with each of some changes."""

        def run(wanted: Array, *args: Array) -> list[Array]:
            made = {at: (change, wanted[number]) for number, (at, change) in enumerate(changes)}
            return Interpreter({}, made).run(self.closed, args)[0]

        compiled, count = compat.jax.jit(run), len(changes)
        rows = [compat.np.zeros(count, bool), *compat.np.eye(count, dtype=bool)]
        first, *others = [[plain(one) for one in compiled(row, *given)] for row in rows]
        return first, others


def mattering(program: Program, given: Sequence[Any], wrong: Sequence[Suspect]) -> Iterator[Suspect]:
    """Return those equations whose results would be others, had they done what they did in another way.

    Of a key that served twice both draws have to matter: a `cond` under `vmap` makes both of its branches draw, and
    throws the numbers of one away.
    """
    tried = wrong[:MOST_SUSPECTS]
    if not tried:
        return
    changes = [(number, at, change) for number, one in enumerate(tried) for at, change in _otherwise(one)]
    first, others = program.changed(given, [(at, change) for _, at, change in changes])
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
    return [(one.at, _OTHERWISE.get(one.kind, watches.elsewhere))]


_OTHERWISE: dict[str, Change] = {"wrap": watches.unwrapped, "choice": watches.counted_round}


def is_whole(given: Sequence[Any] | None) -> bool:
    """Whether none of the arrays of a call was given away."""
    return given is not None and not any(getattr(one, "is_deleted", bool)() for one in given)


def plain(value: Any) -> Array:
    """Return an array of NumPy: of keys their bits, of short floats longer ones."""
    if hasattr(value, "dtype") and compat.jax.dtypes.issubdtype(value.dtype, compat.jax.dtypes.prng_key):
        value = compat.jax.random.key_data(value)
    array = compat.np.asarray(value)
    return array.astype(compat.np.float32) if array.dtype.kind == "V" else array
