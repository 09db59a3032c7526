"""Modules that get their parameters from `apply`: inside, each layer reads them without being handed them.

The source front end follows the module's own code beside the call of `apply`, at the same place. A layer in there
depends on what `apply` was given.
"""

from __future__ import annotations

from collections.abc import Mapping

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.gradients.edges import values_in
from jaxaudit.ir import Op, Value
from jaxaudit.spans import Span

_APPLIES = frozenset(
    """flax.linen.Module.apply flax.training.train_state.TrainState.apply_fn haiku.Transformed.apply
    haiku.TransformedWithoutRng.apply haiku.TransformedWithState.apply
    haiku.TransformedWithoutRngWithState.apply""".split()
)
_ROLES = ("variables", "params")
_READS = ("__call__", "param", "get_parameter", "variable", "get_state")
_WITHOUT = frozenset(("Dropout", "Sequential"))

Applied = Mapping[tuple[int, Span], tuple[Value, ...]]
"""What `apply` was given, by the region it stands in and its place."""


def reads_parameters(op: Op) -> bool:
    """Whether an op is a layer, or a read of a parameter, of a library whose modules hold none themselves."""
    if op.name != "py.call_library" or not op.qualified.startswith(("flax.linen.", "haiku.")):
        return False
    owner, _, method = op.qualified.rpartition(".")
    return method in _READS and owner.rpartition(".")[2] not in _WITHOUT


@remembered
def applied_in(facts: Facts) -> Applied:
    """Find every call of `apply`."""
    found: dict[tuple[int, Span], tuple[Value, ...]] = {}
    for region in facts.program.regions():
        for op in region.ops:
            if op.name in ("py.call_library", "key.draw") and op.qualified in _APPLIES:
                given = next((op.arguments[role] for role in _ROLES if role in op.arguments), None)
                found[id(region), op.span] = tuple(values_in(given))
    return found
