"""Values that code changes in place: what made them says nothing of what they hold later."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from jaxaudit.analyses.queries import walk
from jaxaudit.ir import Program, Value
from jaxaudit.ir.interfaces import given_to
from jaxaudit.ir.ops import BODIES, REARRANGED

_SHARING = REARRANGED | {"py.item", "array.numpy", "py.join", "py.branch"}
"""Ops whose results may share their memory with what they are given."""


def mutated_values(program: Program) -> frozenset[Value]:
    """Return every value that an assignment to an item, or a method of a list, may change."""
    changed = [value for op in program.named("py.set_item", "py.append") for value in op.operands[:1]]
    if not changed:
        return frozenset()
    makers, elsewhere = program.makers, _elsewhere(program)

    def same_object(value: Value) -> Iterator[Value]:
        yield from elsewhere.get(value, ())
        maker = makers.get(value)
        if maker is not None and maker.name in _SHARING:
            yield from maker.operands

    return frozenset(walk(changed, same_object))


def _elsewhere(program: Program) -> Mapping[Value, list[Value]]:
    """Return what each parameter of a function stands for, and what each result of an op is inside."""
    found: defaultdict[Value, list[Value]] = defaultdict(list)
    for op in (op for op in program.walk() if op.regions):
        for region in op.regions:
            for param, given in given_to(op, region) if op.name in BODIES else ():
                found[param].append(given)
            for made, inner in zip(op.results, region.results, strict=False):
                found[made].append(inner)
    return found
