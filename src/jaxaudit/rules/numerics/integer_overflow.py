"""The rule `integer-overflow`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.ranges import Range, Ranges, range_text
from jaxaudit.analyses.ranges.dtypes import SMALL, ends, wraps
from jaxaudit.analyses.ranges.transfer.maps import map_range, result_dtype
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Verdict
from jaxaudit.rules.numerics._shared.domains import short
from jaxaudit.rules.numerics.float64_without_x64 import has_x64
from jaxaudit.rules.phrases import proved

_ARITHMETIC = {
    "add": "sum",
    "subtract": "difference",
    "multiply": "product",
    "power": "power",
    "square": "square",
    "negative": "negative",
}
_PASSES = frozenset({"array.map", "array.convert", "py.call", "array.select"})
_MODULAR = frozenset("bitwise_and bitwise_or bitwise_xor remainder fmod left_shift right_shift equal not_equal".split())
"""Readers that show that wrapping around is meant, as in hashes and checksums."""


class IntegerOverflow(Rule):
    """Integers leave the range of their dtype and wrap around.

    ## What it does

    Computes between which numbers sums, differences, products and powers of integers lie, and compares that with what
    their dtype holds. It is an error when ordinary inputs surely leave it: the difference of two `uint8` images, an
    index that is multiplied beyond 2,147,483,647. Where only the dtypes of both operands are known, it is a warning.

    ## Why is this bad?

    JAX raises nothing. 3 - 5 is 254 in `uint8`, and a flattened index becomes negative.

    ## Example

    ```python
    difference = frame.astype(jnp.uint8) - previous.astype(jnp.uint8)
    ```

    ## Use instead

    ```python
    difference = frame.astype(jnp.int32) - previous.astype(jnp.int32)
    ```

    ## When it cannot tell

    When the dtype is not known, or for 32-bit integers when no bound of the operands is known. Results that bitwise
    operations or remainders read are left alone: hashes wrap around on purpose.
    """

    name = "integer-overflow"
    family = "numerics"
    summary = "Integers leave the range of their dtype and silently wrap around."
    needs = (Ranges,)

    valid = (
        Example(
            """
            import jax.numpy as jnp

            def difference(a, b):
                wide = a.astype(jnp.uint8).astype(jnp.int32) - b.astype(jnp.uint8).astype(jnp.int32)
                rows = jnp.arange(1000) * 1000
                half = a.astype(jnp.uint8) // 2 + b.astype(jnp.uint8) // 2
                return wide, rows, half
            """,
            "wide enough",
        ),
        Example(
            """
            import jax.numpy as jnp

            def mixed(a, n):
                word = a.astype(jnp.uint8) * a.astype(jnp.uint8)
                return (word ^ 17) & 255, n * n, 2 ** jnp.arange(31)
            """,
            "a hash wraps around on purpose",
        ),
    )
    invalid = (
        Example(
            """
            import jax.numpy as jnp

            def motion(frame, previous):
                now, before = frame.astype(jnp.uint8), previous.astype(jnp.uint8)
                return jnp.abs(now - before)  #!
            """,
            "the difference of two images",
        ),
        Example(
            """
            import jax.numpy as jnp

            def flat_index():
                rows = jnp.arange(70000)
                return rows * 70000  #!
            """,
            "a flattened index",
        ),
        Example(
            """
            import jax.numpy as jnp

            powers = 2 ** jnp.arange(40)  #!

            def total(a, b):
                return a.astype(jnp.int8) + b.astype(jnp.int8)  #?
            """,
            "powers of two, and sums of bytes",
        ),
        Example(
            """
            import jax.numpy as jnp

            def energy(pixels):
                image = jnp.asarray(pixels, dtype=jnp.uint8)
                return (image**2).sum(), jnp.square(image), image * image  #!

            def scaled():
                return jnp.full((4,), 100, dtype=jnp.int8) * 3, 10 ** jnp.arange(12)  #!
            """,
            "squares of bytes, and powers of ten",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every arithmetic op on integers of a known dtype."""
        ranges = facts.get(Ranges)
        flow = facts.flow
        wide = not program.types and has_x64(facts)
        found = filter(_is_written, program.mapping(*_ARITHMETIC))
        numpy = _made_by_numpy(program, flow)
        yield from (one for op in found for one in _judge(op, ranges, flow, wide=wide or op.results[0] in numpy))


def _is_written(op: Op) -> bool:
    """Tell what the user wrote from what a power, an index or a library's call is made of in a trace."""
    api, name = op.api, short(op)
    if op.is_derived or op.library:
        return False
    return api in ("", name) or (api.startswith("operator") and api.rpartition("_")[2].lstrip("r")[:3] in name[:3])


def _is_modular(value: Value, flow: Flow, depth: int = 3) -> bool:
    """Whether something reads a result that makes sense of wrapping around."""
    readers = flow.readers.get(value, ())
    if any(short(one) in _MODULAR for one in readers):
        return True
    return depth > 0 and any(
        _is_modular(made, flow, depth - 1) for one in readers if one.name in _PASSES for made in one.results
    )


def _judge(op: Op, ranges: Ranges, flow: Flow, *, wide: bool) -> Iterator[Obligation]:
    look = ranges.look(op)
    dtype = result_dtype(look)
    if dtype is None or ends(dtype) is None or dtype in ("uint32", "uint64", "int64"):
        return
    # Source does not tell 64-bit integers from 32-bit ones where both exist.
    if dtype not in SMALL and not ranges.known.types and wide:
        return
    exact = map_range(look, short(op))
    if exact is None or _is_python(op, ranges) or _is_modular(op.results[0], flow):
        return
    if not wraps(exact, dtype):
        if dtype in SMALL and exact.is_bounded:
            reason = f"the {_ARITHMETIC[short(op)]} is {range_text(exact)}, which `{dtype}` holds"
            yield proved(IntegerOverflow.name, op.span, reason)
        return
    yield _finding(op, dtype, exact, _severity(op, dtype, exact, ranges))


def _made_by_numpy(program: Program, flow: Flow) -> set[Value]:
    """Return the values that NumPy made, which counts in 64 bits, and those that are computed or moved of them."""
    pending = [value for op in program.named("array.numpy") for value in op.results]
    found = set(pending)
    for value in pending:
        for op in flow.readers.get(value, ()):
            if op.name in ("array.map", "py.item", "array.reshape", "array.permute"):
                fresh = [one for one in op.results if one not in found]
                found.update(fresh)
                pending.extend(fresh)
    return found


def _is_python(op: Op, ranges: Ranges) -> bool:
    """Tell Python's own integers, which never wrap around, from arrays."""
    known = ranges.known
    if known.types:
        return False
    facts = [known.shapes.of(value) for value in op.operands]
    return not facts or any(fact.number is not None for fact in facts) or all(fact.weak for fact in facts)


def _severity(op: Op, dtype: str, exact: Range, ranges: Ranges) -> Severity:
    """Call it an error where ordinary operands surely leave the dtype."""
    if dtype not in SMALL:
        return Severity.ERROR
    low, high = SMALL[dtype]
    if exact.low > high or exact.high < low or (dtype in ("int8", "uint8") and _is_square(op)):
        return Severity.ERROR
    given = list(op.arguments.values()) or list(op.operands)
    varying = [one for one in given if isinstance(one, Value) and ranges.of(one).constant is None]
    unsigned_difference = dtype.startswith("u") and short(op) == "subtract" and len(varying) == 2
    inside = all(_is_inside(ranges.of(one), *SMALL[dtype]) for one in varying)
    return Severity.ERROR if unsigned_difference or (inside and len(varying) == 2) else Severity.WARNING


def _is_inside(one: Range, low: float, high: float) -> bool:
    """Tell bounds that the code gives from those that any number of the dtype has."""
    return one.high < high and (one.low > low or low == 0)


def _is_square(op: Op) -> bool:
    """Whether a number is raised to a power, or multiplied by itself: of bytes, few stay within their dtype."""
    if short(op) == "multiply":
        given = list(op.arguments.values()) or list(op.operands)
        return len(given) == 2 and given[0] is given[1]
    return short(op) in ("power", "square")


def _finding(op: Op, dtype: str, exact: Range, severity: Severity) -> Obligation:
    low, high = ends(dtype) or (0.0, 0.0)
    word = _ARITHMETIC[short(op)]
    verb = "wraps" if severity is Severity.ERROR else "may wrap"
    return Obligation(
        IntegerOverflow.name,
        op.span,
        Verdict.VIOLATED,
        severity=severity,
        message=f"this {word} {verb} around in `{dtype}`: it is {range_text(exact)}",
        current=f"`{dtype}` holds {int(low)} to {int(high)}, and what is beyond comes out at the other end",
        expected="a dtype that holds every result",
        suggestion="convert to a wider or a floating type before the arithmetic: `.astype(jnp.int32)`"
        if dtype in SMALL
        else "use floating point, or smaller factors",
    )
