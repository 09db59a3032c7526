"""What rules read of the shapes domain: the fact of every value, and every op with what it met in each context.

A function that several callers use is solved for each of them: a clash in one context is a clash, a proof must hold in
all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import field
from enum import Enum

from jaxaudit.analyses.shapes.facts import NOTHING, ShapeFact
from jaxaudit.analyses.shapes.literals import literal
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.record import mutable, record


class Fit(Enum):
    """Whether the sizes that meet in an op go together."""

    FITS = "fits"
    CLASHES = "clashes"
    OPEN = "open"


@record
class Context:
    """One op as it was met once: the facts of its operands, of its results and of what its regions take and leave."""

    op: Op
    facts: Mapping[Value, ShapeFact]
    fit: Fit | None = None
    """What became of the sizes that meet here; None where none do."""
    clash: str = ""
    """What does not go together, in a few words."""
    way: tuple[Op, ...] = ()
    """The calls through which it was met, outermost first."""

    def of(self, argument: Argument) -> ShapeFact:
        """Return the fact of an argument: a value, a constant or a structure of these."""
        return literal(argument, lambda value: self.facts.get(value, NOTHING))


@mutable
class Shapes:
    """The solved shapes domain."""

    facts: Mapping[Value, ShapeFact]
    """For each value what holds in all contexts."""
    seen: Mapping[Op, Sequence[Context]] = field(default_factory=dict)
    blank: Set[Op] = frozenset()
    """The ops that were also met where nothing is known of their operands, or more often than is kept."""
    look: Callable[[Op], Sequence[Context]] | None = None
    """Looks at an op when somebody asks, where every type is exact: then nothing depends on the context."""
    meet: Callable[[Op], bool | None] | None = None
    """Tells whether sizes meet in an op, where JAX accepted them; None where that takes a closer look."""

    def of(self, value: Value) -> ShapeFact:
        """Return what is known of a value, covering every context it was seen in."""
        return self.facts.get(value, NOTHING)

    def contexts(self, op: Op) -> Sequence[Context]:
        """Return every context of an op; none where nothing is known of its operands in any.

        One of which nothing is known stands for all of its like, so that what holds in all is known in all.
        """
        if self.look is not None:
            return self.look(op)
        known = self.seen.get(op, ())
        return (*known, Context(op, {})) if known and op in self.blank else known

    def fits(self, op: Op) -> Sequence[Fit]:
        """Return what became of the sizes that meet in an op, for each context in which any do."""
        if op not in self.seen and self.look is None and self.meet is None:
            return ()
        told = None if self.meet is None else self.meet(op)
        if told is not None:
            return (Fit.FITS,) if told else ()
        return [context.fit for context in self.contexts(op) if context.fit is not None]
