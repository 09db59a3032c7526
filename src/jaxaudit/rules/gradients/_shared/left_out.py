"""Optimizers that are given to some parameters alone: what becomes of the gradients of all others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import behind, walk
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.record import record
from jaxaudit.libraries.lookup import playing, plays
from jaxaudit.rules.gradients._shared.optimizers import APPLIES, STATES, Applied, applied, made_as, raw


@record
class LeftOut:
    """A transformation that makes updates for some parameters, and hands the gradients of the others through."""

    op: Op
    """What leaves them out."""
    step: Op | None
    """Where a whole gradient goes through it and is applied; None where that is not seen."""


def partial_optimizers(program: Program, flow: Flow) -> Iterator[LeftOut | Op]:
    """Return every transformation for some parameters; as plain ops those that may see to all gradients."""
    whole = list(_whole_steps(program, flow))
    for op in program.calling("optax.masked", *playing("optimizer.partition")):
        inner = _updating(op, flow)
        outer = _outermost(op, flow)
        if inner is None or outer is None:
            yield op
        else:
            yield LeftOut(op, next((step for step, made in whole if outer is made), None))


def _updating(op: Op, flow: Flow) -> Op | None:
    """Return the optimizer of some parameters, where the gradients of the others go through as they are."""
    if op.qualified == "optax.masked":
        inner = _maker(op.argument("inner"), flow)
        return inner if inner is not None and _is_whole(inner, flow) and not _is_all(op.argument("mask")) else None
    transforms = op.argument("transforms")
    made = [_maker(one, flow) for one in transforms.values()] if isinstance(transforms, Mapping) else []
    if not any(one is not None and one.qualified == "optax.identity" for one in made):
        return None
    return next((one for one in made if one is not None and _is_whole(one, flow)), None)


def _is_whole(op: Op, flow: Flow) -> bool:
    """Whether a transformation is an optimizer, or a chain that ends in one."""
    if plays(op.qualified, "optimizer.sequence"):
        links = [_maker(one, flow) for one in op.operands]
        return bool(links) and links[-1] is not None and _is_whole(links[-1], flow)
    return plays(op.qualified, "optimizer.whole")


def _is_all(mask: Argument) -> bool:
    """Whether a mask leaves nothing out."""
    if isinstance(mask, Mapping):
        return all(_is_all(one) for one in mask.values())
    return mask is True or mask is None


def _outermost(op: Op, flow: Flow) -> Op | None:
    """Return the chain that a transformation is a link of; None where another link may see to the other parameters."""
    while (around := _chain_of(op, flow)) is not None:
        links = [_maker(one, flow) for one in around.operands]
        if any(link is not op and (link is None or not plays(link.qualified, "optimizer.limit")) for link in links):
            return None
        op = around
    return op


def _chain_of(op: Op, flow: Flow) -> Op | None:
    taken = (one for value in op.results for one in flow.readers.get(value, ()))
    return next((one for one in taken if plays(one.qualified, "optimizer.sequence")), None)


def _maker(given: Argument, flow: Flow) -> Op | None:
    return flow.maker(made_as(flow, given)) if isinstance(given, Value) else None


def _whole_steps(program: Program, flow: Flow) -> Iterator[tuple[Op, Op]]:
    """Return the steps that are given a whole gradient, and whose updates are applied, with what made the optimizer."""
    calls = list(applied(program, flow))
    for call in calls:
        source = raw(flow, call) or _of_state(flow, call)
        if source is None or call.op.qualified in APPLIES or any(one.name == "grad.stop" for one in _inside(source)):
            continue
        if call.op.qualified in STATES:
            makers = _states(call, flow)
        elif any(_is_applied(call.op, other, flow) for other in calls):
            makers = [_maker(call.op.value("self"), flow)]
        else:
            makers = list[Op | None]()
        yield from ((call.op, made) for made in makers if made is not None)


def _of_state(flow: Flow, call: Applied) -> Op | None:
    """Return the derivative by the parameters of a training state, where a call is given all of them."""
    for value in values_in(call.gradients):
        part = flow.maker(made_as(flow, value))
        if part is not None and part.name == "py.attr" and part.label == "params":
            made = _maker(part.value("base"), flow)
            if made is not None and made.name == "grad":
                return made
    return None


def _inside(op: Op) -> Iterator[Op]:
    return (one for region in op.regions for one in region.walk())


def _is_applied(step: Op, call: Applied, flow: Flow) -> bool:
    """Whether the updates of a step are applied as they are."""
    if call.op.qualified not in APPLIES:
        return False
    given = walk(values_in(call.gradients), lambda one: _whole_of(flow, one))
    return any(flow.maker(one) is step for one in given)


def _whole_of(flow: Flow, value: Value) -> tuple[Value, ...]:
    """Return what a value is called elsewhere, or is a leaf or a part of."""
    made = flow.own_maker(value)
    whole = (
        made.value("tree", "base") if made is not None and made.name in ("tree.leaf", "py.unpack", "py.item") else None
    )
    other = made_as(flow, value)
    return tuple(one for one in (whole, other) if one is not None)


def _is_state_step(op: Op) -> bool:
    return op.qualified in STATES


def _states(call: Applied, flow: Flow) -> list[Op | None]:
    """Return what made the optimizers of a training state."""
    found = list[Op | None]()
    for value in walk(values_in(call.params), lambda one: behind(flow, one, _is_state_step)):
        made = flow.own_maker(value)
        if made is not None and made.qualified.endswith("TrainState.create"):
            tx = (made.named or {}).get("tx", made.argument("tx"))
            found.append(_maker(tx, flow))
    return found
