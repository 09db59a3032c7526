"""The rule `low-precision-accumulation`."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, prod

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage.elements import elements_of, maker_of_elements
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import ahead, nothing, sources, through_ops, walk
from jaxaudit.analyses.ranges import Range, Ranges
from jaxaudit.analyses.ranges.dtypes import PRECISE_UP_TO, SMALL
from jaxaudit.ir import Argument, Exit, Op, Program, Region, Value
from jaxaudit.ir.functions import COUNTING
from jaxaudit.ir.interfaces import Loop, given_to, made_inside
from jaxaudit.ir.ops import ELEMENTWISE, PYTHON_LOOPS
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, proved, unknown

_LOW = frozenset({"bfloat16", "float16"})
_LARGEST = {dtype: int(high) for dtype, (_, high) in SMALL.items()}


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
        positions = jnp.arange(4096, dtype=jnp.bfloat16)

    ## Use instead
        positions = jnp.arange(4096, dtype=jnp.float32)

    ## When it cannot tell
    A long sum of terms of either sign that have no finer type, and whose total gets none, is a warning. It is left open
    when the dtype, the size or the number of turns is not known, as in a loop that may end early. Sums along an axis
    are left alone: JAX adds half-precision numbers up in `float32`.
    """

    summary = "Positions, counts or running sums are kept in a floating type that is too coarse for them."
    needs = (Ranges,)

    valid = """
    ## fine enough
    positions = jnp.arange(4096).astype(jnp.float32) / 4096.0
    few = jnp.arange(128, dtype=jnp.bfloat16)

    def mean(x):
        return x.astype(jnp.bfloat16).mean(), jnp.cumsum(x.astype(jnp.bfloat16), dtype=jnp.float32)

    count, _ = jax.lax.scan(lambda c, _: (c + 1, None), jnp.zeros((), jnp.float32), None, length=1000)

    ## a count that starts anew in each turn, and one whose loop ends early
    def counted(xs):
        for _ in range(500):
            count = jnp.zeros((), jnp.bfloat16)
            for _ in range(20):
                count = count + 1
        for x in xs:
            count = count + 1
            if x > 3:
                break
        return count

    counted(jnp.ones(900))

    ## a sum that fades, and a short one
    total, _ = jax.lax.scan(lambda c, _: (c * 0.9 + 1, None), jnp.zeros((), jnp.bfloat16), None, length=1000)
    fine, _ = jax.lax.scan(lambda c, x: (c + x.astype(c.dtype), None), 0.0, jnp.ones(1000, jnp.bfloat16))
    short, _ = jax.lax.scan(lambda c, _: (c + 1, None), jnp.zeros((), jnp.bfloat16), None, length=100)
    """
    invalid = """
    ## positions collide
    positions = jnp.arange(4096, dtype=jnp.bfloat16)  #!
    encoded = jnp.arange(4096)[:, None].astype(jnp.float16)  #!

    ## the counter stops at 256
    def step(count, _):
        return count + 1, None

    count, _ = jax.lax.scan(step, jnp.zeros((), jnp.bfloat16), None, length=1000)  #!

    ## each of several calls counts on
    @jax.jit
    def counted(count, xs):
        return jax.lax.fori_loop(0, 40, lambda i, c: c + 1, count)

    def main(batches):
        count = jnp.zeros((), jnp.bfloat16)
        for batch in jnp.ones((12, 40)):  #!
            count = counted(count, batch)
        return count

    ## counts of a mask, few turns
    def step(totals, mask):
        return {"n": totals["n"] + mask.sum().astype(totals["n"].dtype)}, None

    masks = jax.random.uniform(jax.random.key(0), (100, 8, 32)) < 0.5
    totals, _ = jax.lax.scan(step, {"n": jnp.zeros((), jnp.bfloat16)}, masks)  #!

    ## a sum of small integers
    total, _ = jax.lax.scan(lambda c, x: (c + x, None), jnp.zeros((), jnp.int8), jnp.ones(500, jnp.int8))  #!

    ## a long sum in half precision
    def step(total, x):
        return total + x, None

    draws = jax.random.normal(jax.random.key(0), (1000,), dtype=jnp.bfloat16)
    total, _ = jax.lax.scan(step, jnp.zeros((), jnp.bfloat16), draws)  #?

    ## losses are cut down to be added up
    def step(total, x):
        loss = jnp.mean(x - 1.0)
        return total + loss.astype(total.dtype), None

    total, _ = jax.lax.scan(step, jnp.zeros((), jnp.bfloat16), jnp.ones((512, 8)))  #!

    ## a sum of squares grows until nothing is left of what is added
    def energy(points):
        def body(i, total):
            return total + jnp.sum((points - points[i]) ** 2).astype(jnp.float16)

        return jax.lax.fori_loop(0, points.shape[0], body, jnp.zeros((), jnp.float16))  #!

    energy(jnp.ones((5000, 3)))

    ## gradients over many parts of a batch, leaf by leaf, which are wanted in a finer type
    def gradients(params, parts):
        def step(total, part):
            grads = jax.grad(lambda p: jnp.mean(part @ p["w"] + p["b"]))(params)
            return jax.tree.map(lambda t, g: t + g, total, grads), None

        start = jax.tree.map(lambda p: jnp.zeros(p.shape, p.dtype), params)
        total, _ = jax.lax.scan(step, start, parts)  #!
        return jax.tree.map(lambda t: t.astype(jnp.float32) / parts.shape[0], total)

    half = {"w": jnp.ones(3, jnp.bfloat16), "b": jnp.zeros((), jnp.bfloat16)}
    gradients(half, jnp.ones((256, 8, 3), jnp.bfloat16))
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every count and every running sum in a type that may be too coarse."""
        ranges, flow = facts.get(Ranges), facts.flow
        for op in program.named("array.create", "array.convert"):
            counting = maker_of_elements(flow, op.results[0])
            if counting is not None and counting.name == "array.create" and counting.function in COUNTING:
                yield from _positions(op, counting, ranges)
        for op in program.named("array.scan"):
            if op.function == "cumsum":
                yield from _running(op, ranges)
        loops = program.named("scan", "fori", *PYTHON_LOOPS)
        yield from (one for op in loops for one in _carries(Loop(op), ranges, flow))


def _positions(op: Op, counting: Op, ranges: Ranges) -> Iterator[Obligation]:
    dtype = ranges.known.dtype(op.results[0]) or ranges.look(op).asked_dtype()
    limit = PRECISE_UP_TO.get(dtype or "") if op.api in ("", "astype", *COUNTING) else None
    known = ranges.of(counting.results[0])
    if limit is None or dtype is None or not known.integer or known.high == inf:
        return
    if known.high <= limit:
        if dtype in _LOW:
            reason = f"`{dtype}` has every whole number up to {limit:,}, and these end at {int(known.high):,}"
            yield proved(op.span, reason)
        return
    yield Obligation(
        op.span,
        message=f"whole numbers up to {int(known.high):,} collide in `{dtype}`, which is exact up to {limit:,}",
        current=f"above {limit:,} neighbouring numbers are rounded to the same one",
        expected="every number its own",
        suggestion="count in `int32` or `float32`, and convert after scaling",
    )


def _running(op: Op, ranges: Ranges) -> Iterator[Obligation]:
    dtype = ranges.known.dtype(op.results[0])
    sizes = ranges.known.sizes(op.results[0]) or ()
    length = max((size for size in sizes if size is not None), default=0)
    if dtype is None or dtype not in _LOW or length <= PRECISE_UP_TO[dtype]:
        return
    counts = bool(op.operands) and ranges.of(op.operands[0]).is_mask
    yield Obligation(
        op.span,
        severity=Severity.ERROR if counts else Severity.WARNING,
        message=f"`cumsum` of {length:,} elements in `{dtype}`, which is exact up to {PRECISE_UP_TO[dtype]:,}",
        current="JAX keeps the running sum in this type, and small steps are lost in it",
        expected="a running sum in `float32`",
        suggestion="`jnp.cumsum(x, dtype=jnp.float32)`",
    )


def _carries(loop: Loop, ranges: Ranges, flow: Flow) -> Iterator[Obligation]:
    results = loop.body.results
    for param, start, position in loop.carried:
        dtype = ranges.known.dtype(param) or ""
        limit = PRECISE_UP_TO.get(dtype) or _LARGEST.get(dtype)
        sums = _added(param, results[position], flow) if limit is not None and position < len(results) else None
        if limit is None or sums is None:
            continue
        adding, step, within = sums
        counted = [_turns(one, ranges) for one in (loop, *within)]
        turns = None if None in counted else prod(one for one in counted if one is not None)
        if turns is None:
            if dtype in _LOW:
                yield unknown(adding.span, f"how often this adds to a `{dtype}` number is not known")
            continue
        known = ranges.look(loop.op).of(step)
        made = origin(flow, start, {}).op
        steps = [] if made is None else [Step(made.span, f"it starts here, in `{dtype}`")]
        steps.append(Step(adding.span, "each turn adds to it here"))
        # What float32 loses of a large count is small next to it, unless the count is made of small steps.
        counts = known.integer and known.finite and known.low * known.high >= 0
        if counts and (dtype != "float32" or known.constant) and limit < turns * max(known.high, -known.low) < inf:
            yield _stops(loop.op, dtype, limit, turns, known, steps)
        elif dtype in _LOW and turns >= limit:
            finer = _finer(step, loop.op.results[position], ranges, flow)
            yield _coarse(loop.op, dtype, turns, steps, finer, one_way=known.low >= 0 or known.high <= 0)
        elif dtype in _LOW:
            first = ranges.of(start)
            end = max(abs(first.low), abs(first.high)) + turns * max(known.high, -known.low)
            if counts and first.integer and end <= limit:
                reason = f"`{dtype}` has every whole number up to {limit:,}, and this ends at {int(end):,}"
                yield proved(adding.span, reason)
            else:
                yield unknown(adding.span, f"how large the `{dtype}` number is that this adds to is not known")


def _turns(loop: Loop, ranges: Ranges) -> int | None:
    if loop.op.name in PYTHON_LOOPS and _ends_early(loop.body):
        return None
    given = loop.op.length if loop.op.name == "scan" else loop.op.trips
    if isinstance(given, int):
        return given
    if loop.op.name == "fori" and loop.layout(loop.body)[1] == 2:
        first, end = (ranges.of(bound).constant for bound in loop.op.operands[:2])
        return None if first is None or end is None else int(end - first)
    wholes = [whole for _, whole in loop.elements]
    if loop.op.name in PYTHON_LOOPS:
        wholes += [one.arguments.get("iterable") for one in loop.body.ops if one.name == "py.element"][:1]
    sizes = [ranges.known.sizes(whole) for whole in wholes if isinstance(whole, Value)]
    return next((size[0] for size in sizes if size), None)


def _ends_early(body: Region) -> bool:
    """Whether a way through a turn of a Python loop leaves the loop."""
    inner = [region for op in body.ops if op.name == "py.branch" for region in op.regions]
    return body.exit not in (Exit.FALL, Exit.CONTINUE) or any(map(_ends_early, inner))


def _added(param: Value, result: Value, flow: Flow) -> tuple[Op, Argument, tuple[Loop, ...]] | None:
    """Return what each turn adds to a carry, where, and the loops inside whose turns do so; None for anything else."""

    def source(value: Argument) -> Value | None:
        return elements_of(flow, origin(flow, value, {}, in_turn=True).value) if isinstance(value, Value) else None

    found = source(result)
    maker = None if found is None else flow.maker(found)
    if found is None or maker is None:
        return None
    if (inner := Loop.of(maker)) is not None:
        at = maker.results.index(found) if found in maker.results else -1
        within = next((one for one in inner.carried if one.position == at and source(one.start) is param), None)
        body = inner.body.results
        sums = _added(within.param, body[at], flow) if within is not None and at < len(body) else None
        return None if sums is None else (sums[0], sums[1], (inner, *sums[2]))
    if maker.name == "tree.map":
        return _added_in_leaves(param, found, maker, flow)
    if maker.name != "array.map" or maker.function != "add":
        return None
    x, y, *_ = (*maker.arguments.values(), None, None)
    step = y if source(x) is param else x if source(y) is param else None
    return None if step is None else (maker, step, ())


def _added_in_leaves(param: Value, found: Value, maker: Op, flow: Flow) -> tuple[Op, Argument, tuple[Loop, ...]] | None:
    """Return what a function of leaves adds to a carry that is a leaf of a tree."""
    region = maker.regions[0]
    adding = next((flow.maker(one) for one in made_inside(maker, region, found)), None)
    trees = {own: flow.maker(whole) for own, whole in given_to(maker, region)}
    own = next((one for one, tree in trees.items() if tree is not None and param in tree.operands), None)
    if adding is None or own is None or adding.name != "array.map" or adding.function != "add":
        return None
    step = next((one for one in adding.operands if one is not own), None)
    return None if own not in adding.operands or step is None else (adding, step, ())


def _stops(op: Op, dtype: str, limit: int, turns: int, added: Range, steps: list[Step]) -> Obligation:
    one = added.constant == 1
    each = "" if one else f", and up to {int(max(added.high, -added.low)):,} are added in each of {turns:,} turns"
    wraps = dtype in _LARGEST
    end = f"wraps above {limit:,}" if wraps else f"stops at {limit:,}: {limit:,} + 1 is {limit:,} there"
    rounds = "from then on adding changes nothing" if one else "from then on what is added is rounded"
    return Obligation(
        op.span,
        message=f"a counter in `{dtype}` {end}{each}",
        current="it starts again from the smallest number of its type" if wraps else rounds,
        expected="a counter that counts every turn",
        steps=tuple(steps),
        suggestion="count in `int32`",
    )


def _finer(step: Argument, total: Value, ranges: Ranges, flow: Flow) -> Op | None:
    """Return where a finer type is cut down to what is added up, or where the sum is widened afterwards."""
    around = through_ops(*ELEMENTWISE, "tree.map", "py.container")
    before = sources(flow, [step] if isinstance(step, Value) else [], nothing)
    after = walk((total,), lambda one: ahead(flow, one, around))
    cut = [op for one in before if (op := flow.maker(one)) is not None and op.name == "array.convert"]
    widened = [op for one in after for op in flow.readers.get(one, ()) if op.name == "array.convert"]
    for op in cut:
        if _is_fine(ranges.known.dtype(op.operands[0])):
            return op
    return next((op for op in widened if _is_fine(ranges.known.dtype(op.results[0]))), None)


def _is_fine(dtype: str | None) -> bool:
    return dtype in ("float32", "float64")


def _coarse(op: Op, dtype: str, turns: int, steps: list[Step], finer: Op | None, *, one_way: bool) -> Obligation:
    told = () if finer is None else (Step(finer.span, "the program has a finer type at hand here"),)
    return Obligation(
        op.span,
        severity=Severity.WARNING if finer is None and not one_way else Severity.ERROR,
        message=f"{turns:,} turns add up in a `{dtype}` carry, which is exact up to {PRECISE_UP_TO[dtype]:,}",
        current="once the sum is large, small terms are lost in it",
        expected="a sum in `float32`",
        steps=(*steps, *told),
        suggestion="carry the sum in `float32` and convert it at the end",
    )
