"""Indices padded with negative numbers: an index that is tested for being absent, then read as if it were there."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import walk
from jaxaudit.ir import Op, Program, Region, Value
from jaxaudit.rules.base import Obligation, Step, Verdict
from jaxaudit.rules.numerics._shared.counters import plain_index
from jaxaudit.rules.phrases import named

_TESTS = {
    ("greater_equal", 0),
    ("less", 0),
    ("greater", -1),
    ("less_equal", -1),
    ("equal", -1),
    ("not_equal", -1),
}
"""Questions that only make sense where -1 stands for nothing."""
_EACH_ELEMENT = ("array.map", "array.convert", "array.normalise")
_ASKS = tuple(sorted({function for function, _ in _TESTS}))


def padded_reads(rule: str, program: Program, flow: Flow) -> Iterator[Obligation]:
    """Return every gather whose padding is mixed into a result."""
    if not any(_tested(op) is not None for op in program.mapping(*_ASKS)):
        return
    for region in program.regions():
        yield from _in_region(rule, region, flow)


def _in_region(rule: str, region: Region, flow: Flow) -> Iterator[Obligation]:
    tested = {index: op for op in region.ops if op.name == "array.map" and (index := _tested(op)) is not None}
    for op in region.ops if tested else ():
        index = op.argument("index", "indices")
        index = plain_index(index, flow) if isinstance(index, Value) else index
        if op.name in ("py.item", "array.gather") and isinstance(index, Value) and index in tested and op.results:
            mixer = _mixed(op.results[0], flow)
            if mixer is not None:
                yield _finding(rule, op, index, tested[index], mixer)


def _tested(op: Op) -> Value | None:
    """Return the index that an op asks about whether it is there."""
    x, y = op.arguments.get("x"), op.arguments.get("y")
    asks = isinstance(y, int) and (op.function, int(y)) in _TESTS
    # JAX's own test before it counts a negative index from the end is no question of the author's.
    asks = asks and op.api not in ("getitem", "take", "take_along_axis")
    return x if asks and isinstance(x, Value) else None


def _mixed(read: Value, flow: Flow) -> Op | None:
    """Return the op that mixes what was read with the rest; None where a mask comes first, or nobody mixes it."""
    reached = walk((read,), lambda one: (made for op in _computing(one, flow) for made in op.results))
    ends = [op for one in reached for op in flow.readers.get(one, ()) if op not in _computing(one, flow)]
    mixes = all(op.name == "array.reduce" and "where" not in op.arguments for op in ends)
    return ends[0] if ends and mixes else None


def _computing(value: Value, flow: Flow) -> list[Op]:
    """Return the ops that compute something else of each element."""
    readers = flow.readers.get(value, ())
    return [op for op in readers if op.name in _EACH_ELEMENT and op.function != "multiply"]


def _finding(rule: str, op: Op, index: Value, test: Op, mixer: Op) -> Obligation:
    name = named(index, "the index")
    return Obligation(
        rule,
        op.span,
        Verdict.VIOLATED,
        message=f"{name} is padded with -1, which reads the last element here",
        current="a negative index counts from the end, so every missing entry brings in the last element",
        expected="missing entries add nothing",
        steps=(
            Step(test.span, f"{name} is negative where there is nothing"),
            Step(mixer.span, "what was read for missing entries is mixed in here"),
        ),
        suggestion=f"mask what was read: `jnp.where(({index.name or 'index'} >= 0)[..., None], ..., 0)`",
    )
