"""What a derivative alone traces: its argument, and what is computed from it by a path that has a derivative."""

from __future__ import annotations

from jaxaudit.analyses.gradients.edges import Edge, edges, is_opaque
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import behind, walk
from jaxaudit.analyses.tracing import Kind, Trace, TracingFacts, Visit
from jaxaudit.ir import Op, Value
from jaxaudit.ir.ops import CUSTOM_DERIVATIVES, DERIVATIVES
from jaxaudit.libraries.packages import PLAIN, package


def differentiated(visit: Visit, value: Value, found: TracingFacts, flow: Flow) -> Trace | None:
    """Return why a value has no numbers for Python though nothing but a derivative traces it; None where it has.

    Comparisons of what is differentiated are at hand, and so is all that has no derivative.
    """
    tracer = visit.tracer
    if tracer is None or tracer.name not in DERIVATIVES or visit.of(value).kind is not Kind.UNKNOWN:
        return None
    if visit.doubted or value in found.tested or package(tracer.spelling) not in PLAIN:
        return None
    if any(op.name in CUSTOM_DERIVATIVES for op in flow.around(visit.op, tracer)):
        return None  # A function with a derivative of its own gets the numbers.
    region = tracer.regions[0]
    chosen = {region.params[at] for at in tracer.differentiated or () if at < len(region.params)}
    values = walk((value,), lambda one: behind(flow, one, _has_derivative) if one not in chosen else ())
    if not any(one in chosen for one in values):
        return None
    made = value not in chosen
    return Trace(Kind.TRACED, "array" if made else "", by=tracer, way="" if made else "argument")


def _has_derivative(op: Op) -> bool:
    """Whether what an op gives moves with each of its operands."""
    if op.regions or is_opaque(op) or not (op.name.startswith("array.") or op.name in ("py.item", "py.unpack")):
        return False
    return op.name != "array.numpy" and all(edge is Edge.LIVE for _, edge in edges(op))
