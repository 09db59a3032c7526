"""Meanings that several ops make together: softmax and its logarithm written out, standardised values."""

from __future__ import annotations

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.elements import maker_of_elements
from jaxaudit.analyses.meaning.kinds import Kind, Meaning
from jaxaudit.analyses.queries import walk
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import AVERAGES, BOUNDS, SPREADS


def normal_form(op: Op, flow: Flow) -> Meaning | None:
    """Recognise `exp(x) / sum(exp(x))`, `x - logsumexp(x)` and `(x - mean) / std`."""
    first, second = _operand(op, "x", 0), _operand(op, "y", 1)
    if first is None or second is None or op.function not in ("divide", "subtract"):
        return None
    above, below = flow.maker(first), maker_of_elements(flow, second)
    if below is None:
        return None
    if op.function == "subtract":
        logs = _is_log_of_sum(below, flow)
        return Meaning(Kind.LOG_PROBABILITIES, op, "log_softmax", below.arguments.get("axis")) if logs else None
    if above is None:
        return None
    if above.function == "exp" and below.function == "sum" and _operand(below, "a", 0) is first:
        return Meaning(Kind.PROBABILITIES, op, "softmax", below.arguments.get("axis"))
    standard = above.function == "subtract" and _is_mean(_operand(above, "y", 1), flow) and _is_spread(below, flow)
    return Meaning(Kind.NORMALISED, op, "standardised") if standard else None


def _is_log_of_sum(op: Op, flow: Flow) -> bool:
    if "logsumexp" in (op.function, op.api):
        return True
    inner = _operand(op, "x", 0) if op.function == "log" else None
    below = None if inner is None else maker_of_elements(flow, inner)
    summed = _operand(below, "a", 0) if below is not None and below.function == "sum" else None
    above = None if summed is None else flow.maker(summed)
    return above is not None and above.function == "exp"


def _is_mean(value: Value | None, flow: Flow) -> bool:
    op = None if value is None else maker_of_elements(flow, value)
    return op is not None and (op.function in AVERAGES or op.api == "mean")


def _is_spread(op: Op, flow: Flow) -> bool:
    """Whether a value is a standard deviation or a variance, with something added or as a bound on it."""

    def below(one: Op) -> list[Op]:
        inner = one.operands if one.function == "add" or one.function in BOUNDS else ()
        return [made for value in inner if (made := flow.maker(value)) is not None]

    return any(one.function in SPREADS | {"sqrt", "rsqrt"} or one.api in SPREADS for one in walk((op,), below))


def _operand(op: Op, name: str, at: int) -> Value | None:
    """Return an argument of an op by its name; a trace has operands alone."""
    if not op.arguments:
        return op.operands[at] if at < len(op.operands) else None
    return op.value(name)
