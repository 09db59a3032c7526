"""The rule `fraction-cut-off`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.elements import elements_of
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import depends, operands_of, walk
from jaxaudit.analyses.ranges import Ranges
from jaxaudit.analyses.ranges.dtypes import is_integer
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import ARRAYS_OF_ITEMS, ROUNDINGS
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import CARRYING
from jaxaudit.rules.base import Obligation, Rule, Step, named, proved
from jaxaudit.rules.numerics._shared.floats import fractions

_WRITES = frozenset("set add subtract min max".split())


class FractionCutOff(Rule):
    """What a loop carries has a fraction, and is cut off to whole numbers in each turn.

    ## What it does
    Looks at loops whose carry is of integers and whose body computes its successor in floating point. The successor is
    converted to the dtype of the carry, so that the carry keeps its type. Looks at what is written into arrays of
    integers by `.at[].set` and its like too.

    ## Why is this bad?
    The conversion drops the fraction, in each turn again: a count that decays by a tenth loses up to one more each
    time, and small ones vanish. The dtype was never meant: the loop is started with zeros like some counts.

    ## Example
        def day(score, clicks):
            return (0.9 * score + clicks).astype(score.dtype), None


        jax.lax.scan(day, jnp.zeros_like(clicks[0]), clicks)

    ## Use instead
        def day(score, clicks):
            return 0.9 * score + clicks, None


        jax.lax.scan(day, jnp.zeros(clicks.shape[1:]), clicks)

    ## When it cannot tell
    When a dtype is not known. A dtype that is written down (`astype(jnp.int32)`) and a rounding say what is meant.
    """

    summary = "A fraction is cut off: what is carried or written to is of integers."
    needs = (Ranges, Shapes)

    valid = """
    ## carried as a float
    clicks = jnp.ones((14, 30), jnp.int32)

    def day(score, today):
        return (0.9 * score + today).astype(score.dtype), None

    latest, _ = jax.lax.scan(day, jnp.zeros(30), clicks)

    ## rounded on purpose, and whole numbers anyway
    def half(count, today):
        return jnp.floor(0.5 * count + today).astype(count.dtype), None

    def doubled(count, today):
        return (2.0 * count + today).astype(count.dtype), None

    half, _ = jax.lax.scan(half, jnp.zeros(30, jnp.int32), clicks)
    twice, _ = jax.lax.scan(doubled, jnp.zeros(30, jnp.int32), clicks)
    marked = jnp.zeros(6, jnp.int32).at[2].add(1.0)
    """
    invalid = """
    ## zeros like the counts
    clicks = jnp.ones((14, 30), jnp.int32)

    def day(score, today):
        return (0.9 * score + today).astype(score.dtype), None  #!

    latest, _ = jax.lax.scan(day, jnp.zeros_like(clicks[0]), clicks)

    ## an average that is kept in integers
    def body(i, state):
        mean, counts = state
        new = mean + 0.1 * (counts[i] - mean)
        return jax.lax.convert_element_type(new, mean.dtype), counts  #!

    mean, _ = jax.lax.fori_loop(0, 10, body, (jnp.zeros((), jnp.int32), jnp.arange(10)))

    ## written into integers
    def visit(visits, at):
        return visits.at[at].set(0.9 * visits[at] + 1.0), None  #!

    visits, _ = jax.lax.scan(visit, jnp.zeros(6, jnp.int32), jnp.arange(4))

    def halved(values):
        return jnp.zeros(5, jnp.int32).at[jnp.arange(5)].set(0.5 * values)  #!

    ## leaf by leaf
    def step(state, x):
        new = {"mean": 0.99 * state["mean"] + x, "n": state["n"] + 1}
        return jax.tree.map(lambda new, old: new.astype(old.dtype), new, state), None  #!

    start = {"mean": jnp.zeros(5, jnp.int32), "n": jnp.zeros((), jnp.int32)}
    stats, _ = jax.lax.scan(step, start, jnp.ones((10, 5), jnp.int32))
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every carry of integers whose successor is computed in floating point, and every write into integers."""
        ranges = facts.get(Ranges)
        for op in program.named("array.scatter"):
            yield from _written(op, ranges, facts)
        if program.front_end != "source":
            # A trace does not show whose dtype was asked for.
            return
        for op in program.named(*sorted(CARRYING)):
            for param, start, position in Loop(op).carried if op.regions else ():
                results = Loop(op).body.results
                if position < len(results) and is_integer(ranges.known.dtype(param)):
                    yield from _carried(param, start, results[position], ranges, facts)


def _is_fraction(value: object, ranges: Ranges, facts: Facts) -> bool | None:
    """Whether a float may have a fraction; None where a value is of another type, or rounded somewhere before."""
    if not isinstance(value, Value):
        return not value.is_integer() if isinstance(value, float) else None
    dtype = ranges.known.dtype(value)
    if not (dtype.startswith(("float", "bfloat")) if dtype is not None else fractions(facts)(value)):
        return None
    whole = ranges.of(value).integer
    return None if not whole and _is_rounded(value, facts.flow) else not whole


def _written(op: Op, ranges: Ranges, facts: Facts) -> Iterator[Obligation]:
    """Judge what is written into an array of integers: JAX cuts it off."""
    base, value = op.argument("base"), op.argument("value", "values")
    if isinstance(base, Value) and is_integer(ranges.known.dtype(base)) and op.function in _WRITES:
        yield from _verdict(op, base, base, _is_fraction(value, ranges, facts), "written into it", facts.flow)


def _carried(param: Value, start: Value, result: Value, ranges: Ranges, facts: Facts) -> Iterator[Obligation]:
    """Judge what is converted to the integers that a loop carries."""
    flow = facts.flow
    found = origin(flow, result, {}, in_turn=True)
    op, given = (None, None) if found.op is None else _converted(found.op, flow)
    if op is not None and given is not None and depends(flow, given, (param,)):
        yield from _verdict(op, param, start, _is_fraction(given, ranges, facts), "handed to the next turn", flow)


def _verdict(op: Op, held: Value, start: Value, cut: bool | None, deed: str, flow: Flow) -> Iterator[Obligation]:
    name = named(held, "the array")
    if cut is False:
        yield proved(op.span, f"what is {deed} is whole, as {name} is")
    if not cut:
        return
    made = origin(flow, start, {}).op
    yield Obligation(
        op.span,
        message=f"{name} is of integers, and the fraction of what is {deed} is cut off",
        current="what is computed in floating point is converted to the integers that there were at the start",
        expected="what is computed in floating point is kept so",
        steps=() if made is None or made.span == op.span else (Step(made.span, "the integers are made here"),),
        suggestion="start with floats: `jnp.zeros(shape, jnp.float32)`",
    )


def _converted(op: Op, flow: Flow) -> tuple[Op | None, Value | None]:
    """Return the op that converts to the dtype of another value, and what it converts."""
    asked = op.argument("dtype", "new_dtype")
    read = flow.maker(asked) if isinstance(asked, Value) else None
    given = next(iter(op.arguments.values()), None)
    converts = op.name == "array.convert" or op.function in ARRAYS_OF_ITEMS
    fits = converts and read is not None and read.name == "array.shape" and isinstance(given, Value)
    return (op, given) if fits and isinstance(given, Value) else (None, None)


def _is_rounded(value: Value, flow: Flow) -> bool:
    """Whether a value is rounded before it is converted."""

    def whole(op: Op) -> bool:
        return op.name == "array.map" and op.function not in ROUNDINGS

    made = walk((elements_of(flow, value),), lambda one: operands_of(flow, one, whole))
    return any((op := flow.maker(one)) is not None and op.function in ROUNDINGS for one in made)
