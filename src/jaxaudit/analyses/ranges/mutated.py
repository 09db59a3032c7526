"""Values that code changes in place: what made them says nothing of what they hold later."""

from __future__ import annotations

from jaxaudit.ir import Program, Value
from jaxaudit.ir.ops import BODIES

_VIEWS = frozenset({"array.reshape", "array.permute", "array.squeeze", "array.expand", "py.item", "array.numpy"})


def mutated_values(program: Program) -> frozenset[Value]:
    """Return every value that an assignment to an item, or a method of a list, may change."""
    changed = [value for op in program.named("py.set_item", "py.append") for value in op.operands[:1]]
    if not changed:
        return frozenset()
    makers, handed = program.makers, _handed(program)
    found: set[Value] = set()
    while changed:
        value = changed.pop()
        if value in found:
            continue
        found.add(value)
        changed += handed.get(value, ())
        maker = makers.get(value)
        if maker is not None and (maker.name in _VIEWS or maker.name in ("py.join", "py.branch")):
            changed += maker.operands
            changed += [one for region in maker.regions for one in region.results]
    return frozenset(found)


def _handed(program: Program) -> dict[Value, list[Value]]:
    """Return what each parameter of a function stands for, and each result of an op with regions."""
    handed: dict[Value, list[Value]] = {}
    for op in (op for op in program.walk() if op.regions):
        if op.name in BODIES:
            for region in op.regions:
                for param, given in zip(region.params, op.operands, strict=False):
                    handed.setdefault(param, []).append(given)
        for region in op.regions:
            for made, inner in zip(op.results, region.results, strict=False):
                handed.setdefault(made, []).append(inner)
    return handed
