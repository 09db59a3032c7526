"""The rule `integer-overflow`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.extents import extents
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import ahead, through_ops, walk
from jaxaudit.analyses.ranges import Range, Ranges, range_text
from jaxaudit.analyses.ranges.dtypes import SMALL, ends, wraps
from jaxaudit.analyses.ranges.transfer.maps import map_range, result_dtype
from jaxaudit.analyses.ranges.transfer.reduce import total_range
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.ir.functions import ARRAYS_OF_ITEMS, BITWISE, COUNTING, EQUALITIES, MODULAR, REMAINDERS
from jaxaudit.ir.ops import MOVING
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, named, proved, unknown
from jaxaudit.rules.numerics._shared.double_precision import has_x64
from jaxaudit.rules.numerics._shared.host_integers import Bounds, host_bounds
from jaxaudit.spans import Span

_ARITHMETIC = {
    "add": "sum",
    "subtract": "difference",
    "multiply": "product",
    "power": "power",
    "square": "square",
    "negative": "negative",
}
_TAKEN = ARRAYS_OF_ITEMS
_MEANT_TO_WRAP = BITWISE | REMAINDERS | EQUALITIES
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
        difference = frame.astype(jnp.uint8) - previous.astype(jnp.uint8)

    ## Use instead
        difference = frame.astype(jnp.int32) - previous.astype(jnp.int32)

    ## When it cannot tell
    When the dtype is not known, or for 32-bit integers when no bound of the operands is known. Results that bitwise
    operations or remainders read are left alone: hashes wrap around on purpose.
    """

    summary = "Integers leave the range of their dtype and silently wrap around."
    needs = (Ranges, Shapes)

    valid = """
    ## wide enough
    def difference(a, b):
        wide = a.astype(jnp.uint8).astype(jnp.int32) - b.astype(jnp.uint8).astype(jnp.int32)
        rows = jnp.arange(1000) * 1000
        half = a.astype(jnp.uint8) // 2 + b.astype(jnp.uint8) // 2
        return wide, rows, half

    ## as many as a byte holds, or added up in 32 bits
    def present(mask):
        few = jnp.sum(jnp.ones((100,), bool), dtype=jnp.int8)
        return few, mask.astype(jnp.int8).sum(), jnp.sum(mask > 0, dtype=jnp.int8)

    ## as many positions as a byte counts
    def positions(n):
        return jnp.arange(128, dtype=jnp.int8), jnp.arange(n, dtype=jnp.int8)

    ## a hash wraps around on purpose
    def mixed(a, n):
        word = a.astype(jnp.uint8) * a.astype(jnp.uint8)
        return (word ^ 17) & 255, n * n, 2 ** jnp.arange(31)
    """
    invalid = """
    ## the difference of two images
    def motion(frame, previous):
        now, before = frame.astype(jnp.uint8), previous.astype(jnp.uint8)
        return jnp.abs(now - before)  #!

    ## a flattened index
    def flat_index():
        rows = jnp.arange(70000)
        return rows * 70000  #!

    ## powers of two, and sums of bytes
    powers = 2 ** jnp.arange(40)  #!

    def total(a, b):
        return a.astype(jnp.int8) + b.astype(jnp.int8)  #?

    ## squares of bytes, and powers of ten
    def energy(pixels):
        image = jnp.asarray(pixels, dtype=jnp.uint8)
        return (image**2).sum(), jnp.square(image), image * image  #!

    def scaled():
        return jnp.full((4,), 100, dtype=jnp.int8) * 3, 10 ** jnp.arange(12)  #!

    ## more positions than a byte counts
    def positions():
        return jnp.arange(200, dtype=jnp.int8)  #!

    ## more to add up than a byte holds
    def present():
        mask = jnp.ones((1000,), bool)
        return jnp.sum(mask, dtype=jnp.uint8), jnp.cumsum(mask.astype(jnp.int8))  #!

    ## more turns than a byte counts
    def steps(xs):
        def step(count, x):
            return count + 1, x * count  #!

        return jax.lax.scan(step, jnp.int8(0), None, length=1000)
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every arithmetic op on integers of a known dtype."""
        ranges, flow = facts.get(Ranges), facts.flow
        wide = not program.types and has_x64(facts)
        found = filter(_is_written, program.mapping(*_ARITHMETIC))
        numpy = _made_by_numpy(program, flow)
        yield from (one for op in found for one in _judge(op, ranges, flow, wide=wide or op.results[0] in numpy))
        yield from (one for op in program.named("array.reduce", "array.scan") for one in _totals(op, ranges))
        if not wide:
            yield from (one for op in program.named("array.create", "jit") for one in _crossing(op, facts))
        counted = (op for op in program.named("array.create") if op.function in COUNTING)
        yield from (one for op in counted for one in _positions(op, ranges, facts))


def _crossing(op: Op, facts: Facts) -> Iterator[Obligation]:
    """Judge integers of 64 bits that NumPy computed and that JAX takes as such of 32."""
    given = (op.argument("a", "object"),) if op.function in _TAKEN else ()
    if op.name == "jit":
        given = [one for one, static in zip(op.operands, op.static or (), strict=False) if static is False]
    if op.name != "jit" and op.arguments.get("dtype") not in (None, "numpy.int64", "jax.numpy.int64"):
        return
    for value in given:
        if isinstance(value, Value) and (found := host_bounds(value, facts)) is not None:
            yield _taken(op, value, found)


def _taken(op: Op, value: Value, found: Bounds) -> Obligation:
    low, high = ends("int32") or (0.0, 0.0)
    name, exact = named(value, "this"), f"{int(found[0])} to {int(found[1])}"
    if low <= found[0] and found[1] <= high:
        return proved(op.span, f"{name} is {exact}, which `int32` holds")
    beyond = found[0] > high or found[1] < low
    return Obligation(
        op.span,
        severity=Severity.ERROR if beyond else Severity.WARNING,
        message=f"{name} {'does' if beyond else 'may'} not fit into `int32`, which JAX makes of it: it is {exact}",
        current=f"`int32` holds {int(low)} to {int(high)}, and what is beyond comes out at the other end",
        expected="numbers that fit, or 64-bit types that are turned on",
        steps=(Step(value.span, f"NumPy computes {name} in 64 bits"),),
        suggestion="subtract an offset in NumPy first, or turn on `jax_enable_x64`",
        cause=(value,),
    )


def _totals(op: Op, ranges: Ranges) -> Iterator[Obligation]:
    """Judge whether a small type holds the sum of as many numbers as there are."""
    dtype = ranges.known.dtype(op.results[0])
    if dtype not in SMALL or op.is_derived or op.library or not op.operands:
        return
    exact, each = total_range(ranges.look(op)), ranges.of(op.operands[0])
    if exact is None:
        return
    if not exact.is_bounded:
        yield unknown(op.span, f"how many numbers are added up in `{dtype}` is not known")
    elif not wraps(exact, dtype):
        yield proved(op.span, f"the sum is {range_text(exact)}, which `{dtype}` holds")
    else:
        inside = _is_inside(each, *SMALL[dtype])
        yield _finding(op, dtype, exact, Severity.ERROR if inside else Severity.WARNING)


def _positions(op: Op, ranges: Ranges, facts: Facts) -> Iterator[Obligation]:
    """Judge whether a small type holds all the numbers of a range."""
    dtype, extent = ranges.known.dtype(op.results[0]), extents(facts)(op.results[0])
    if dtype not in SMALL:
        return
    high, end = int(SMALL[dtype][1]), None if extent is None else extent.end.constant
    if end is None:
        yield unknown(op.span, f"whether `{dtype}` holds all numbers of this range is not known")
    elif end - 1 <= high:
        yield proved(op.span, f"the range ends before {end}, which `{dtype}` holds")
    else:
        yield Obligation(
            op.span,
            message=f"this counts up to {end - 1} in `{dtype}`, which holds up to {high}",
            current="what is beyond comes out at the other end: later positions are those of earlier ones",
            expected="a dtype that holds every number",
            suggestion="count in `jnp.int32`",
        )


def _is_written(op: Op) -> bool:
    """Whether the user wrote the op: a power, an index or a library's call is made of others in a trace."""
    api, name = op.api, op.function
    if op.is_derived or op.library:
        return False
    return api in ("", name) or (api.startswith("operator") and api.rpartition("_")[2].lstrip("r")[:3] in name[:3])


def wraps_on_purpose(span: Span, facts: Facts) -> bool:
    """Whether something reads what is computed on a line and makes sense of wrapping around."""
    found = (op for op in facts.program.walk() if op.span[:2] == span[:2] and op.results)
    return any(_is_modular(op.results[0], facts.flow) for op in found)


def _is_modular(value: Value, flow: Flow) -> bool:
    """Whether something reads a result that makes sense of wrapping around."""
    reached = walk((value,), lambda one: ahead(flow, one, _keeps_bits))
    return any(reader.function in _MEANT_TO_WRAP for one in reached for reader in flow.readers.get(one, ()))


def _keeps_bits(op: Op) -> bool:
    computes = op.name == "array.map" and op.function in MODULAR
    return computes or op.name in MOVING or op.name == "array.select"


def _judge(op: Op, ranges: Ranges, flow: Flow, *, wide: bool) -> Iterator[Obligation]:
    look = ranges.look(op)
    dtype = result_dtype(look)
    # Source does not tell 64-bit integers from 32-bit ones where both exist.
    if dtype is None or not (dtype in SMALL or (dtype == "int32" and not wide)):
        return
    exact = map_range(look, op.function)
    if exact is None or _is_python(op, ranges):
        return
    if wraps(exact, dtype):
        if _is_complement(op, dtype, ranges):
            yield unknown(op.span, "whether it is the complement of a flag, which is 0 or 1, is not known")
        elif not _is_modular(op.results[0], flow):
            yield _finding(op, dtype, exact, _severity(op, dtype, exact, ranges))
    elif dtype in SMALL and exact.is_bounded:
        yield proved(op.span, f"the {_ARITHMETIC[op.function]} is {range_text(exact)}, which `{dtype}` holds")
    elif dtype in SMALL:
        yield _counted(op, dtype, flow)


def _counted(op: Op, dtype: str, flow: Flow) -> Obligation:
    """Judge what runs without bounds in a small type: a counter of a loop wraps once there are turns enough."""
    loop, by = _counter(op, flow)
    high = int(SMALL[dtype][1])
    if loop is None or by <= 0:
        return unknown(op.span, f"whether it stays within `{dtype}` is not known")
    turns = loop.trips if loop.trips is not None else loop.length
    known = turns if isinstance(turns, int) else None
    if known is not None and known * by <= high:
        return proved(op.span, f"it counts {known} turns, which `{dtype}` holds")
    return Obligation(
        op.span,
        severity=Severity.WARNING if known is None else Severity.ERROR,
        message=f"this counts turns in `{dtype}`, which wraps around after {high // by}",
        current=f"`{dtype}` holds up to {high}, and what is beyond comes out at the other end",
        expected="a dtype that holds every count",
        steps=(Step(loop.span, "the loop is here"),),
        suggestion="count in `jnp.int32`",
    )


def _counter(op: Op, flow: Flow) -> tuple[Op | None, int]:
    """Return the loop that an op counts the turns of, and by how much."""
    by = next((one for one in _given(op) if isinstance(one, int)), 0)
    for value in op.operands if op.function == "add" else ():
        loop = flow.loop_of(value)
        if loop is not None and any(param is value and after in op.results for param, after in loop.successors):
            return loop.op, int(by)
    return None, 0


def _made_by_numpy(program: Program, flow: Flow) -> set[Value]:
    """Return the values that NumPy made, which counts in 64 bits, and those that are computed or moved of them."""
    made = [value for op in program.named("array.numpy") for value in op.results]
    return set(walk(made, lambda one: ahead(flow, one, through_ops("array.map", *MOVING))))


def _is_python(op: Op, ranges: Ranges) -> bool:
    """Whether an op computes with Python's own integers, which never wrap around."""
    known = ranges.known
    if known.types:
        return False
    facts = [known.shapes.of(value) for value in op.operands]
    return not facts or any(fact.number is not None for fact in facts) or all(fact.weak for fact in facts)


def _severity(op: Op, dtype: str, exact: Range, ranges: Ranges) -> Severity:
    """Return how bad it is: an error where ordinary operands surely leave the dtype."""
    if dtype not in SMALL:
        return Severity.ERROR
    low, high = SMALL[dtype]
    if exact.low > high or exact.high < low or (dtype in ("int8", "uint8") and _is_square(op)):
        return Severity.ERROR
    varying = [one for one in _given(op) if isinstance(one, Value) and ranges.of(one).constant is None]
    unsigned_difference = dtype.startswith("u") and op.function == "subtract" and len(varying) == 2
    inside = all(_is_inside(ranges.of(one), *SMALL[dtype]) for one in varying)
    return Severity.ERROR if unsigned_difference or (inside and len(varying) == 2) else Severity.WARNING


def _is_complement(op: Op, dtype: str, ranges: Ranges) -> bool:
    """Whether this is `1 - x` of something that only its dtype bounds, as the flags of many environments are."""
    first, second, *_ = (*_given(op), None, None)
    if op.function != "subtract" or first != 1 or not isinstance(second, Value) or dtype not in SMALL:
        return False
    return not _is_inside(ranges.of(second), *SMALL[dtype])


def _is_inside(one: Range, low: float, high: float) -> bool:
    """Whether the code itself gives bounds, narrower than those that any number of the dtype has."""
    return one.high < high and (one.low > low or low == 0)


def _is_square(op: Op) -> bool:
    """Whether a number is raised to a power, or multiplied by itself: of bytes, few stay within their dtype."""
    x, y, *_ = (*_given(op), None, None)
    return op.function in ("power", "square") or (op.function == "multiply" and x is y)


def _given(op: Op) -> list[Argument]:
    return list(op.arguments.values()) or list(op.operands)


def _finding(op: Op, dtype: str, exact: Range, severity: Severity) -> Obligation:
    low, high = ends(dtype) or (0.0, 0.0)
    word = _ARITHMETIC.get(op.function, "sum")
    verb = "wraps" if severity is Severity.ERROR else "may wrap"
    return Obligation(
        op.span,
        severity=severity,
        message=f"this {word} {verb} around in `{dtype}`: it is {range_text(exact)}",
        current=f"`{dtype}` holds {int(low)} to {int(high)}, and what is beyond comes out at the other end",
        expected="a dtype that holds every result",
        suggestion="convert to a wider or a floating type before the arithmetic: `.astype(jnp.int32)`"
        if dtype in SMALL
        else "use floating point, or smaller factors",
        cause=op.results,
    )
