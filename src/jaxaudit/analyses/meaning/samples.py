"""Samples of a normal distribution, written out or drawn by a library, and what becomes of them.

`mean + std * normal(key)` and `dist.sample(seed=key)` are both a sample. What it was centred on tells whether a
density is that of the same distribution.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.meaning.kinds import tail
from jaxaudit.analyses.queries import entered
from jaxaudit.ir import Op, Value

_LAYOUT = frozenset("array.reshape array.expand array.squeeze array.convert array.permute device.place".split())
_SCALES = frozenset("multiply divide".split())
_ADDS = frozenset(("add",))
_NORMAL = ("Normal", "MultivariateNormalDiag", "MultivariateNormalTri", "MultivariateNormalFullCovariance")
_CHANGES = frozenset("scan while fori grad vjp jvp".split())
"""Ops whose results are not those of their region."""
_MOST = 40
_STRIPS = 12


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample: the values that it is on its way, each with what it is centred on by then."""

    draw: Op
    centres: dict[Value, tuple[Value, ...]]


def samples(flow: Flow) -> Iterator[Sample]:
    """Return every sample of a normal distribution in a program."""
    for op in flow.program.named("key.draw"):
        if op.backward or not op.results:
            continue
        function = op.qualified
        owner, _, method = function.rpartition(".")
        if function == "jax.random.normal":
            centres = _followed(flow, op.results[0])
            if any(centres.values()):
                yield Sample(op, centres)
        elif method == "sample" and owner.rpartition(".")[2] in _NORMAL and isinstance(op.arguments.get("self"), Value):
            own = op.arguments["self"]
            assert isinstance(own, Value)
            yield Sample(op, dict.fromkeys(_followed(flow, op.results[0]), (whole(flow, own),)))


def _followed(flow: Flow, value: Value) -> dict[Value, tuple[Value, ...]]:
    """Follow noise forwards through scaling, adding and calls."""
    found: dict[Value, tuple[Value, ...]] = {value: ()}
    pending = [value]
    while pending and len(found) < _MOST:
        current = pending.pop()
        known = found[current]
        for op in readers(flow, current):
            more = _centre(flow, op, current)
            made = [*entered(op, current)] if op.regions else op.results if more is not None else ()
            for one in made:
                if one not in found:
                    found[one] = (*known, *(more or ()))
                    pending.append(one)
        for one in outside(flow, current):
            if one not in found:
                found[one] = known
                pending.append(one)
    return found


def _centre(flow: Flow, op: Op, value: Value) -> tuple[Value, ...] | None:
    """Return what an op adds to a sample, nothing where it only scales or moves it.

    None when it makes something else.
    """
    if op.name in _LAYOUT:
        return ()
    if op.name != "array.map":
        return None
    others = [one for one in op.operands if one is not value]
    if tail(op) in _SCALES:
        return () if op.operands.count(value) == 1 and op.operands[:1] != () else None
    if tail(op) in _ADDS and op.operands.count(value) == 1:
        return tuple(whole(flow, one) for one in others)
    return None


def readers(flow: Flow, value: Value) -> Iterator[Op]:
    """Return the ops that read a value in the forward pass."""
    return (op for op in flow.readers.get(value, ()) if not op.backward)


def outside(flow: Flow, value: Value) -> Iterator[Value]:
    """Return what a value is for those who called the function that gives it back."""
    for region in flow.leaving.get(value, ()):
        holder = flow.places.holder.get(id(region))
        for op in flow.callers.get(id(region), ()) if holder is None else (holder,):
            if len(op.results) == len(region.results) and op.name not in (
                "scan",
                "while",
                "fori",
                "grad",
                "vjp",
                "jvp",
            ):
                yield from (made for made, one in zip(op.results, region.results, strict=True) if one is value)


def whole(flow: Flow, value: Value) -> Value:
    """Return the value that another one is, before its layout was changed and outside of calls."""
    for _ in range(_STRIPS):
        found = origin(flow, value, {}).value
        op = flow.maker(found)
        if op is None or op.name not in _LAYOUT or not op.operands:
            return found
        value = op.operands[0]
    return value
