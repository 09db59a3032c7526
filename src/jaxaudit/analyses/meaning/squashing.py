"""Samples of a normal distribution that `tanh` squashes: their densities, and what accounts for the squashing."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.elements import whole_of
from jaxaudit.analyses.meaning.samples import Sample, outside, readers, samples
from jaxaudit.analyses.queries import entered, walk
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import DENSITIES, LINEAR, LOG_SPACE, SCALINGS, SUMS_OF_TWO
from jaxaudit.ir.ops import ELEMENTWISE, KEEPING
from jaxaudit.ir.record import record
from jaxaudit.libraries.lookup import plays

_ELEMENTWISE = KEEPING | ELEMENTWISE | {"array.reduce"}
"""Ops after which a density is still one, be it summed."""
_SHOWN = ("py.return", "py.format", "py.print", "array.shape")
"""Ops that compute nothing of the numbers they read."""


@record
class Squashing:
    """A sample and one `tanh` of it."""

    sample: Sample
    raw: tuple[Value, ...]
    """The sample under all its names, before it is squashed."""
    op: Op
    """The `tanh`."""
    action: tuple[Value, ...]
    """The squashed sample under all its names."""
    alone: bool
    """Whether nothing else squashes the sample, and nothing in the program inverts a `tanh`."""


@remembered
def squashings(facts: Facts) -> list[Squashing]:
    """Return every `tanh` of a sample of a normal distribution."""
    return list(_squashings(facts.flow))


def _squashings(flow: Flow) -> Iterator[Squashing]:
    inverted = next(flow.program.mapping("arctanh"), None) is not None
    for sample in samples(flow):
        raw = tuple(value for value, centres in sample.centres.items() if centres)
        squashes = [op for value in raw for op in readers(flow, value) if is_tanh(op)]
        for op in squashes:
            yield Squashing(sample, raw, op, _aliases(flow, op.result), len(squashes) == 1 and not inverted)


def is_tanh(op: Op) -> bool:
    """Whether an op squashes what it is given."""
    return op.name == "array.map" and op.function == "tanh"


def _aliases(flow: Flow, value: Value) -> tuple[Value, ...]:
    """Return a value under all its names: reshaped, inside of calls and outside of them."""

    def step(one: Value) -> Iterator[Value]:
        for op in readers(flow, one):
            yield from op.results if op.name in KEEPING else entered(op, one)
        yield from outside(flow, one)

    return tuple(walk((value,), step))


def densities(flow: Flow, values: Collection[Value], sample: Sample) -> Iterator[Op]:
    """Return where the density of the sample's own distribution is computed at some values."""
    centres = {centre for found in sample.centres.values() for centre in found}
    for value in values:
        for op in readers(flow, value):
            about = _centre(op, value, flow)
            if about is not None and whole_of(flow, about) in centres:
                yield op


def _centre(op: Op, value: Value, flow: Flow) -> Value | None:
    """Return the distribution, or its centre, whose density an op computes at a value: `log_prob`, `(x - mean)**2`."""
    if op.function in DENSITIES and op.name in ("py.call_library", "array.map"):
        return op.value("self", "loc")
    others = [one for one in op.operands if one is not value]
    if op.name == "array.map" and op.function == "subtract" and others and _is_squared(flow, op.result):
        return others[0]
    return None


def _is_squared(flow: Flow, value: Value) -> bool:
    """Whether a value is squared, perhaps after it was scaled or moved."""

    def step(one: Value) -> Iterator[Value]:
        yield from outside(flow, one)
        for op in readers(flow, one):
            if op.name in KEEPING | {"array.reduce"} or (op.name == "array.map" and op.function in LINEAR | SCALINGS):
                yield from op.results

    return any(
        op.function in ("square", "power") or (op.function == "multiply" and op.operands.count(one) == 2)
        for one in walk((value,), step)
        for op in readers(flow, one)
    )


@record
class Uses:
    """What is computed of some values element by element."""

    logarithms: tuple[Op, ...]
    """Those that may account for the squashing."""
    others: tuple[Op, ...]
    """What reads them in another way."""


def uses(flow: Flow, values: Collection[Value], skip: Collection[Op] = ()) -> Uses:
    """Follow values elementwise: the logarithms that are met, and what reads them otherwise."""

    def step(one: Value) -> Iterator[Value]:
        for op in _using(flow, one, skip):
            if not _is_correction(op):
                yield from entered(op, one) if op.regions else op.results if op.name in _ELEMENTWISE else ()
        yield from outside(flow, one)

    seen = dict.fromkeys(walk(values, step))
    met = [op for one in seen for op in _using(flow, one, skip)]
    others = [op for op in met if not _is_correction(op) and not op.regions and op.name not in _ELEMENTWISE]
    # A function of the sample alone may well be the correction.
    calls = [op for op in others if op.name in ("py.call_unknown", "py.call_library")]
    own = [op for op in calls if all(one in seen for one in op.operands)]
    return Uses(tuple(op for op in met if _is_correction(op) or op in own), tuple(others))


def _using(flow: Flow, value: Value, skip: Collection[Op]) -> Iterator[Op]:
    return (op for op in readers(flow, value) if op not in skip and op.name not in _SHOWN)


def _is_correction(op: Op) -> bool:
    return op.function in LOG_SPACE - DENSITIES or plays(op.qualified, "density.correction")


def is_used_raw(flow: Flow, squashing: Squashing, skip: Collection[Op]) -> bool:
    """Whether something else reads the sample itself, and so works with the distribution before `tanh`."""
    return any(
        not op.regions and op.name not in KEEPING | {"array.reduce"} and op.function not in ("add", "multiply")
        for value in squashing.raw
        for op in _using(flow, value, skip)
    )


def meets(flow: Flow, density: Op, action: set[Value]) -> bool:
    """Whether a density is added to something that depends on the squashed sample, as in a soft value."""

    def beside(op: Op, one: Value) -> bool:
        return not action.isdisjoint(other for other in op.operands if other is not one)

    def step(one: Value) -> Iterator[Value]:
        yield from outside(flow, one)
        for op in readers(flow, one):
            if op.regions:
                yield from entered(op, one)
            elif op.name in _ELEMENTWISE and not beside(op, one):
                yield from op.results

    return any(
        op.name == "array.map" and op.function in SUMS_OF_TWO and beside(op, one)
        for one in walk(density.results, step)
        for op in readers(flow, one)
    )
