"""Modules that get their parameters from `apply`: inside, each layer reads them without being handed them.

The source front end follows the module's own code beside the call of `apply`, at the same place. A layer in there
depends on what `apply` was given.
"""

from __future__ import annotations

from collections.abc import Mapping

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.ir import Op, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.libraries.lookup import plays
from jaxaudit.spans import Span

_ROLES = ("variables", "params")

Applied = Mapping[tuple[int, Span], tuple[Value, ...]]
"""What `apply` was given, by the region it stands in and its place."""


def reads_parameters(op: Op) -> bool:
    """Whether an op is a layer, or a read of a parameter, of a library whose modules hold none themselves."""
    return op.name == "py.call_library" and plays(op.qualified, "module.reads")


@remembered
def applied_in(facts: Facts) -> Applied:
    """Find every call of `apply`."""
    found: dict[tuple[int, Span], tuple[Value, ...]] = {}
    for region in facts.program.regions():
        for op in region.ops:
            if op.name in ("py.call_library", "key.draw") and plays(op.qualified, "module.apply"):
                given = next((op.arguments[role] for role in _ROLES if role in op.arguments), None)
                found[id(region), op.span] = tuple(values_in(given))
    return found
