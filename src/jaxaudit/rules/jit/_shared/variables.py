"""Changes of the variables of `flax.nnx`, which belong to the trace that they were made in and refuse any other."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import nothing, sources
from jaxaudit.analyses.tracing import TracingFacts, Visit
from jaxaudit.ir import Op, Value
from jaxaudit.libraries.lookup import playing, plays
from jaxaudit.rules.base import Obligation, Raises, named, proved
from jaxaudit.rules.jit._shared.phrases import transform, way_from
from jaxaudit.rules.pytrees._shared.evaluations import is_training

_VARIABLES = frozenset(playing("module.variable"))
_STREAMS = frozenset(playing("key.counting"))
_ASSIGNED = ("py.set_item", "py.store_attr")


def judged_variables(facts: Facts) -> Iterator[Obligation]:
    """Say of every change of a variable in traced code whether the same code made the variable."""
    found = facts.get(TracingFacts)
    for visit in found.of(*_ASSIGNED, "py.call_library", "key.stream"):
        holder = _changed(visit.op, facts.flow)
        if holder is None or visit.tracer is None or visit.doubted or _is_shared(visit, visit.tracer):
            continue
        if visit.tracer.entered is not None and holder.id <= visit.tracer.entered[0]:
            yield _refused(visit, visit.tracer, holder)
        else:
            yield proved(visit.op.span, f"{named(holder)} belongs to the code that changes it")


def _changed(op: Op, flow: Flow) -> Value | None:
    """Return the variable, or what holds variables, that an op changes; None where it surely changes none."""
    if op.name in _ASSIGNED:
        holder = op.value("object", "base")
        return holder if holder is not None and op.object_id is None and _is_made_by(holder, _VARIABLES, flow) else None
    holder = op.value("self")
    if holder is None:
        return None
    if op.name == "key.stream":
        return holder if _is_made_by(holder, _STREAMS, flow) else None
    return holder if _counts(op, flow) and is_training(op, flow) else None


def _counts(layer: Op, flow: Flow) -> bool:
    """Whether a layer keeps something in itself that it changes when it is called in training."""
    name = layer.qualified.removesuffix(".__call__")
    if plays(name, "module.own_averages"):
        return True
    made = flow.maker(layer.operands[0]) if plays(name, "module.own_draws") and layer.operands else None
    rate = None if made is None else made.arguments.get("rate")
    return isinstance(rate, float) and rate > 0


def _is_made_by(holder: Value, functions: frozenset[str], flow: Flow) -> bool:
    makers = (flow.maker(one) for one in sources(flow, (holder,), nothing))
    return any(op is not None and op.qualified in functions for op in makers)


def _is_shared(visit: Visit, tracer: Op) -> bool:
    """Whether several calls share the body that holds a change: its values may be those of any of them."""
    inner = visit.stack[visit.stack.index(tracer) + 1 :] if tracer in visit.stack else ()
    return any(region.shared for op in inner for region in op.regions)


def _refused(visit: Visit, tracer: Op, holder: Value) -> Obligation:
    op, by = visit.op, transform(tracer)
    what = named(holder, "this variable") if op.name in _ASSIGNED else f"the state of {named(holder, 'this layer')}"
    return Obligation(
        op.span,
        message=f"{what} is changed in code that {by} traces, and was made outside of it",
        current="`flax.nnx` refuses to change a variable from another trace: `TraceContextError`",
        raises=Raises.TRACING,
        expected="the state goes in and comes out as data, or a transformation of `flax.nnx` hands the module over",
        steps=way_from(tracer, visit),
        suggestion="carry `nnx.state(module)` and merge it inside with `nnx.merge`, or use `nnx.scan`, `nnx.vmap`",
        cause=(holder,),
    )
