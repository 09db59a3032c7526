"""Where gradients go: the calls that take them, and which gradient a value is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.lineage.versions import OPTIMIZER_STEPS, is_optimizer_step
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.ops import BODIES
from jaxaudit.libraries.lookup import playing

APPLIES = playing("optimizer.apply")
_STEPS = 64


@dataclass(frozen=True, slots=True)
class Applied:
    """A call that takes gradients, with the parameters it changes where it is given them."""

    op: Op
    gradients: Argument
    params: Argument


def applied(program: Program) -> Iterator[Applied]:
    """Return every call that takes gradients, or updates made from them."""
    for op in program.calling(*OPTIMIZER_STEPS):
        yield Applied(op, op.arguments.get("updates"), op.arguments.get("params"))
    for op in program.calling(*APPLIES):
        yield Applied(op, op.arguments.get("updates"), op.arguments.get("params", op.arguments.get("model")))
    for op in program.calling(*playing("train_state.step")):
        yield Applied(op, op.arguments.get("grads"), op.arguments.get("self"))


def origins(flow: Flow, argument: Argument, *, in_turn: bool = False) -> set[Value]:
    """Return the objects that an argument consists of, or is an attribute of; `in_turn` in this turn of the loop."""
    return {_owner(flow, value, in_turn=in_turn) for value in values_in(argument)}


def _owner(flow: Flow, value: Value, *, in_turn: bool) -> Value:
    found = origin(flow, value, {}, in_turn=in_turn)
    for _ in range(_STEPS):
        base = found.op.arguments.get("base") if found.op is not None and found.op.name == "py.attr" else None
        if not isinstance(base, Value):
            break
        found = origin(flow, base, {}, in_turn=in_turn)
    return found.value


def behind(flow: Flow, argument: Argument) -> Iterator[tuple[Op, int]]:
    """Return the derivatives that gradients or updates come from, each with the position among its results."""
    for given in values_in(argument):
        value = made_as(flow, given)
        op = flow.maker(value)
        if op is None:
            continue
        if op.name == "py.unpack" and op.results[0] is value:
            base = op.arguments.get("base")
            step = flow.maker(base) if isinstance(base, Value) else None
            if step is not None and is_optimizer_step(step):
                yield from behind(flow, step.arguments.get("updates"))
        elif op.name == "tree.leaf":
            whole = flow.maker(op.operands[-1])
            if whole is not None and whole.name == "py.unpack":
                yield from behind(flow, op.arguments.get("like"))
        elif op.name == "grad":
            yield op, op.results.index(value)


def made_as(flow: Flow, value: Value) -> Value:
    """Follow a value back through calls, as far as the derivative that gives it."""
    for _ in range(_STEPS):
        op = flow.maker(value)
        region = flow.places.owner.get(value) if op is None else None
        holder = flow.places.holder.get(id(region)) if region is not None else None
        if op is not None and op.name in BODIES and op.name != "grad" and op.regions:
            at = op.results.index(value)
            if at >= len(op.regions[0].results):
                break
            value = op.regions[0].results[at]
        elif region is not None and holder is not None and holder.name in BODIES:
            if len(region.params) != len(holder.operands):
                break
            value = holder.operands[region.params.index(value)]
        else:
            break
    return value


def own_results(op: Op) -> int:
    """Tell how many results of a derivative are the function's own, before the gradients."""
    return len(op.regions[0].results)
