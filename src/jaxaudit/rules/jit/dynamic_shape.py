"""The rule `dynamic-shape`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.tracing import Kind, Trace, TracingFacts, Visit
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.functions import AS_LARGE_AS_GIVEN, SIZED_BY_VALUES, SPACED
from jaxaudit.ir.ops import SIZED_BY, WIDENED_BY
from jaxaudit.ir.values import index_parts
from jaxaudit.rules.base import Obligation, Raises, Rule, named, proved, unknown
from jaxaudit.rules.jit._shared.phrases import because, is_argument, steps_of, transform

_ENDS = ("start", "stop", "step")
_SIZED = {**SIZED_BY, **WIDENED_BY}


class DynamicShape(Rule):
    """A shape depends on values that JAX traces.

    ## What it does
    Looks in traced code at selections and updates by a boolean mask, at what counts its results (`nonzero`, `unique`,
    `compress`, `union1d`, `bincount`, `segment_sum`, `where` with one argument) where no option fixes how many there
    are, and at sizes, bounds of slices and shapes that are traced numbers.

    ## Why is this bad?
    A compiled program needs every shape while it is traced. A shape that only the values tell raises
    `NonConcreteBooleanIndexError` or `ConcretizationTypeError`.

    ## Example
        @jax.jit
        def masked_mean(x):
            return x[x > 0].mean()

    ## Use instead
        @jax.jit
        def masked_mean(x):
            keep = x > 0
            return jnp.sum(x * keep) / jnp.maximum(keep.sum(), 1)

    ## When it cannot tell
    An index whose dtype is not known, and a size whose origin is not known, stay open and are not listed.
    """

    summary = "A shape in traced code depends on traced values."
    needs = (TracingFacts,)

    valid = """
    ## sizes that are known while tracing
    @jax.jit
    def stats(x):
        keep = x > 0
        rows = jnp.nonzero(keep, size=3)[0]
        half = x[: x.shape[0] // 2]
        sums = jax.ops.segment_sum(x, rows, num_segments=len(x)), jnp.bincount(rows, length=3), jnp.delete(x, 0)
        padded = jnp.pad(x, (0, x.shape[0])), jnp.split(x, 2), jax.lax.slice_in_dim(x, 0, 1)
        return jnp.where(keep, x, 0.0), rows, half, x.reshape(-1, x.shape[-1]), jnp.zeros(len(x)), sums, padded

    def outside(x):
        y = jnp.abs(x)
        return y[y > 1]
    """
    invalid = """
    ## a boolean mask
    @jax.jit
    def masked_mean(x):
        return x[x > 0].mean()  #!

    ## counting, and a traced bound
    @jax.jit
    def first(x, n):
        rows = jnp.nonzero(x > 0)  #!
        return x[: n + 1], rows  #!

    ## a traced size
    @jax.jit
    def ramp(x):
        return jnp.arange(x.sum() + 1)  #!

    ## a mask that is written to, and functions that count
    @jax.jit
    def parts(x, ids, n):
        y = x.at[x > 0].set(0.0)  #!
        sums = jax.ops.segment_sum(x, ids)  #!
        common = jnp.intersect1d(ids, jnp.arange(3))  #!
        kept = x.compress(ids > 0)  #!
        halves = jnp.split(x, n)  #!
        padded = jnp.pad(x, (0, n))  #!
        return y, sums, common, kept, halves, padded, jax.random.split(jax.random.key(0), n)  #!

    ## an argument as a size
    @jax.jit
    def head(x, n):
        return x[:n] + jnp.arange(n)  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every place in traced code where a shape could depend on values."""
        visits = facts.get(TracingFacts).of("py.item", "array.scatter", "array.select", *_SIZED)
        yield from (one for visit in visits if visit.tracer is not None for one in _judge(visit))


def _judge(visit: Visit) -> Iterator[Obligation]:
    op, function = visit.op, visit.op.function
    if op.name in ("py.item", "array.scatter"):
        yield from _indexed(visit)
        return
    if function in SIZED_BY_VALUES and (function != "where" or not {"x", "y"} & op.arguments.keys()):
        yield from _counted(visit, function, *SIZED_BY_VALUES[function])
    if function not in AS_LARGE_AS_GIVEN and "total_repeat_length" not in op.arguments:
        for role in _sizes(op):
            yield from _sized(visit, op.arguments.get(role))


def _sizes(op: Op) -> tuple[str, ...]:
    """Return the arguments of an op that say how large its result is: what a model is run with is the model's own."""
    if op.folds:
        return ()
    if op.name == "array.create":
        return ("num",) if op.function in SPACED else (*_SIZED[op.name], *_ENDS)
    return _SIZED.get(op.name, ())


def _indexed(visit: Visit) -> Iterator[Obligation]:
    whole = visit.role("base")
    if whole.kind is not Kind.TRACED and not whole.jax_array:
        return
    for part in index_parts(visit.op.arguments.get("index")):
        if isinstance(part, Value) and visit.of(part).mask:
            yield _masked(visit, part, visit.of(part))
        elif isinstance(part, Mapping):
            yield from _sliced(visit, part)


def _masked(visit: Visit, mask: Value, fact: Trace) -> Obligation:
    if fact.kind in (Kind.STATIC, Kind.CONCRETE):
        return _fine(visit.op, f"{named(mask, 'the mask')} is not traced")
    if not fact.traced_array:
        return unknown(visit.op.span, "whether the mask is traced is not known")
    which = f"which {transform(fact.by)} cannot know"
    text = f"{named(mask, 'a mask')} selects as many items as it has true ones, {which}"
    return _violation(visit.op, fact, text, "multiply by the mask, or use `jnp.where(mask, x, 0)`")


def _sliced(visit: Visit, part: Mapping[str, Argument]) -> Iterator[Obligation]:
    for bound in part.values():
        fact = visit.of(bound)
        if fact.traced_array or is_argument(bound, fact):
            text = f"a slice is bounded by {named(bound, 'a traced number')}, so its size is not known while tracing"
            yield _violation(visit.op, fact, text, "use `jax.lax.dynamic_slice` with a fixed size, or a mask")


def _counted(visit: Visit, function: str, fixed: str, *telling: str) -> Iterator[Obligation]:
    op = visit.op
    if op.arguments.get(fixed) is not None:
        yield _fine(op, f"`{fixed}` fixes how many items `{function}` gives")
        return
    # A container of traced arrays is no better: it raises as well.
    read = (visit.of(value) for role in telling for value in values_in(op.arguments.get(role)))
    traced = next((fact for fact in read if fact.kind is Kind.TRACED and not fact.made), None)
    if traced is not None and "**" not in op.arguments:
        text = f"`{function}` gives as many items as the values say, which {transform(traced.by)} cannot know"
        yield _violation(op, traced, text, f"give `{fixed}=`" if fixed else "use a mask")


def _sized(visit: Visit, size: Argument) -> Iterator[Obligation]:
    for part in values_in(size):
        fact = visit.of(part)
        if fact.traced_array or is_argument(part, fact):
            text = f"{named(part, 'a traced number')} is a size here, but {transform(fact.by)} traces it"
            yield _violation(visit.op, fact, text, "take sizes from `.shape`, or declare the argument static")
        elif fact.kind is Kind.STATIC:
            yield _fine(visit.op, f"{named(part, 'the size')} is known while tracing")
        elif fact.kind is Kind.UNKNOWN:
            yield unknown(visit.op.span, f"whether {named(part, 'the size')} is traced is not known")


def _fine(op: Op, reason: str) -> Obligation:
    return proved(op.span, reason)


def _violation(op: Op, fact: Trace, message: str, suggestion: str) -> Obligation:
    return Obligation(
        op.span,
        message=message,
        current=f"{because(fact)}: the shape would depend on values that do not exist yet, which raises an error",
        raises=Raises.TRACING,
        expected="every shape in traced code is known while tracing",
        steps=steps_of(fact),
        suggestion=suggestion,
    )
