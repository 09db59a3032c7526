"""Meanings that several ops make together: softmax and its logarithm written out, standardised values."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.meaning.kinds import LOGIT_LOSSES, Kind, Meaning, tail
from jaxaudit.ir import Op, Value

_LAYOUT = frozenset(
    "array.reshape array.expand array.squeeze array.convert array.permute grad.stop py.item array.gather".split()
)
_SPREADS = frozenset(("std", "sqrt", "rsqrt", "var", "nanstd"))
_LOGIT_CALLS = frozenset(("softmax", "log_softmax"))


def normal_form(op: Op, flow: Flow) -> Meaning | None:
    """Recognise `exp(x) / sum(exp(x))`, `x - logsumexp(x)` and `(x - mean) / std`."""
    first, second = (_value(op, name, at) for at, name in enumerate(("x", "y")))
    if first is None or second is None:
        return None
    function = tail(op)
    if function == "divide":
        return _share(op, first, second, flow) or _standard(op, first, second, flow)
    if function == "subtract":
        below = _stripped(second, flow)
        if below is not None and _is_log_of_sum(below, flow):
            return Meaning(Kind.LOG_PROBABILITIES, op, "log_softmax", below.arguments.get("axis"))
    return None


def _share(op: Op, first: Value, second: Value, flow: Flow) -> Meaning | None:
    """A part of a sum of exponentials."""
    above, below = flow.maker(first), _stripped(second, flow)
    if above is None or below is None or tail(above) != "exp" or below.name != "array.reduce" or tail(below) != "sum":
        return None
    summed = _value(below, "a", 0)
    return Meaning(Kind.PROBABILITIES, op, "softmax", below.arguments.get("axis")) if summed is first else None


def _is_log_of_sum(op: Op, flow: Flow) -> bool:
    if tail(op) == "logsumexp" or op.api == "logsumexp":
        return True
    inner = _value(op, "x", 0) if tail(op) == "log" else None
    below = _stripped(inner, flow) if inner is not None else None
    summed = _value(below, "a", 0) if below is not None and tail(below) == "sum" else None
    above = flow.maker(summed) if summed is not None else None
    return above is not None and tail(above) == "exp"


def _standard(op: Op, first: Value, second: Value, flow: Flow) -> Meaning | None:
    """What is left of a mean, divided by a spread."""
    above = flow.maker(first)
    if above is None or tail(above) != "subtract":
        return None
    centre, spread = _value(above, "y", 1), _stripped(second, flow)
    middle = _stripped(centre, flow) if centre is not None else None
    is_mean = middle is not None and (tail(middle) in ("mean", "nanmean") or middle.api == "mean")
    if is_mean and spread is not None and _spreads(spread, flow, 4):
        return Meaning(Kind.NORMALISED, op, "standardised")
    return None


def _spreads(op: Op, flow: Flow, depth: int) -> bool:
    if tail(op) in _SPREADS or op.api in ("std", "var"):
        return True
    makers = [flow.maker(value) for value in op.operands] if tail(op) in ("add", "maximum", "max", "clip") else []
    return depth > 0 and any(one is not None and _spreads(one, flow, depth - 1) for one in makers)


def _value(op: Op, name: str, at: int) -> Value | None:
    given = op.arguments.get(name)
    if given is None and not op.arguments and at < len(op.operands):
        return op.operands[at]
    return given if isinstance(given, Value) else None


def _stripped(value: Value | None, flow: Flow) -> Op | None:
    """Return the op that made a value, before its layout was changed."""
    for _ in range(8):
        op = flow.maker(value) if value is not None else None
        if op is None or op.name not in _LAYOUT or not op.operands:
            return op
        value = op.operands[0]
    return None


def taken_for_logits(op: Op) -> Iterator[Value]:
    """Return the operands that an op takes for logits."""
    named = op.named
    if "logits" in op.arguments or named is not None:
        for given in (op.arguments.get("logits"), named.get("logits") if isinstance(named, dict) else None):
            if isinstance(given, Value) and given in op.operands:
                yield given
    if op.name == "key.draw" and tail(op) == "categorical":
        yield from op.operands[1:]
    elif op.name == "array.normalise" and tail(op) in _LOGIT_CALLS:
        yield from op.operands[:1]
    elif op.name == "array.reduce":
        yield from (value for value in op.operands[:1] if enters(op, value))


def enters(op: Op, value: Value) -> str:
    """Return the function of JAX whose first op this is in a trace, with a value that comes from outside.

    Else empty.
    """
    name = op.api
    if name == "logsumexp" and op.library in LOGIT_LOSSES:
        name = "log_softmax"
    if name not in _LOGIT_CALLS or op.name != "array.reduce" or tail(op) != "max":
        return ""
    return name if op.operands[:1] == (value,) else ""
