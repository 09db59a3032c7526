"""Indices padded with negative numbers: an index that is tested for being absent, then read as if it were there."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.ir import Op, Program, Region, Value
from jaxaudit.rules.base import Obligation, Step, Verdict
from jaxaudit.rules.numerics._shared.index_ranges import plain_index

_TESTS = {
    ("greater_equal", 0),
    ("less", 0),
    ("greater", -1),
    ("less_equal", -1),
    ("equal", -1),
    ("not_equal", -1),
}
"""Questions that only make sense where -1 stands for nothing."""
_ASKS = tuple(sorted({function for function, _ in _TESTS}))
_MIXES = frozenset("sum mean max min prod logsumexp".split())
_KEEPS = ("array.map", "array.convert", "array.normalise")
_MASKS = frozenset({"multiply", "where"})


def padded_reads(rule: str, program: Program, flow: Flow) -> Iterator[Obligation]:
    """Return every gather whose padding is mixed into a result."""
    if not any(_tested(op) is not None for op in program.mapping(*_ASKS)):
        return
    for region in program.regions():
        yield from _in_region(rule, region, flow)


def _in_region(rule: str, region: Region, flow: Flow) -> Iterator[Obligation]:
    tested = {index: op for op in region.ops if op.name == "array.map" and (index := _tested(op)) is not None}
    for op in region.ops if tested else ():
        index = op.arguments.get("index", op.arguments.get("indices"))
        index = plain_index(index, flow) if isinstance(index, Value) else index
        if op.name in ("py.item", "array.gather") and isinstance(index, Value) and index in tested and op.results:
            mixer = _mixed(region, op.results[0])
            if mixer is not None:
                yield _finding(rule, op, index, tested[index], mixer)


def _tested(op: Op) -> Value | None:
    """Return the index that an op asks about whether it is there."""
    x, y = op.arguments.get("x"), op.arguments.get("y")
    asks = isinstance(y, int) and (op.function, int(y)) in _TESTS
    # JAX's own test before it counts a negative index from the end is no question of the author's.
    asks = asks and op.api not in ("getitem", "take", "take_along_axis")
    return x if asks and isinstance(x, Value) else None


def _mixed(region: Region, value: Value) -> Op | None:
    """Return the op that mixes what was read with the rest; None where a mask comes first, or nobody mixes it here."""
    reached = {value}
    mixer: Op | None = None
    for op in region.ops:
        if reached.isdisjoint(op.operands):
            continue
        function = op.function
        if op.name == "array.reduce" and function in _MIXES and "where" not in op.arguments:
            mixer = mixer or op
        elif op.name in _KEEPS and function not in _MASKS:
            reached.update(op.results)
        else:
            return None
    return mixer


def _finding(rule: str, op: Op, index: Value, test: Op, mixer: Op) -> Obligation:
    name = f"`{index.name}`" if index.name else "the index"
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
