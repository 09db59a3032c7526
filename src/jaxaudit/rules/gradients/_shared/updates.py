"""Updates of parameters in a trace: what an optimizer adds to each leaf, and which gradients that is made of."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import walk
from jaxaudit.ir import Op, Value
from jaxaudit.ir.ops import ELEMENTWISE, KEEPING
from jaxaudit.ir.record import record
from jaxaudit.libraries.lookup import playing
from jaxaudit.rules.gradients._shared.optimizers import made_as

_APPLIES = frozenset(name.rpartition(".")[2] for name in playing("optimizer.apply", "train_state.step"))
_CARRIES = KEEPING | ELEMENTWISE


@record
class Update:
    """One leaf that is updated."""

    op: Op
    param: Value
    sources: tuple[tuple[Op, int], ...]
    """The gradients that the update is made of, each with the position among the results."""

    @property
    def roles(self) -> set[str]:
        """What the optimizer was given: `gradient`, `value` or `auxiliary`."""
        return {_role(op, at) for op, at in self.sources}

    @property
    def trained(self) -> set[Value]:
        """What the gradients were taken with respect to."""
        found: set[Value] = set()
        for op, at in self.sources:
            place = (op.wrt or ())[at : at + 1]
            found.update(op.operands[one] for one in place if one is not None and one < len(op.operands))
        return found


def _role(op: Op, at: int) -> str:
    roles = op.roles or ()
    return str(roles[at]) if at < len(roles) else ""


@remembered
def updates_in(facts: Facts) -> tuple[Update, ...]:
    """Return every leaf that a library adds an update to, in a trace."""
    return tuple(_updates(facts.flow))


def _updates(flow: Flow) -> Iterator[Update]:
    for op in flow.program.mapping("add"):
        x, y = op.arguments.get("x"), op.arguments.get("y")
        if op.library in _APPLIES and isinstance(x, Value) and isinstance(y, Value):
            yield Update(op, origin(flow, x, {}).value, tuple(_behind(flow, y, _is_scalar(flow, x))))


def _behind(flow: Flow, value: Value, scalar: bool) -> Iterator[tuple[Op, int]]:
    """Return the gradients behind an update; numbers such as a norm of all gradients are left out."""

    def made_of(one: Value) -> Iterator[Value]:
        op = flow.maker(one)
        for below in op.operands if op is not None and op.name in _CARRIES else ():
            if scalar or not _is_scalar(flow, below):
                yield made_as(flow, below)

    for one in walk((made_as(flow, value),), made_of):
        op = flow.maker(one)
        if op is not None and op.name == "grad":
            yield op, op.results.index(one)


def _is_scalar(flow: Flow, value: Value) -> bool:
    kind = flow.program.types.get(value)
    return kind is not None and kind.shape == ()
