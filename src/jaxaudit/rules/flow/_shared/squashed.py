"""Samples of a policy that are squashed by `tanh`: their densities, and whether the squashed one is handed on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.meaning.kinds import tail
from jaxaudit.analyses.meaning.samples import Sample, outside, readers, samples, whole
from jaxaudit.analyses.queries import entered, reached
from jaxaudit.ir import Op, Region, Value
from jaxaudit.rules.base import Obligation, Step, Verdict
from jaxaudit.spans import Span

RULE = "meaning-mismatch"

_LAYOUT = frozenset("array.reshape array.expand array.squeeze array.convert array.permute array.reduce".split())
_ELEMENTWISE = _LAYOUT | {"array.map", "array.select"}
_LOGS = frozenset("log log1p softplus logaddexp log_sigmoid logsumexp log2".split())
_SQUARES = frozenset("square power".split())
_LINEAR = frozenset("divide multiply subtract add negative".split())
_DENSITIES = frozenset(("log_prob", "logpdf"))
_JOINS = frozenset(("py.join", "array.select", "cond", "py.branch"))
_TAKES = frozenset(("array.join", "array.dot"))
_CALLS = frozenset(("py.call_unknown", "py.call_library"))
_NOTES = frozenset(("py.return", "py.unread", "py.passed", "py.drop", "py.format", "py.print", "array.shape"))
_MOST = 200
_DEEP = 8


@dataclass(frozen=True, slots=True)
class Density:
    """A place that computes how probable something is under the distribution of a sample."""

    op: Op
    starts: tuple[Value, ...]
    """What it gives, as far as it is known."""


def squashed_samples(flow: Flow) -> Iterator[Obligation]:
    """Judge every sample of a normal distribution that is squashed, or whose sibling is."""
    inverted = next(flow.program.mapping("arctanh"), None) is not None
    for sample in samples(flow):
        yield from _judge(flow, sample, inverted=inverted)


def _judge(flow: Flow, sample: Sample, *, inverted: bool) -> Iterator[Obligation]:
    raw = [value for value, centres in sample.centres.items() if centres]
    yield from _siblings(flow, sample, raw)
    squashes = [op for value in raw for op in readers(flow, value) if _is_tanh(op)]
    for squash in squashes:
        action = _aliases(flow, squash.result)
        again = next((op for value in action for op in readers(flow, value) if _is_tanh(op)), None)
        if again is not None:
            yield _twice(again, squash)
        for density in _densities(flow, action, sample):
            yield _at_squashed(flow.through(density.op, squash, action), squash)
    if len(squashes) == 1 and not inverted:
        yield from _corrections(flow, sample, raw, squashes[0])


def _corrections(flow: Flow, sample: Sample, raw: list[Value], squash: Op) -> Iterator[Obligation]:
    """Judge the density of a sample that is squashed once."""
    action = _aliases(flow, squash.result)
    densities = list(_densities(flow, raw, sample))
    skip = {squash, *(one.op for one in densities)}
    logs, ends = _closure(flow, action, set())
    more, _ = _closure(flow, raw, skip)
    if logs and densities and not ends:
        taker = next((op for value in raw for op in readers(flow, value) if op.name in _TAKES), None)
        if taker is not None:
            yield _not_squashed(taker, squash)
    # Whoever reads the sample itself works with the distribution before `tanh`.
    if logs or more or any(not _carries(op) for op in _uses(flow, raw) if op not in skip):
        return
    kept = any(value in flow.leaving and not list(outside(flow, value)) for value in raw)
    for density in densities if not kept else ():
        if _meets(flow, density, reached(flow, action)):
            yield _uncorrected(density.op, squash)


def _is_tanh(op: Op) -> bool:
    return op.name == "array.map" and tail(op) == "tanh"


def _aliases(flow: Flow, value: Value) -> list[Value]:
    """Return a value under all its names: reshaped, inside of calls and outside of them."""
    found, pending = {value}, [value]
    while pending and len(found) < _MOST:
        current = pending.pop()
        made = [one for op in readers(flow, current) if op.name in _LAYOUT - {"array.reduce"} for one in op.results]
        made += [one for op in readers(flow, current) for one in entered(op, current)]
        made += outside(flow, current)
        pending += [one for one in made if one not in found]
        found.update(made)
    return list(found)


def _carries(op: Op) -> bool:
    return op.name in _LAYOUT or op.name in _NOTES or (op.name == "array.map" and tail(op) in ("add", "multiply"))


def _uses(flow: Flow, values: list[Value]) -> Iterator[Op]:
    return (op for value in values for op in readers(flow, value) if not op.regions)


def _densities(flow: Flow, values: list[Value], sample: Sample) -> Iterator[Density]:
    """Return where the density of the sample's own distribution is computed at some values."""
    centres = {centre for found in sample.centres.values() for centre in found}
    for value in values:
        for op in readers(flow, value):
            if tail(op) in _DENSITIES and op.name in ("py.call_library", "array.map"):
                about = op.arguments.get("self", op.arguments.get("loc"))
                if isinstance(about, Value) and whole(flow, about) in centres:
                    yield Density(op, op.results)
            elif op.name == "array.map" and tail(op) == "subtract":
                others = [one for one in op.operands if one is not value]
                if others and whole(flow, others[0]) in centres and _is_squared(flow, op.result, _DEEP):
                    yield Density(op, op.results)


def _is_squared(flow: Flow, value: Value, depth: int) -> bool:
    for op in readers(flow, value):
        if tail(op) in _SQUARES or (tail(op) == "multiply" and op.operands.count(value) == 2):
            return True
        linear = op.name == "array.map" and tail(op) in _LINEAR
        if depth and (linear or op.name in _LAYOUT) and _is_squared(flow, op.result, depth - 1):
            return True
    return depth > 0 and any(_is_squared(flow, one, depth - 1) for one in outside(flow, value))


def _closure(flow: Flow, values: list[Value], skip: set[Op]) -> tuple[list[Op], list[Op]]:
    """Follow values elementwise: the logarithms that are met, and what reads them otherwise."""
    logs, ends = list[Op](), list[Op]()
    seen, pending = set(values), list(values)
    while pending and len(seen) < _MOST:
        value = pending.pop()
        for op in readers(flow, value):
            if op in skip or op.name in _NOTES:
                continue
            if tail(op) in _LOGS or "log_det" in tail(op) or "jac" in tail(op):
                logs.append(op)
            elif op.regions or op.name in _ELEMENTWISE:
                made = (*entered(op, value),) if op.regions else op.results
                pending += [one for one in made if one not in seen]
                seen.update(made)
            else:
                ends.append(op)
                # A function of the sample alone may well be the correction.
                logs += [op] if op.name in _CALLS and all(one in seen for one in op.operands) else []
        left = [one for one in outside(flow, value) if one not in seen]
        pending += left
        seen.update(left)
    return logs, ends


def _meets(flow: Flow, density: Density, action: set[Value]) -> bool:
    """Whether a density is added to something that depends on the squashed sample, as in a soft value."""
    own, pending = set(density.starts), list(density.starts)
    while pending and len(own) < _MOST:
        value = pending.pop()
        made = list(outside(flow, value))
        for op in readers(flow, value):
            others = [one for one in op.operands if one not in own]
            if op.regions:
                made += entered(op, value)
            elif op.name == "array.map" and tail(op) in ("add", "subtract") and action.intersection(others):
                return True
            elif op.name in _ELEMENTWISE and not action.intersection(others):
                made += op.results
        pending += [one for one in made if one not in own]
        own.update(made)
    return False


def _siblings(flow: Flow, sample: Sample, raw: list[Value]) -> Iterator[Obligation]:
    """Find joins of a raw sample with the squashed centre of its distribution."""
    for value in raw:
        for other, joined in _beside(flow, value):
            squash = flow.maker(whole(flow, other))
            if squash is None or not _is_tanh(squash) or any(map(_is_tanh, readers(flow, joined))):
                continue
            centre = whole(flow, squash.operands[0])
            if any(centre is one or _same_place(flow, centre, one) for one in sample.centres[value]):
                made = flow.maker(value)
                yield _not_squashed(made if made is not None else sample.draw, squash)


def _same_place(flow: Flow, first: Value, second: Value) -> bool:
    """Whether two values are made by one expression, in two calls of its function."""
    one, other = flow.maker(first), flow.maker(second)
    return one is not None and other is not None and one.name == other.name and one.span == other.span


def _beside(flow: Flow, value: Value) -> Iterator[tuple[Value, Value]]:
    """Return what stands in the other paths of a choice, and the choice."""
    for op in readers(flow, value):
        if op.name in _JOINS and not op.regions and op.results:
            yield from ((one, op.result) for one in op.operands if one is not value)
    for region in flow.leaving.get(value, ()):
        holder = flow.places.holder.get(id(region))
        if holder is not None and holder.name in _JOINS:
            at = region.results.index(value)
            if at < len(holder.results):
                sides = [one for one in holder.regions if one is not region and at < len(one.results)]
                yield from ((side.results[at], holder.results[at]) for side in sides)
        elif region.kind == "function":
            at = region.results.index(value)
            calls = _functions(flow).get((region.label, region.span), ())
            sides = [one for one in calls if one is not region and len(one.results) == len(region.results)]
            yield from ((side.results[at], side.results[at]) for side in sides)


def _functions(flow: Flow) -> dict[tuple[str, Span], list[Region]]:
    """Return the bodies of every function, one for each kind of call."""
    found: dict[tuple[str, Span], list[Region]] = flow.table(_functions)
    for region in () if found else flow.program.regions():
        if region.kind == "function":
            found.setdefault((region.label, region.span), []).append(region)
    return found


def _finding(span: Span, message: str, current: str, expected: str, squash: Op, suggestion: str) -> Obligation:
    steps = (Step(squash.span, "the sample is squashed here"),)
    return Obligation(
        RULE,
        span,
        Verdict.VIOLATED,
        message=message,
        current=current,
        expected=expected,
        steps=steps,
        suggestion=suggestion,
    )


def _twice(again: Op, squash: Op) -> Obligation:
    return _finding(
        again.span,
        "the sample is squashed a second time",
        "the bounds are never reached, and the log-probability is that of another action",
        "a sample is squashed once",
        squash,
        "leave one `tanh` out",
    )


def _at_squashed(density: Op, squash: Op) -> Obligation:
    return _finding(
        density.span,
        "the normal density is evaluated at the squashed sample",
        "the distribution is that of the value before `tanh`, so this is the probability of another action",
        "the density at the value before `tanh`, less the logarithm of the derivative of `tanh`",
        squash,
        "evaluate it before `tanh` and subtract `log(1 - action**2)`, or use a distribution with a tanh bijector",
    )


def _uncorrected(density: Op, squash: Op) -> Obligation:
    return _finding(
        density.span,
        "this log-probability is that of the sample before `tanh`, but the squashed one is used with it",
        "squashing changes the density, and nothing accounts for it",
        "the log-probability less the logarithm of the derivative of `tanh`",
        squash,
        "subtract `log(1 - action**2)` for every dimension, or use a distribution with a tanh bijector",
    )


def _not_squashed(taker: Op, squash: Op) -> Obligation:
    return _finding(
        taker.span,
        "the raw sample is handed on, though it is squashed elsewhere",
        "the action leaves the bounds that `tanh` is there to keep",
        "the squashed sample is handed on",
        squash,
        "hand on `jnp.tanh(...)` of the sample",
    )
