"""The wording that the rules about traced code share."""

from __future__ import annotations

from jaxaudit.analyses.tracing import Kind, Trace, Visit
from jaxaudit.ir import Argument, Op
from jaxaudit.rules.base import Obligation, Step, proved, unknown, wrapping
from jaxaudit.spans import Span

_NAMES = {"fori": "fori_loop", "while": "while_loop", "map": "lax.map", "abstract": "eval_shape"}


def transform(op: Op | None) -> str:
    """Return the name of a transformation as people write it."""
    if op is None:
        return "the transformation"
    spelling = op.spelling.rpartition(".")[2]
    return f"`{spelling or _NAMES.get(op.name, op.name)}`"


def because(fact: Trace) -> str:
    """Return why a value is traced."""
    by = transform(fact.by)
    inside = fact.by.qualified if fact.by is not None else ""
    whose = f" of `{inside}`" if inside else ""
    match fact.way:
        case "argument":
            return f"{by} traces the arguments{whose}"
        case "carry":
            return f"{by} traces the carry{whose}"
        case "element":
            return f"{by} traces what it hands to each step{whose}"
        case "index":
            return f"{by} traces its counter"
        case _:
            return f"everything JAX computes under {by} is traced"


def steps_of(fact: Trace) -> tuple[Step, ...]:
    """Return where a value became traced: the call, the transformation, and what JAX made of it."""
    if fact.by is None:
        return ()
    made = () if fact.source is None else (Step(fact.source, "here JAX makes an array of it"),)
    return (Step(fact.by.span, because(fact)), *wrapping(fact.by), *made)


def way_from(tracer: Op, visit: Visit) -> tuple[Step, ...]:
    """Return the transformation that traces an op, and the calls that lead there from it."""
    inner = visit.stack[visit.stack.index(tracer) + 1 :] if tracer in visit.stack else ()
    calls = (Step(op.span, f"`{op.function}` is called here") for op in inner if op.name == "py.call")
    return (Step(tracer.span, "traced from here"), *calls)


def without_tracer(span: Span, fact: Trace, name: str) -> Obligation | None:
    """Return the verdict where Python knows a value, or where it is not known whether it is one traced array."""
    if fact.kind is Kind.STATIC:
        return proved(span, f"{name} is a Python value that is known while tracing")
    if fact.kind is Kind.CONCRETE:
        return proved(span, f"{name} is not traced: its value is at hand")
    if fact.traced_array:
        return None
    if fact.kind is Kind.TRACED:
        reason = f"{name} is traced, but whether it is one array or a container of arrays is not known"
    else:
        reason = f"whether {name} is traced here is not known"
    return unknown(span, reason)


def is_argument(value: Argument, fact: Trace) -> bool:
    """Whether a value is a whole argument that is traced: one array, or a container of nothing but such.

    A part of an argument may be a static field of it.
    """
    regions = () if fact.by is None or fact.made else fact.by.regions
    return fact.kind is Kind.TRACED and any(value in region.params for region in regions)
