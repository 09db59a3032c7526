"""Samples of a normal distribution, written out or drawn by a library, and where they go.

`mean + std * normal(key)` and `dist.sample(seed=key)` are both a sample. What it was centred on tells whether a
density is that of the same distribution.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.elements import whole_of
from jaxaudit.analyses.queries import entered, holders, walk
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import SCALINGS
from jaxaudit.ir.ops import BODIES, BRANCHES, KEEPING, MAPPED
from jaxaudit.ir.record import record
from jaxaudit.libraries.meanings import NORMAL_DISTRIBUTIONS


@record
class Sample:
    """One sample: the values that it is on its way, each with what it is centred on by then."""

    draw: Op
    centres: dict[Value, tuple[Value, ...]]


def samples(flow: Flow) -> Iterator[Sample]:
    """Return every sample of a normal distribution in a program."""
    for op in flow.program.named("key.draw"):
        owner, _, method = op.qualified.rpartition(".")
        distribution = op.value("self")
        if op.backward or not op.results:
            continue
        if op.qualified == "jax.random.normal":
            centres = _followed(flow, op.results[0])
            if any(centres.values()):
                yield Sample(op, centres)
        elif method == "sample" and owner.rpartition(".")[2] in NORMAL_DISTRIBUTIONS and distribution is not None:
            centre = (whole_of(flow, distribution),)
            yield Sample(op, dict.fromkeys(_followed(flow, op.results[0]), centre))


def _followed(flow: Flow, noise: Value) -> dict[Value, tuple[Value, ...]]:
    """Follow noise forwards through scaling, calls and the sum that centres it, and note what it is centred on."""
    centres: dict[Value, tuple[Value, ...]] = {noise: ()}

    def step(value: Value) -> Iterator[Value]:
        for op in readers(flow, value):
            added = _added(op, value)
            if added and centres[value]:
                # What is added to a sample moves it to a place that no distribution here has as its centre.
                continue
            for made in entered(op, value) if op.regions else op.results if added is not None else ():
                centres.setdefault(made, (*centres[value], *(whole_of(flow, one) for one in added or ())))
                yield made
        for made in outside(flow, value):
            centres.setdefault(made, centres[value])
            yield made

    return {value: centres[value] for value in walk((noise,), step)}


def _added(op: Op, sample: Value) -> list[Value] | None:
    """Return what an op adds to a sample, nothing where it only scales or moves it; None if it makes something else."""
    if op.name in KEEPING:
        return []
    if op.name != "array.map" or op.operands.count(sample) != 1:
        return None
    if op.function in SCALINGS:
        return []
    return [one for one in op.operands if one is not sample] if op.function == "add" else None


def readers(flow: Flow, value: Value) -> Iterator[Op]:
    """Return the ops that read a value in the forward pass."""
    return (op for op in flow.readers.get(value, ()) if not op.backward)


def outside(flow: Flow, value: Value) -> Iterator[Value]:
    """Return what a value is for those who called, mapped or chose the function that gives it back."""
    for region in flow.leaving.get(value, ()):
        for op in holders(flow, region):
            same = op.name in BODIES | BRANCHES | MAPPED and op.name not in ("grad", "vjp", "jvp")
            if same and len(op.results) == len(region.results):
                yield from (made for made, one in zip(op.results, region.results, strict=True) if one is value)
