"""The shapes domain: runs every region for the facts it is given, and keeps what each op met.

JAX traces the body of a loop once, with the types of the initial carry, and so does this domain; only Python's own
loops go round until nothing changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from jaxaudit.analyses.dims import UNKNOWN
from jaxaudit.analyses.domain import Read, Transfer
from jaxaudit.analyses.shapes import facts, regions
from jaxaudit.analyses.shapes.facts import NOTHING, ShapeFact, exact, named
from jaxaudit.analyses.shapes.ranks import unpacked_ranks
from jaxaudit.analyses.shapes.result import Context, Shapes
from jaxaudit.analyses.shapes.transfer.look import Look
from jaxaudit.analyses.shapes.transfer.look import Transfer as Inner
from jaxaudit.analyses.shapes.transfer.table import TABLE
from jaxaudit.ir import Op, Program, Region, Value

if TYPE_CHECKING:
    from jaxaudit.analyses.solve import Solution

_MOST_CONTEXTS = 16


class ShapesDomain:
    """Shapes and dtypes, by context."""

    name = "shapes"
    by_summary = False

    def __init__(self, program: Program) -> None:
        self.types = program.types
        self.ranks = unpacked_ranks(program)
        self.seen: dict[Op, list[Context]] = {}
        self._table = {name: self._wrap(transfer) for name, transfer in TABLE.items()}

    @property
    def table(self) -> Mapping[str, Transfer[ShapeFact]]:
        """The transfer functions by op name."""
        return self._table

    def unknown(self, value: Value) -> ShapeFact:
        """Give the exact type where JAX told it, the rank where the code takes the shape apart, else nothing."""
        if value in self.types:
            return exact(self.types[value])
        rank = self.ranks.get(value)
        return NOTHING if rank is None else facts.array((UNKNOWN,) * rank)

    def join(self, first: ShapeFact, second: ShapeFact) -> ShapeFact:
        """Give the fact that covers both."""
        return facts.join(first, second)

    def widen(self, old: ShapeFact, new: ShapeFact) -> ShapeFact:
        """Give the fact that covers both; no chain of facts is long."""
        return facts.join(old, new)

    def enter(self, op: Op, region: Region, read: Read[ShapeFact], turn: int) -> Sequence[ShapeFact]:
        """Give the facts of a region's parameters."""
        made = regions.enter(op, region, self._naming(read), turn)
        return [self._bound(param, fact) for param, fact in zip(region.params, made, strict=True)]

    def leave(self, op: Op, read: Read[ShapeFact]) -> Sequence[ShapeFact | None]:
        """Give the facts of an op's results once its regions are solved."""
        look = Look(op, self._naming(read))
        made = regions.leave(op, look)
        results = [self._told(value, fact) for value, fact in zip(op.results, made, strict=False)]
        inner = [value for region in op.regions for value in (*region.params, *region.results)]
        self._note(look, results, inner)
        return results

    def finish(self, program: Program, solution: Solution[ShapeFact]) -> Shapes:
        """Give rules the facts of all values and the contexts of all ops."""
        return Shapes({**solution.facts, **{value: exact(known) for value, known in self.types.items()}}, self.seen)

    def _bound(self, param: Value, fact: ShapeFact) -> ShapeFact:
        if fact.is_array or fact.items is not None or fact.each is not None:
            return self._told(param, fact)
        return self.unknown(param) if param in self.types or param in self.ranks else fact

    def _naming(self, read: Read[ShapeFact]) -> Read[ShapeFact]:
        return lambda value: named(read(value), value)

    def _told(self, value: Value, fact: ShapeFact | None) -> ShapeFact:
        if value in self.types:
            return exact(self.types[value])
        return NOTHING if fact is None else fact

    def _wrap(self, transfer: Inner) -> Transfer[ShapeFact]:
        def run(op: Op, read: Read[ShapeFact]) -> Sequence[ShapeFact | None]:
            look = Look(op, self._naming(read))
            results = [self._told(value, fact) for value, fact in zip(op.results, transfer(op, look), strict=False)]
            self._note(look, results, ())
            return results

        return run

    def _note(self, look: Look, results: Sequence[ShapeFact], inner: Sequence[Value]) -> None:
        """Keep what an op met, where anything is known of it."""
        op = look.op
        met = {value: look.read(value) for value in (*op.operands, *inner)}
        if look.fit is None and not any(fact.is_array for fact in met.values()):
            return
        contexts = self.seen.setdefault(op, [])
        if len(contexts) < _MOST_CONTEXTS:
            met.update(zip(op.results, results, strict=False))
            contexts.append(Context(op, met, look.fit, look.clash))
