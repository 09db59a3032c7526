"""Says what lost a shape: the first op on the way back whose own operands all have one."""

from __future__ import annotations

from functools import lru_cache

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value


def blamed(value: Value, facts: Facts, shapes: Shapes) -> str:
    """Return the mechanism that lost the shape of a value: an op and its function, or where the value comes from."""
    makers, seen = facts.program.makers, set[Value]()
    while True:
        seen.add(value)
        op = makers.get(value)
        if op is None:
            return _parameter(value, facts)
        unknown = [one for one in op.operands if not _is_known(one, shapes) and one not in seen]
        if not unknown:
            return _mechanism(op)
        value = unknown[0]


def _parameter(value: Value, facts: Facts) -> str:
    holder = _holders(facts.program).get(value)
    return "a parameter of what nobody calls" if holder is None else f"a parameter of {holder.name}"


@lru_cache(maxsize=1)
def _holders(program: Program) -> dict[Value, Op]:
    """Return the op of each parameter of a region."""
    return {value: op for op in program.walk() for region in op.regions for value in region.params}


def _is_known(value: Value, shapes: Shapes) -> bool:
    fact = shapes.of(value)
    if fact.dims is not None:
        return all(dim.constant is not None for dim in fact.dims)
    return fact.items is not None or fact.layer is not None


def _mechanism(op: Op) -> str:
    what = op.attrs.get("reason") or op.qualified or op.attrs.get("name") or ""
    return f"{op.name} {what}".strip()
