"""Evaluates a jaxpr inside one compiled function, and notes of each equation what was asked for.

An equation is known by the way to it: the numbers of the equations around it and its own, `4.0.12`. What is noted of
one in several turns of a loop is put together by its maximum, except for keys, which are kept turn by turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from jaxaudit.frontends.jaxpr import compat

Array = Any
Notes = dict[str, Array]
Watch = Callable[[Any, Sequence[Array], Sequence[Array]], Array | None]
"""Notes something of an equation, its operands and its results."""
Change = Callable[[Any, Sequence[Array], Sequence[Array]], Sequence[Array]]
"""Gives other results of an equation, where what it did was in doubt."""

KEYS = "keys"
"""The name of the watch whose notes are kept turn by turn."""

CALLS = frozenset(
    """call checkpoint closed_call core_call custom_jvp_call custom_vjp_call custom_vjp_call_jaxpr jit pjit remat2
    xla_metadata_call""".split()
)
"""Primitives that do what their one jaxpr does."""

_MOST_TURNS = 1 << 14


class NotReplayed(Exception):  # noqa: N818
    """A call cannot be evaluated once more; the text says why."""


@dataclass(slots=True)
class Interpreter:
    """Evaluates with watches and changes; `way` gives the equations that lead to each one, outermost first."""

    watches: Mapping[str, Watch]
    changes: Mapping[str, tuple[Change, Array]] = field(default_factory=dict)
    """Of some equations: what to change, and whether to."""
    way: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    turns: dict[str, int] = field(default_factory=dict)
    """How often each scan on the way runs its body."""
    _around: tuple[Any, ...] = ()
    _repeats: tuple[int, ...] = ()
    _in_while: bool = False

    def run(self, closed: Any, args: Sequence[Array], at: str = "") -> tuple[list[Array], Notes]:
        """Evaluate a jaxpr; give its results, and the notes of its equations by the way to each and the watch."""
        jaxpr = compat.open_jaxpr(closed)
        values: dict[Any, Array] = dict(zip(jaxpr.constvars, compat.consts_of(closed), strict=True))
        values.update(zip(jaxpr.invars, args, strict=True))
        notes: Notes = {}

        def read(atom: Any) -> Array:
            return atom.val if compat.is_literal(atom) else values[atom]

        for number, equation in enumerate(jaxpr.eqns):
            outs, more = self._equation(equation, [read(atom) for atom in equation.invars], f"{at}.{number}")
            values.update(zip(equation.outvars, outs, strict=True))
            notes |= more
        return [read(atom) for atom in jaxpr.outvars], notes

    def _equation(self, equation: Any, given: list[Array], at: str) -> tuple[Sequence[Array], Notes]:
        self.way[at] = (*self._around, equation)
        before, self._around = self._around, self.way[at]
        try:
            handler = _CONTROL.get(equation.primitive.name)
            if handler is not None:
                return handler(self, equation, given, at)
            if equation.primitive.name in CALLS:
                inner = next(compat.inner_jaxprs(equation.params))
                return self.run(inner, given, at)
            return self._single(equation, given, at)
        finally:
            self._around = before

    def _single(self, equation: Any, given: list[Array], at: str) -> tuple[Sequence[Array], Notes]:
        if "callback" in equation.primitive.name:
            if equation.outvars and not equation.effects:
                raise NotReplayed("it calls back into Python")
            if equation.outvars:
                raise NotReplayed("it has effects outside JAX")
            return [], {}
        outs = compat.bind(equation, given)
        notes = {f"{at}#{name}": watch(equation, given, outs) for name, watch in self._asked()}
        if at in self.changes:
            change, wanted = self.changes[at]
            outs = [
                compat.jax.numpy.where(wanted, new, old)
                for new, old in zip(change(equation, given, outs), outs, strict=True)
            ]
        return outs, {name: note for name, note in notes.items() if note is not None}

    def _asked(self) -> list[tuple[str, Watch]]:
        few = not self._in_while and prod(self._repeats) <= _MOST_TURNS
        return [(name, watch) for name, watch in self.watches.items() if name != KEYS or few]

    def scan(self, equation: Any, given: list[Array], at: str) -> tuple[Sequence[Array], Notes]:
        """Evaluate `scan`: notes come out turn by turn, and are put together."""
        consts, carry = compat.scan_counts(equation.params)
        length, body = int(equation.params["length"]), equation.params["jaxpr"]
        fixed, start, elements = given[:consts], given[consts : consts + carry], given[consts + carry :]
        self.turns[at] = length

        def turn(state: list[Array], xs: list[Array]) -> Any:
            outs, notes = self.run(body, [*fixed, *state, *xs], at)
            return outs[:carry], (outs[carry:], notes)

        before, self._repeats = self._repeats, (*self._repeats, length)
        last, (stacked, notes) = compat.lax.scan(
            turn, start, elements, length=length, reverse=bool(equation.params["reverse"])
        )
        self._repeats = before
        return [*last, *stacked], {name: note if _is_keys(name) else _most(note) for name, note in notes.items()}

    def loop(self, equation: Any, given: list[Array], at: str) -> tuple[Sequence[Array], Notes]:
        """Evaluate `while`: what is noted goes along with what is carried."""
        params = equation.params
        tested, fixed = params["cond_nconsts"], params["body_nconsts"]
        test, body, start = given[:tested], given[tested : tested + fixed], given[tested + fixed :]
        before, self._in_while = self._in_while, True

        def turn(state: tuple[list[Array], Notes]) -> tuple[list[Array], Notes]:
            outs, notes = self.run(params["body_jaxpr"], [*body, *state[0]], at)
            return outs, {name: compat.jax.numpy.maximum(state[1][name], note) for name, note in notes.items()}

        def goes_on(state: tuple[list[Array], Notes]) -> Array:
            return self.run(params["cond_jaxpr"], [*test, *state[0]], f"{at}/test")[0][0]

        kinds = compat.jax.eval_shape(lambda: self.run(params["body_jaxpr"], [*body, *start], at)[1])
        last, notes = compat.lax.while_loop(goes_on, turn, (start, _nothing(kinds)))
        self._in_while = before
        return last, notes

    def cond(self, equation: Any, given: list[Array], at: str) -> tuple[Sequence[Array], Notes]:
        """Evaluate `cond`: of the branches that are not taken nothing is noted."""
        which, *operands = given
        ways = [(branch, f"{at}/{number}") for number, branch in enumerate(equation.params["branches"])]
        nothing: Notes = {}
        for branch, place in ways:
            nothing |= _nothing(compat.jax.eval_shape(lambda b=branch, p=place: self.run(b, operands, p)[1]))

        def arm(branch: Any, place: str) -> Callable[..., Any]:
            def run(*values: Array) -> Any:
                outs, notes = self.run(branch, values, place)
                return outs, {**nothing, **notes}

            return run

        return compat.lax.switch(which, [arm(*one) for one in ways], *operands)


_CONTROL = {"scan": Interpreter.scan, "while": Interpreter.loop, "cond": Interpreter.cond}


def _is_keys(name: str) -> bool:
    return name.endswith(f"#{KEYS}")


def _most(note: Array) -> Array:
    return compat.jax.numpy.max(note, axis=0, initial=_least(note.dtype))


def _least(dtype: Any) -> Any:
    np = compat.np
    return -np.inf if np.issubdtype(dtype, np.floating) else 0 if dtype == np.uint32 else np.iinfo(dtype).min


def _nothing(kinds: Mapping[str, Any]) -> Notes:
    return {name: compat.jax.numpy.full(kind.shape, _least(kind.dtype), kind.dtype) for name, kind in kinds.items()}
