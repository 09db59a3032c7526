"""Places that take a value for something (logits, probabilities, a positive number), and what it really is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jaxaudit.analyses.meaning import Kind, Meaning, Meanings
from jaxaudit.analyses.meaning.forms import enters
from jaxaudit.analyses.meaning.kinds import LOGIT_LOSSES, tail
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Obligation, Severity, Step, Verdict

RULE = "meaning-mismatch"

_LINEAR = frozenset("add subtract multiply divide negative dot matmul einsum".split())


@dataclass(frozen=True, slots=True)
class Sink:
    """One place that takes a value for something."""

    op: Op
    value: Value
    wants: Kind
    by: str
    """The function that takes it."""
    applies: str = ""
    """What it applies by itself: `softmax` or `sigmoid`."""
    axis: object = None
    """The axis it works along, as it is written."""


def sinks(program: Program) -> Iterator[Sink]:
    """Return every place that takes a value for logits, probabilities or for what has a logarithm."""
    traced = program.front_end == "jaxpr"
    for op in program.named("array.normalise", "key.draw", "py.call_library", "array.map", "array.reduce"):
        if not op.is_derived:
            yield from _traced(op) if traced else _written(op)


def _written(op: Op) -> Iterator[Sink]:
    name = tail(op)
    by_name = op.named
    given_by = {**op.arguments, **(by_name if isinstance(by_name, dict) else {})}
    logits, probs = given_by.get("logits"), given_by.get("p" if op.name == "key.draw" else "probs")
    if op.name == "array.normalise" and name in ("softmax", "log_softmax"):
        given = op.arguments.get("x")
        if isinstance(given, Value):
            yield Sink(op, given, Kind.LOGITS, name, "softmax", op.arguments.get("axis", -1))
    elif isinstance(logits, Value) and (op.name != "py.call_library" or name in LOGIT_LOSSES):
        by = "categorical" if op.name == "key.draw" else name
        yield Sink(op, logits, Kind.LOGITS, by, LOGIT_LOSSES.get(name, "softmax"), op.arguments.get("axis", -1))
    elif isinstance(logits, Value) and name in ("Categorical", "Multinomial", "OneHotCategorical", "Bernoulli"):
        yield Sink(op, logits, Kind.LOGITS, name, "sigmoid" if name == "Bernoulli" else "softmax", -1)
    elif isinstance(probs, Value):
        yield Sink(op, probs, Kind.PROBABILITIES, name)
    yield from _mapped(op, name)


def _traced(op: Op) -> Iterator[Sink]:
    """In a trace, functions of JAX are the ops they are made of: the first one takes the value."""
    if op.name == "array.reduce" and op.operands and (name := enters(op, op.operands[0])):
        loss = op.library
        by = loss if loss in LOGIT_LOSSES else name
        yield Sink(op, op.operands[0], Kind.LOGITS, by, "softmax", op.arguments.get("axis"))
    elif op.name == "key.draw" and tail(op) == "categorical":
        for value in op.operands[1:2]:
            yield Sink(op, value, Kind.LOGITS, "categorical", "softmax")
    elif op.api == "log_sigmoid" and LOGIT_LOSSES.get(op.library) == "sigmoid" and op.operands:
        yield Sink(op, op.operands[0], Kind.LOGITS, op.library, "sigmoid")
    elif not op.api and not op.library:
        yield from _mapped(op, tail(op))


def _mapped(op: Op, name: str) -> Iterator[Sink]:
    if op.name == "array.map" and name in _ELEMENTWISE and len(op.operands) == 1:
        yield Sink(op, op.operands[0], _ELEMENTWISE[name], name)


_ELEMENTWISE = {"log": Kind.PROBABILITIES, "exp": Kind.LOG_PROBABILITIES, "sigmoid": Kind.LOGITS, "tanh": Kind.RAW}
"""What elementwise functions are usually given."""


def judge(sink: Sink, meanings: Meanings) -> Obligation | None:
    """Whether a value is what it is taken for; None where nothing is at stake."""
    found = meanings.of(sink.value)
    if sink.by in _ELEMENTWISE:
        return _elementwise(sink, found)
    if found is None:
        return _scores(sink, meanings) if sink.wants is Kind.LOGITS else None
    if sink.wants is Kind.LOGITS:
        return _logits(sink, found)
    if found.kind is Kind.LOG_PROBABILITIES:
        return _clash(sink, found, "they are at most zero, so they are no probabilities")
    return _fits(sink, found)


def _scores(sink: Sink, meanings: Meanings) -> Obligation | None:
    made = meanings.flow.maker(sink.value)
    if made is None or made.name in ("py.unknown", "py.call_unknown", "py.attr", "py.item", "py.global"):
        reason = f"what `{sink.by}` is given here comes from code that was not followed"
        return Obligation(RULE, sink.op.span, Verdict.UNKNOWN, reason)
    if made.name in ("array.dot", "array.convolve") or tail(made) in _LINEAR:
        reason = f"`{sink.by}` is given scores that nothing has normalised before"
        return Obligation(RULE, sink.op.span, Verdict.PROVED, reason)
    return None


def _logits(sink: Sink, found: Meaning) -> Obligation | None:
    if found.kind is not Kind.PROBABILITIES:
        return _fits(sink, found) if found.kind is Kind.LOG_PROBABILITIES else None
    if found.how not in ("softmax", "sigmoid"):
        return _clash(sink, found, "the function takes logits or log-probabilities", sure=found.how == "exp")
    if found.how != sink.applies:
        return _clash(sink, found, f"`{sink.by}` applies a {sink.applies} itself", sure=False)
    known = found.axis is not None and _same_axis(sink.axis, found.axis)
    if sink.applies == "softmax" and not known and found.how == "softmax":
        # Another axis is normalised on purpose; one that is not known may be.
        both = found.axis is not None and sink.axis is not None
        return None if both else _clash(sink, found, f"`{sink.by}` normalises once more", sure=sink.by in LOGIT_LOSSES)
    return _clash(sink, found, _WHY.get(sink.by, f"`{sink.by}` applies a {sink.applies} itself"))


_WHY = {
    "categorical": "`categorical` takes unnormalised log-probabilities: it draws from the softmax of what it is given",
    "softmax": "the softmax of probabilities is nearly uniform",
    "log_softmax": "the softmax of probabilities is nearly uniform",
}


def _same_axis(one: object, other: object) -> bool:
    def plain(axis: object) -> object:
        return axis[0] if isinstance(axis, tuple) and len(axis) == 1 else axis

    return plain(one) == plain(other)


def _elementwise(sink: Sink, found: Meaning | None) -> Obligation | None:
    if found is None:
        return None
    if sink.by == "log" and found.kind is Kind.LOG_PROBABILITIES:
        return _clash(sink, found, "the logarithm of numbers below zero is NaN")
    if sink.by == "log" and found.kind is Kind.PROBABILITIES:
        return _fits(sink, found)
    if sink.by == "exp" and found.kind is Kind.PROBABILITIES and found.how != "sigmoid":
        return _clash(sink, found, "the exponential of probabilities is no probability", sure=False)
    if sink.by == "exp" and found.kind is Kind.LOG_PROBABILITIES:
        return _fits(sink, found)
    if sink.by == "sigmoid" and found.kind is Kind.PROBABILITIES and found.how == "sigmoid":
        return _clash(sink, found, "a sigmoid has been applied before", sure=False)
    if sink.by == "tanh" and found.kind is Kind.SQUASHED:
        return _clash(sink, found, "the value is squashed twice, so it never comes near the bounds", sure=False)
    return None


def _fits(sink: Sink, found: Meaning) -> Obligation:
    line = f" (line {found.made.span.line})" if found.made is not None else ""
    reason = f"`{sink.by}` is given {found.kind.value}{line}, which it takes"
    return Obligation(RULE, sink.op.span, Verdict.PROVED, reason)


def _clash(sink: Sink, found: Meaning, why: str, *, sure: bool = True) -> Obligation:
    name = f"`{sink.value.name}`" if sink.value.name else "what it is given"
    steps = (Step(found.made.span, f"{found.how} makes {found.kind.value} here"),) if found.made is not None else ()
    return Obligation(
        RULE,
        sink.op.span,
        Verdict.VIOLATED,
        severity=Severity.ERROR if sure else Severity.WARNING,
        message=f"`{sink.by}` takes {_TAKEN[sink.wants]}, but {name} holds {found.kind.value}",
        current=why,
        expected=f"{_TAKEN[sink.wants]}",
        steps=steps,
        suggestion=_CURES.get(sink.by, f"leave the {found.how} out, or use a function that takes {found.kind.value}"),
    )


_TAKEN = {
    Kind.LOGITS: "logits",
    Kind.PROBABILITIES: "probabilities",
    Kind.LOG_PROBABILITIES: "log-probabilities",
    Kind.RAW: "unsquashed values",
}
_CURES = {"categorical": "give it the logits, or the logarithm of the probabilities"}
