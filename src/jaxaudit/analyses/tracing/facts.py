"""What is known of a value while JAX traces, and the visits of ops that rules judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from enum import Enum
from typing import Any

from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.ops import PYTHON_LOOPS
from jaxaudit.ir.record import record, replace
from jaxaudit.spans import Span


class Kind(Enum):
    """Whether Python can know a value while the code runs that mentions it."""

    STATIC = "static"
    """A Python value: a number, a shape, text, a static argument."""
    CONCRETE = "concrete"
    """An object or array with a value at hand, made outside of every transformation."""
    TRACED = "traced"
    """Every array in it stands for values that exist later: asking for one raises."""
    UNKNOWN = "unknown"

    # Facts are looked up all the time, and each kind is one object: Python's own hash of it would go by its name.
    __hash__ = object.__hash__


@record
class Trace:
    """The fact of one value. Facts that differ only in their history are equal."""

    kind: Kind
    what: str = ""
    """`array` (one of JAX for sure), `numpy`, `number`, `shape`, `list` (of numbers), `lists` (of such), `empty`
    (a list so far), `items` (a list or tuple of anything), `tree` (its leaves are arrays of JAX for sure), `leaves` (a
    list of such leaves), `flat` (such a list and the structure), `arrays` (several of NumPy), or
    nothing: a tree, or anything."""
    mask: bool = False
    """True for an array of booleans."""
    made: bool = False
    """True for an array that JAX traces though nothing but Python values went into it."""
    again: bool = False
    """True where a loop's later turns see it, whatever the first turn saw."""
    turn: bool = False
    """True for a number that differs from turn to turn of a Python loop."""
    varies: bool = False
    """True for an array whose shape differs from turn to turn."""
    frozen: bool | None = False
    """True for a NumPy array that shows the memory of an array of JAX: it cannot be written to. None where it may."""
    axis: bool = False
    """True for the length of an axis of a traced array, or a shape that holds it."""
    length: bool = False
    """True for the length of one of many things, which need not be alike."""
    holds: bool | None = None
    """The answer to a question that is decided here, such as `x is None` of an array."""
    by: Op | None = field(default=None, compare=False)
    """The transformation that traces it."""
    way: str = field(default="", compare=False)
    """How it got in: `argument`, `carry`, `element`, `index`, or `made` inside."""
    source: Span | None = field(default=None, compare=False)
    """Where JAX made an array of Python values, and all it is made of: there it stopped being a number."""

    @property
    def traced_array(self) -> bool:
        """Whether it is an abstract array for sure."""
        return self.kind is Kind.TRACED and self.what == "array"

    @property
    def jax_array(self) -> bool:
        """Whether it is an array of JAX for sure, traced or not."""
        return self.what == "array"


UNKNOWN = Trace(Kind.UNKNOWN)
STATIC = Trace(Kind.STATIC)
NUMBER = Trace(Kind.STATIC, "number")
CONCRETE = Trace(Kind.CONCRETE)
NUMPY = Trace(Kind.CONCRETE, "numpy")
ARRAY = Trace(Kind.CONCRETE, "array")


def revised(fact: Trace, **fields: Any) -> Trace:
    """Return a fact with other fields; the fact itself, as is mostly so, where it has them already."""
    for name, value in fields.items():
        if getattr(fact, name) != value:
            return replace(fact, **fields)
    return fact


def join(first: Trace, second: Trace) -> Trace:
    """Return what holds on both of two paths; a list that is empty so far says nothing beside another one."""
    if first is second or first == second:
        return first
    if (first.what == "empty") is not (second.what == "empty"):
        return second if first.what == "empty" else first
    # What later turns trace is traced, whatever the first turn saw; then they alone say what it is.
    sure = [one for one in (first, second) if one.kind is Kind.TRACED and one.again] or [first, second]
    kinds, whats = {one.kind for one in sure}, {one.what for one in sure}
    kind = sure[0].kind if len(kinds) == 1 else Kind.CONCRETE if kinds == _AT_HAND else Kind.UNKNOWN
    return revised(
        next((one for one in sure if one.kind is Kind.TRACED), first),
        kind=kind,
        what=sure[0].what if len(whats) == 1 else "",
        mask=first.mask and second.mask,
        made=first.made and second.made,
        again=first.again or second.again,
        turn=first.turn or second.turn,
        varies=first.varies or second.varies,
        frozen=first.frozen if first.frozen is second.frozen else None,
        axis=first.axis and second.axis,
        length=first.length or second.length,
        holds=first.holds if first.holds is second.holds else None,
    )


_AT_HAND = {Kind.STATIC, Kind.CONCRETE}


@record
class Visit:
    """One op in one context: what was known of its operands, and what surrounds it."""

    op: Op
    facts: Mapping[Value, Trace]
    stage: Op | None
    """The innermost transformation that stages everything inside it; None where JAX runs each op at once."""
    tracer: Op | None
    """The innermost transformation that traces at all."""
    stack: tuple[Op, ...]
    """The ops that hold it, outermost first."""
    doubted: bool = False
    """Whether something else decides if it runs, or what becomes of what JAX raises there."""

    def of(self, argument: Argument) -> Trace:
        """Return the fact of an argument: a value's own, or that of a constant."""
        if isinstance(argument, Value):
            return self.facts.get(argument, UNKNOWN)
        if isinstance(argument, bool | int | float | complex):
            return NUMBER
        return STATIC

    def role(self, name: str) -> Trace:
        """Return the fact of the argument in a role."""
        return self.of(self.op.arguments.get(name))

    @property
    def loop(self) -> Op | None:
        """The innermost Python loop around it that runs while nothing is traced."""
        for op in reversed(self.stack):
            if op.name in PYTHON_LOOPS:
                return op
        return None


@record
class TracingFacts:
    """What rules read: every visit of every op that matters to them, and what holds of a value in all of them."""

    visits: Mapping[str, tuple[Visit, ...]]
    values: Mapping[Value, Trace] = field(default_factory=dict)
    tested: frozenset[Value] = frozenset()
    """Values whose type the code asks for: what it does with them depends on it."""
    questions: frozenset[Value] = frozenset()
    """Conditions that ask whether something is traced, which code takes another path for."""
    behind: frozenset[Op] = frozenset()
    """Ops that only run where no such condition left the function before."""

    def is_asked(self, places: Iterable[Op]) -> bool:
        """Whether the code asks if something is traced before it gets to an op; `places` are it and what is around."""
        return any(
            one in self.behind or (one.name == "py.branch" and not self.questions.isdisjoint(one.operands))
            for one in places
        )

    def value(self, value: Value) -> Trace:
        """Return what is known of a value in every context that it was seen in."""
        return UNKNOWN if value in self.tested else self.values.get(value, UNKNOWN)

    def of(self, *names: str) -> Iterator[Visit]:
        """Return the visits of ops by name."""
        for name in names:
            yield from self.visits.get(name, ())
