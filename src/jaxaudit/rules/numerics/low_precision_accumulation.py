"""The rule `low-precision-accumulation`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.ranges import Ranges
from jaxaudit.analyses.ranges.dtypes import PRECISE_UP_TO
from jaxaudit.analyses.shapes.regions import carry_count
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Verdict
from jaxaudit.rules.numerics._shared.domains import short
from jaxaudit.rules.phrases import proved

_LOW = frozenset({"bfloat16", "float16"})
_COUNTING = frozenset({"arange", "iota", "broadcasted_iota"})
_COUNTS = ("array.create", "array.convert", "array.scan", "scan", "fori")
_BY_HAND = frozenset({"", "arange", "iota", "astype", "broadcasted_iota"})
_PASSES = frozenset({"array.reshape", "array.expand", "array.squeeze", "array.permute", "py.item"})


class LowPrecisionAccumulation(Rule):
    """A number is counted up in a floating type that is too coarse for it.

    ## What it does

    Looks at positions and counts in `bfloat16`, `float16` and `float32`, at `cumsum` in a half-precision type, and at
    loops that add to a half-precision carry. `bfloat16` has no odd numbers above 256, `float16` none above 2,048,
    `float32` none above 16,777,216.

    ## Why is this bad?

    Positions collide, so that different tokens get the same encoding. A counter stops: 256 + 1 is 256 in `bfloat16`.
    A running sum ignores what is small next to it.

    ## Example

    ```python
    positions = jnp.arange(4096, dtype=jnp.bfloat16)
    ```

    ## Use instead

    ```python
    positions = jnp.arange(4096, dtype=jnp.float32)
    ```

    ## When it cannot tell

    When the dtype, the size or the number of turns is not known. Sums along an axis are left alone: JAX adds
    half-precision numbers up in `float32`.
    """

    name = "low-precision-accumulation"
    family = "numerics"
    summary = "Positions, counts or running sums are kept in a floating type that is too coarse for them."
    needs = (Ranges,)

    valid = (
        Example(
            """
            import jax
            import jax.numpy as jnp

            positions = jnp.arange(4096).astype(jnp.float32) / 4096.0
            few = jnp.arange(128, dtype=jnp.bfloat16)

            def mean(x):
                return x.astype(jnp.bfloat16).mean(), jnp.cumsum(x.astype(jnp.bfloat16), dtype=jnp.float32)

            count, _ = jax.lax.scan(lambda c, _: (c + 1, None), jnp.zeros((), jnp.float32), None, length=1000)
            """,
            "fine enough",
        ),
        Example(
            """
            import jax
            import jax.numpy as jnp

            total, _ = jax.lax.scan(lambda c, _: (c * 0.9 + 1, None), jnp.zeros((), jnp.bfloat16), None, length=1000)
            short, _ = jax.lax.scan(lambda c, _: (c + 1, None), jnp.zeros((), jnp.bfloat16), None, length=100)
            """,
            "a sum that fades, and a short one",
        ),
    )
    invalid = (
        Example(
            """
            import jax.numpy as jnp

            positions = jnp.arange(4096, dtype=jnp.bfloat16)  #!
            encoded = jnp.arange(4096)[:, None].astype(jnp.float16)  #!
            """,
            "positions collide",
        ),
        Example(
            """
            import jax
            import jax.numpy as jnp

            def step(count, _):
                return count + 1, None

            count, _ = jax.lax.scan(step, jnp.zeros((), jnp.bfloat16), None, length=1000)  #!
            """,
            "the counter stops at 256",
        ),
        Example(
            """
            import jax
            import jax.numpy as jnp

            def step(total, x):
                return total + x, None

            draws = jax.random.normal(jax.random.key(0), (1000,), dtype=jnp.bfloat16)
            total, _ = jax.lax.scan(step, jnp.zeros((), jnp.bfloat16), draws)  #?
            """,
            "a long sum in half precision",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every count and every running sum in a type that may be too coarse."""
        ranges = facts.get(Ranges)
        flow = facts.flow
        yield from (one for op in program.named(*_COUNTS) for one in _judge(op, ranges, flow))


def _judge(op: Op, ranges: Ranges, flow: Flow) -> Iterator[Obligation]:
    if op.name == "array.create" and short(op) in _COUNTING:
        yield from _positions(op, op, ranges)
    elif op.name == "array.convert":
        maker = _behind(op, flow)
        if maker is not None and maker.name == "array.create" and short(maker) in _COUNTING:
            yield from _positions(op, maker, ranges)
    elif op.name == "array.scan" and short(op) == "cumsum":
        yield from _running(op, ranges)
    elif op.name in ("scan", "fori"):
        yield from _carries(op, ranges, flow)


def _behind(op: Op, flow: Flow) -> Op | None:
    """Look through changes of layout for what is converted."""
    value = next(iter(op.operands), None)
    for _ in range(6):
        maker = flow.maker(value) if value is not None else None
        if maker is None or maker.name not in _PASSES:
            return maker
        value = next(iter(maker.operands), None)
    return None


def _positions(op: Op, counting: Op, ranges: Ranges) -> Iterator[Obligation]:
    dtype = ranges.known.dtype(op.results[0]) or ranges.look(op).asked_dtype()
    limit = PRECISE_UP_TO.get(dtype or "") if op.api in _BY_HAND else None
    known = ranges.of(counting.results[0])
    if limit is None or dtype is None or not known.integer or known.high == float("inf"):
        return
    if known.high <= limit:
        if dtype in _LOW:
            reason = f"`{dtype}` has every whole number up to {limit:,}, and these end at {int(known.high):,}"
            yield proved(LowPrecisionAccumulation.name, op.span, reason)
        return
    yield Obligation(
        LowPrecisionAccumulation.name,
        op.span,
        Verdict.VIOLATED,
        message=f"whole numbers up to {int(known.high):,} collide in `{dtype}`, which is exact up to {limit:,}",
        current=f"above {limit:,} neighbouring numbers are rounded to the same one",
        expected="every number its own",
        suggestion="count in `int32` or `float32`, and convert after scaling",
    )


def _running(op: Op, ranges: Ranges) -> Iterator[Obligation]:
    dtype = ranges.known.dtype(op.results[0])
    sizes = ranges.known.sizes(op.results[0]) or ()
    length = max((size for size in sizes if size is not None), default=0)
    if dtype not in _LOW or dtype is None or length <= PRECISE_UP_TO[dtype]:
        return
    values = ranges.of(op.operands[0]) if op.operands else None
    counts = values is not None and values.is_mask
    yield Obligation(
        LowPrecisionAccumulation.name,
        op.span,
        Verdict.VIOLATED,
        severity=Severity.ERROR if counts else Severity.WARNING,
        message=f"`cumsum` of {length:,} elements in `{dtype}`, which is exact up to {PRECISE_UP_TO[dtype]:,}",
        current="JAX keeps the running sum in this type, and small steps are lost in it",
        expected="a running sum in `float32`",
        suggestion="`jnp.cumsum(x, dtype=jnp.float32)`",
    )


def _carries(op: Op, ranges: Ranges, flow: Flow) -> Iterator[Obligation]:
    region = op.regions[-1]
    first = len(region.params) - len(region.results) if op.name == "fori" else 0
    count = len(region.results) if op.name == "fori" else carry_count(op)
    turns = _turns(op, ranges)
    for param, result in zip(region.params[first : first + count], region.results[:count], strict=False):
        dtype = ranges.known.dtype(param)
        limit = PRECISE_UP_TO.get(dtype or "")
        step = _added(param, result, flow)
        if limit is None or dtype is None or step is None or turns is None:
            continue
        size = ranges.look(op).of(step).constant
        if size is not None and size != 0 and size == int(size):
            if turns > limit:
                yield _stops(op, dtype, limit)
        elif dtype in _LOW and turns > limit:
            yield _coarse(op, dtype, turns)


def _turns(op: Op, ranges: Ranges) -> int | None:
    given = op.trips if op.name == "fori" else op.length
    if isinstance(given, int):
        return given
    sizes = [ranges.known.sizes(value) for value in op.operands[carry_count(op) :]] if op.name == "scan" else []
    return next((size[0] for size in sizes if size), None)


def _added(param: Value, result: Value, flow: Flow) -> Argument:
    """Return what each turn adds to a carry; None where it does something else."""
    maker = flow.maker(result)
    for _ in range(3):
        if maker is None or maker.name != "array.convert":
            break
        maker = flow.maker(maker.operands[0]) if maker.operands else None
    if maker is None or maker.name != "array.map" or short(maker) != "add":
        return None
    x, y, *_ = (*maker.arguments.values(), None, None)
    return y if x is param else x if y is param else None


def _stops(op: Op, dtype: str, limit: int) -> Obligation:
    return Obligation(
        LowPrecisionAccumulation.name,
        op.span,
        Verdict.VIOLATED,
        message=f"a counter in `{dtype}` stops at {limit:,}: {limit:,} + 1 is {limit:,} there",
        current="from then on adding changes nothing",
        expected="a counter that counts every turn",
        suggestion="count in `int32`",
    )


def _coarse(op: Op, dtype: str, turns: int) -> Obligation:
    return Obligation(
        LowPrecisionAccumulation.name,
        op.span,
        Verdict.VIOLATED,
        severity=Severity.WARNING,
        message=f"{turns:,} turns add up in a `{dtype}` carry, which is exact up to {PRECISE_UP_TO[dtype]:,}",
        current="once the sum is large, small terms are lost in it",
        expected="a sum in `float32`",
        suggestion="carry the sum in `float32` and convert it at the end",
    )
