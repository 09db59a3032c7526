"""The tracing domain: solved by context, since one function may run both traced and at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from functools import reduce

from jaxaudit.analyses.domain import WIDEN_AFTER, Direction, Read, Solution, Transfer, never_parts, whole
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.queries import behind as borders
from jaxaudit.analyses.queries import nothing, sources, walk
from jaxaudit.analyses.tracing.boundaries import COUNTER, entering, leaving
from jaxaudit.analyses.tracing.context import JIT_IS_OFF, Context
from jaxaudit.analyses.tracing.facts import CONCRETE, UNKNOWN, Kind, Trace, TracingFacts, join, revised
from jaxaudit.analyses.tracing.transfer import TransferTable
from jaxaudit.analyses.tracing.visits import CONVERTS, WATCHED, Visits
from jaxaudit.ir import Exit, Op, Program, Region, Value
from jaxaudit.ir.functions import COMPARISONS
from jaxaudit.ir.ops import CARRYING, PYTHON_LOOPS
from jaxaudit.ir.values import texts_in
from jaxaudit.libraries.packages import TRACER_TESTS

_CLASSES = ("Tracer", "DynamicJaxprTracer", "JVPTracer", "BatchTracer")
_NEVER_TRACED = frozenset(("numpy.ndarray", "numpy.generic"))
"""Classes that no tracer is an instance of."""
_PYTHON = frozenset(f"builtins.{name}" for name in "int float bool complex str bytes".split())
_PASSING = frozenset("py.operator py.join py.call_library py.container py.to_python py.element".split())
"""Ops whose result answers the question when an operand does."""


def tracer_questions(program: Program, further: Set[Value] = frozenset()) -> set[Value]:
    """Return the values that say whether something is a tracer, `further` ones among them.

    What a `try` converts to a value of Python is there where it was none, and missing where JAX raised.
    """
    asked = program.named("py.operator", "py.call_library", "py.call_unknown")
    found = {value for op in asked if _asks(op) for value in op.results}
    found |= {value for op in program.named(*CONVERTS) if op.guarded for value in op.results} | further
    return set(walk(found, _answers(program).__getitem__)) if found else found


def behind(program: Program, questions: Set[Value]) -> set[Op]:
    """Return the ops that only run where the answer to a question did not leave the function before."""
    regions = [*(root.region for root in program.roots), *(region for op in program.walk() for region in op.regions)]
    found: set[Op] = set()
    for region in regions if questions else ():
        leaving = (at for at, op in enumerate(region.ops) if (_may_leave(op) and not questions.isdisjoint(op.operands)))
        found.update(region.ops[next(leaving, len(region.ops)) + 1 :])
    return found


def _may_leave(op: Op) -> bool:
    return op.name == "py.branch" and any(region.exit is not Exit.FALL for region in op.regions)


def asked_numbers(program: Program) -> dict[Value, Value]:
    """Return the conditions that ask for one of Python's own numbers or texts, each with what is asked.

    No tracer is, so what they guard never happens to one.
    """
    found: dict[Value, Value] = {}
    for op in program.named("py.operator"):
        asked, classes = op.arguments.get("x"), op.arguments.get("y")
        if op.operator == "isinstance" and isinstance(asked, Value):
            if all(one in _PYTHON for one in (classes if isinstance(classes, tuple) else (classes,))):
                found[op.result] = asked
    return found


def _asks(op: Op) -> bool:
    if op.name == "py.operator":
        asked = texts_in(op.arguments.get("y")) if op.operator == "isinstance" else ()
        return any(name.rpartition(".")[2] in _CLASSES or name in _NEVER_TRACED for name in asked)
    function = op.qualified or op.callee
    return function.rpartition(".")[2] in TRACER_TESTS


def _answers(program: Program) -> Mapping[Value, list[Value]]:
    """Return the values that answer a question when a value does."""
    found: defaultdict[Value, list[Value]] = defaultdict(list)
    for op in program.walk():
        if op.name in _PASSING or (op.function in COMPARISONS and op.is_operator):
            for value in op.operands:
                found[value].extend(op.results)
        if not op.regions:
            continue
        for inner in (one for region in op.regions if region.results for one in region.ops if _may_leave(one)):
            # Which of its results a function gives is an answer too.
            for value in inner.operands:
                found[value].extend(made for region in op.regions for made in region.results)
        for region in op.regions:
            # A loop that builds a list gives what its turns add after what it carries, in the order of its results.
            for made, inner in zip(op.results, region.results, strict=False):
                found[inner].append(made)
    return found


class TracingDomain:
    """Says of each value whether JAX traces it, and keeps the visits of ops for the rules."""

    name = "tracing"
    direction = Direction.FORWARD
    by_summary = False
    part = whole
    widen_after = WIDEN_AFTER
    parts = never_parts

    def __init__(self, facts: Facts) -> None:
        self.context = Context()
        self._visits = Visits(self.context)
        self._outside = {param for root in facts.program.roots for param in root.region.params}
        """What a function that nobody calls is given: it comes from outside of every transformation that is seen."""
        self._flow = facts.flow
        self._numbers = asked_numbers(facts.program)
        transfers = TransferTable(self.context).table
        self._table = {name: self._watched(name, transfer) for name, transfer in transfers.items()}

    @property
    def table(self) -> Mapping[str, Transfer[Trace]]:
        """The transfer functions by op name; those that rules judge note each visit."""
        return self._table

    def place(self) -> object:
        """Return what, besides its parameters, decides how a shared body behaves."""
        return self.context.key()

    def unknown(self, value: Value) -> Trace:
        """Return the fact of a value nothing is known of."""
        return CONCRETE if value in self._outside else UNKNOWN

    def join(self, first: Trace, second: Trace) -> Trace:
        """Return what holds on both of two paths."""
        return join(first, second)

    def widen(self, old: Trace, new: Trace) -> Trace:
        """Return what holds on both; facts are few, so every rising sequence ends."""
        return join(old, new)

    def enter(self, op: Op, region: Region, read: Read[Trace], turn: int) -> Sequence[Trace]:
        """Return the facts of a region's parameters, and note where we are."""
        if not self.context.is_open(op):
            self._visits.note(op, read)
        self.context.enter(op)
        if op.name == "py.branch":
            asked = self._numbers.get(op.operands[0]) if op.operands and region is op.regions[0] else None
            never = op.construct == JIT_IS_OFF and self.context.stage is not None
            self.context.rule_out(dead=never or (asked is not None and read(asked).kind is Kind.TRACED))
        if op.name == "py.call":
            self._visits.called(op, region)
        if turn and op.name in PYTHON_LOOPS and len(region.results) >= len(region.params) - 1:
            nexts = zip(region.params[1:], region.results, strict=False)
            return [COUNTER, *(_later(read(value), self._changes(op, param, value)) for param, value in nexts)]
        if self.context.runs_at_once(op):
            return [CONCRETE] * len(region.params)
        return entering(op, region, read)

    def _changes(self, loop: Op, param: Value, following: Value) -> bool | None:
        """Whether a turn changes its parameter, perhaps in loops and branches inside of it; None where exceptions say.

        What a handler alone makes anew stays what it is as long as nothing is raised.
        """
        flow = self._flow

        def before(one: Value) -> Sequence[Value]:
            made = flow.maker(one)
            joined = () if made is None or made.name != "py.join" else made.operands
            return () if one is param else borders(flow, one, nothing) or joined

        ends = [one for one in walk((following,), before) if one is not param and not before(one)]
        makers = [flow.maker(one) for one in ends]
        handled = ends and all(made is not None and flow.places.is_handling(made, loop) for made in makers)
        return None if handled else bool(ends)

    def leave(self, op: Op, read: Read[Trace]) -> Sequence[Trace | None]:
        """Return the facts of an op's results."""
        self.context.leave(op)
        if op.name == "py.branch":
            return self._merged(op, read)
        if op.name == "py.call":
            self._visits.called(op, op.regions[0])
            if op.cached and self.context.tracer is not None:
                self._visits.keep("cached", op, {value: read(value) for value in op.regions[0].results})
        if op.name == "py.loop" and self.context.tracer is not None:
            # What starts as a constant may come out of the first turn traced.
            self._visits.keep("py.loop", op, {value: read(value) for value in op.regions[0].results})
        made = leaving(op, read, self.context)
        if self.context.stage is None and self.context.tracer is not None and op.name in CARRYING:
            return [self._as_before(op, at, fact, read) for at, fact in enumerate(made)]
        return made

    def _as_before(self, op: Op, at: int, fact: Trace | None, read: Read[Trace]) -> Trace | None:
        """Return a result of a loop under `vmap` alone, which traces what depends on what it maps and nothing else."""
        results, mark = op.regions[-1].results, op.entered
        if fact is None or fact.kind is not Kind.TRACED or mark is None or at >= len(results):
            return fact
        # A `while_loop` goes on for some as long as its condition holds for any.
        conditions = [value for region in op.regions[:-1] for value in region.results]
        found = sources(self._flow, (results[at], *conditions), lambda inner: not inner.regions)
        older = (one for one in found if one.id <= mark[0])
        return fact if any(read(one).kind is Kind.TRACED for one in older) else revised(fact, kind=Kind.UNKNOWN)

    def taken(self, op: Op, read: Read[Trace]) -> int | None:
        """Return which branch of an `if` runs, where what JAX traces decides its condition."""
        if op.name != "py.branch" or not op.operands or [region.label for region in op.regions] != ["then", "else"]:
            return None
        answer = read(op.operands[0]).holds
        return None if answer is None else 0 if answer else 1

    def _merged(self, op: Op, read: Read[Trace]) -> list[Trace]:
        only = self.taken(op, read)
        regions = op.regions if only is None else op.regions[only : only + 1]
        falling = [region for region in regions if region.exit is Exit.FALL]
        columns = zip(*([read(value) for value in region.results] for region in falling), strict=True)
        return [reduce(join, column) for column in columns]

    def _watched(self, name: str, transfer: Transfer[Trace]) -> Transfer[Trace]:
        if name not in WATCHED:
            return transfer

        def watched(op: Op, read: Read[Trace]) -> Sequence[Trace | None]:
            self._visits.note(op, read)
            return transfer(op, read)

        return watched

    def at_once(self, facts: Facts) -> TracingFacts | None:
        """Return the result for what JAX traced.

        Its equations ask nothing of Python, and hold none of Python's acts.
        """
        return TracingFacts({}) if facts.program.front_end == "jaxpr" else None

    def finish(self, facts: Facts, solution: Solution[Trace]) -> TracingFacts:
        """Hand the visits to the rules."""
        questions = tracer_questions(facts.program, self._visits.open)
        return self._visits.facts(questions, behind(facts.program, questions), solution.facts)


def _later(fact: Trace, changes: bool | None) -> Trace:
    """Return what a later turn sees: a tracer for sure, or a number that is another one than before."""
    if fact.kind is Kind.TRACED:
        return revised(fact, again=True)
    if changes is None and fact.what == "number":
        return revised(fact, kind=Kind.UNKNOWN)
    return revised(fact, turn=True) if changes and fact.what == "number" else fact
