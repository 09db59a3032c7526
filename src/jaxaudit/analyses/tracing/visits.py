"""The visits of ops that rules judge, collected while the domain is solved."""

from __future__ import annotations

from collections.abc import Mapping, Set

from jaxaudit.analyses.domain import Read
from jaxaudit.analyses.tracing.context import Context
from jaxaudit.analyses.tracing.facts import UNKNOWN, Kind, Trace, TracingFacts, Visit
from jaxaudit.ir import Op, Region, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.record import replace
from jaxaudit.libraries.packages import TYPE_TESTS
from jaxaudit.spans import Span

_ANYWHERE = frozenset("jit pmap scan fori map py.set_item array.create array.join array.reduce".split())
"""Ops that rules judge wherever they run."""

_TRACED_CODE = frozenset(
    """py.test py.element py.call_library py.call_unknown py.to_python py.format py.print py.item py.loop py.append
    py.store_attr py.store_global py.store_nonlocal array.numpy array.order array.select array.reshape array.expand
    array.gather array.scatter array.split array.move py.random py.clock key.draw key.split key.stream""".split()
)
"""Ops that rules judge in code that a transformation traces."""

CONVERTS = frozenset(("array.numpy", "py.to_python", "py.test"))
"""Ops that raise for a traced array."""

_ASKS = frozenset(("py.operator", "py.call_library", "py.call_unknown", "array.shape"))
"""Ops that may ask for the type of a value."""

WATCHED = _ANYWHERE | _TRACED_CODE | CONVERTS | _ASKS | {"py.global"}
"""Ops without regions that rules or doubts are about."""


class Visits:
    """Notes each op in each context, and what makes the facts about it doubtful."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._known: dict[str, dict[tuple[object, ...], Visit]] = {}
        self._tested: set[Value] = set()
        self._switches: set[Value] = set()
        self.open: set[Value] = set()
        """What functions out of sight make of tracers: a condition on it asks what they are, since it has no value."""
        self._behind: Set[Op] = frozenset()
        self._stopped: dict[tuple[Op, ...], Span] = {}
        """Where a `try` catches what JAX raises for sure: what comes after it in that call sees no tracers."""

    def note(self, op: Op, read: Read[Trace]) -> None:
        """Note an op with the facts of its operands."""
        name = op.name
        if name == "py.global" or (name == "py.operator" and not self._switches.isdisjoint(op.operands)):
            self._switches.update(op.results)
        if name == "py.call_unknown" and any(read(value).kind is Kind.TRACED for value in op.operands):
            self.open.update(op.results)
        if name in _ASKS and _tests_type(op):
            self._tested.update(op.operands)
        if name in CONVERTS and op.guarded and any(read(value).traced_array for value in op.operands):
            stack = tuple(self.context.ops())
            while stack and stack[-1].name == "py.branch":
                stack = stack[:-1]
            self._stopped.setdefault(stack, op.span)
        if name in _ANYWHERE or (name in _TRACED_CODE and self.context.tracer is not None):
            values = (*op.operands, *(op.captured or ()), *(op.structure or ()), *values_in(op.options or {}))
            self.keep(name, op, {value: read(value) for value in values})

    def keep(self, name: str, op: Op, facts: Mapping[Value, Trace]) -> None:
        """Note an op under a name, once for equal facts and surroundings."""
        context = self.context
        if context.dead:
            return
        place = (op, tuple(facts.values()), context.stage, context.tracer)
        known = self._known.setdefault(name, {})
        if place not in known:
            known[place] = Visit(op, facts, context.stage, context.tracer, context.ops())

    def called(self, op: Op, region: Region) -> None:
        """Let a type that is asked for on one side of a call count on the other."""
        if self._tested:
            for value, param in zip(op.operands, region.params, strict=False):
                if value in self._tested or param in self._tested:
                    self._tested.update((value, param))

    def facts(self, questions: Set[Value], behind: Set[Op], values: Mapping[Value, Trace]) -> TracingFacts:
        """Return all visits; code that asks for a value's type takes another path for tracers, so doubt such values.

        `questions` are conditions that ask for tracers, and `behind` what runs only where none of them left.
        """
        self._switches |= questions
        self._behind = behind
        visits = {name: tuple(map(self._doubted, known.values())) for name, known in self._known.items()}
        return TracingFacts(visits, values, frozenset(self._tested), frozenset(questions), frozenset(behind))

    def _doubted(self, visit: Visit) -> Visit:
        if self._guarded(visit):
            return replace(visit, facts=dict.fromkeys(visit.facts, UNKNOWN), doubted=True)
        if self._tested.isdisjoint(visit.facts):
            return visit
        facts = {value: UNKNOWN if value in self._tested else fact for value, fact in visit.facts.items()}
        return replace(visit, facts=facts)

    def _guarded(self, visit: Visit) -> bool:
        """Whether a `try` catches what JAX raises, or whether something else decides if the op runs at all.

        With a global switch nothing may be traced, and code that asks for tracers takes another path for them.
        """
        if visit.op.guarded or (self._stopped and self._is_stopped(visit)):
            return True
        if self._behind and not self._behind.isdisjoint((visit.op, *visit.stack)):
            return True
        branches = [op for op in visit.stack if op.name == "py.branch"]
        choice = next((at for at, op in enumerate(branches) if op.construct == "one of"), len(branches))
        if any(op.construct == "if" for op in branches[choice:]):
            # Which of several functions is called may hang together with what it asks inside.
            return True
        return any(not self._switches.isdisjoint(op.operands) for op in branches)

    def _is_stopped(self, visit: Visit) -> bool:
        stack = visit.stack
        for depth in range(len(stack) + 1):
            at = self._stopped.get(stack[:depth])
            place = stack[depth].span if depth < len(stack) else visit.op.span
            if at is not None and at.path == place.path and at.line < place.line:
                return True
        return False


def _tests_type(op: Op) -> bool:
    if op.name == "py.operator":
        return op.operator == "isinstance"
    return op.qualified in TYPE_TESTS
