"""The tracing domain: solved by context, since one function may run both traced and at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from jaxaudit.analyses.domain import Read, Transfer
from jaxaudit.analyses.tracing.boundaries import entering, leaving
from jaxaudit.analyses.tracing.context import Context
from jaxaudit.analyses.tracing.facts import UNKNOWN, Kind, Trace, TracingFacts, Visit, join
from jaxaudit.analyses.tracing.transfer import TransferTable
from jaxaudit.ir import Exit, Op, Program, Region, Value

if TYPE_CHECKING:
    from jaxaudit.analyses.solve import Solution

_QUIET = frozenset("py.const py.unknown py.return py.raise py.branch py.join py.function key.seed key.fold_in".split())
"""Ops that no rule of this kind judges."""


class TracingDomain:
    """Says of each value whether JAX traces it, and keeps the visits of ops for the rules."""

    name = "tracing"
    by_summary = False

    def __init__(self, program: Program) -> None:
        self.context = Context()
        self._visits: dict[str, dict[tuple[object, ...], Visit]] = {}
        self._tested: set[Value] = set()
        self._switches: set[Value] = set()
        transfers = TransferTable(self.context).table
        self._table = {name: self._watched(name, transfer) for name, transfer in transfers.items()}

    @property
    def table(self) -> Mapping[str, Transfer[Trace]]:
        """The transfer functions by op name; those that rules judge note each visit."""
        return self._table

    def place(self) -> object:
        """Give what, besides its parameters, decides how a shared body behaves."""
        return self.context.key()

    def unknown(self, value: Value) -> Trace:
        """Give the fact of a value nothing is known of."""
        return UNKNOWN

    def join(self, first: Trace, second: Trace) -> Trace:
        """Give what holds on both of two paths."""
        return join(first, second)

    def widen(self, old: Trace, new: Trace) -> Trace:
        """Give what holds on both; facts are few, so every rising sequence ends."""
        return join(old, new)

    def enter(self, op: Op, region: Region, read: Read[Trace], turn: int) -> Sequence[Trace]:
        """Give the facts of a region's parameters, and note where we are."""
        if turn == 0 and (not self.context.stack or self.context.stack[-1] is not op):
            self._note(op, read)
        self.context.enter(op)
        if op.name == "py.call":
            pairs = zip(op.operands, region.params, strict=False)
            self._tested.update(param for value, param in pairs if value in self._tested)
        if turn and op.name in ("py.loop", "py.while") and len(region.results) >= len(region.params) - 1:
            nexts = zip(region.params[1:], region.results, strict=False)
            return [UNKNOWN, *(_later(read(value), changed=value is not param) for param, value in nexts)]
        return entering(op, region, read)

    def leave(self, op: Op, read: Read[Trace]) -> Sequence[Trace | None]:
        """Give the facts of an op's results."""
        self.context.leave(op)
        if op.name == "py.call":
            pairs = zip(op.operands, op.regions[0].params, strict=False)
            self._tested.update(value for value, param in pairs if param in self._tested)
        if op.attrs.get("cached") and self.context.tracer is not None:
            self._keep("cached", op, {value: read(value) for value in op.regions[0].results})
        if op.name == "py.branch":
            return self._merged(op, read)
        return leaving(op, read, self.context)

    def _merged(self, op: Op, read: Read[Trace]) -> list[Trace]:
        falling = [region for region in op.regions if region.exit is Exit.FALL]
        columns = zip(*([read(value) for value in region.results] for region in falling), strict=True)
        return [reduce(join, column) for column in columns]

    def _watched(self, name: str, transfer: Transfer[Trace]) -> Transfer[Trace]:
        if name in _QUIET:
            return transfer

        def watched(op: Op, read: Read[Trace]) -> Sequence[Trace | None]:
            self._note(op, read)
            return transfer(op, read)

        return watched

    def _note(self, op: Op, read: Read[Trace]) -> None:
        if op.name in _QUIET:
            return
        if _tests_type(op):
            self._tested.update(op.operands)
        if op.name == "py.global" or (op.name == "py.operator" and not self._switches.isdisjoint(op.operands)):
            self._switches.update(op.results)
        self._keep(op.name, op, {value: read(value) for value in op.operands})

    def _keep(self, name: str, op: Op, facts: Mapping[Value, Trace]) -> None:
        context = self.context
        place = (op, tuple(facts.values()), context.stage, context.tracer)
        known = self._visits.setdefault(name, {})
        if place not in known:
            known[place] = Visit(op, facts, context.stage, context.tracer, tuple(context.stack))

    def finish(self, program: Program, solution: Solution[Trace]) -> TracingFacts:
        """Hand the visits to the rules.

        Code that asks for a value's type takes another path for tracers, so such values are taken to be unknown.
        """
        found = {name: tuple(map(self._doubted, visits.values())) for name, visits in self._visits.items()}
        return TracingFacts(found)

    def _doubted(self, visit: Visit) -> Visit:
        if self._guarded(visit):
            return replace(visit, facts=dict.fromkeys(visit.facts, UNKNOWN))
        if self._tested.isdisjoint(visit.facts):
            return visit
        facts = {value: UNKNOWN if value in self._tested else fact for value, fact in visit.facts.items()}
        return replace(visit, facts=facts)

    def _guarded(self, visit: Visit) -> bool:
        """Tell whether a global switch decides if the op runs at all: with it, nothing may be traced."""
        return any(op.name == "py.branch" and not self._switches.isdisjoint(op.operands) for op in visit.stack)


def _tests_type(op: Op) -> bool:
    if op.name == "py.operator":
        return op.text("operator") == "isinstance"
    return op.name in ("py.call_library", "array.shape") and op.text("function") in _TYPE_TESTS


_TYPE_TESTS = frozenset(
    """builtins.hasattr builtins.callable builtins.type jax.numpy.isscalar numpy.isscalar equinox.is_array
    equinox.is_inexact_array equinox.is_array_like jax.core.is_concrete""".split()
)


def _later(fact: Trace, *, changed: bool) -> Trace:
    """Give what a later turn sees: a tracer for sure, or a number that is another one than before."""
    if fact.kind is Kind.TRACED:
        return replace(fact, again=True)
    return replace(fact, turn=True) if changed and fact.what == "number" else fact
