"""The rule `iterator-used-up`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.captured import entered
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.paths import Places
from jaxaudit.ir import Op, Program
from jaxaudit.ir.ops import PYTHON_LOOPS
from jaxaudit.ir.record import replace
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, proved


class IteratorUsedUp(Rule):
    """An iterator is run through a second time, when it has no items left.

    ## What it does
    Follows what `zip`, `map`, `filter`, `reversed`, `enumerate`, `iter`, a generator and a generator expression make,
    through variables, attributes and closures, to the loops, comprehensions and calls (`list`, `sum`) that run through
    it. Each must be the first one, may not stand in a loop that began later than the iterator, and may not be traced
    as a part of two compiled functions.

    ## Why is this bad?
    Nothing is raised: the second loop has no turns, and what it was to compute is left as it was. Python code in a
    compiled function runs each time that JAX traces it: the second trace finds the iterator empty.

    ## Example
        batches = zip(xs, ys)
        for epoch in range(10):
            for x, y in batches:
                params = step(params, x, y)

    ## Use instead
        batches = list(zip(xs, ys))

    ## When it cannot tell
    A loop that may stop early is taken to leave something. A function that JAX may trace once or more is a warning.
    """

    summary = "An iterator is run through again after it gave its last item."
    needs = ()

    valid = (
        Example(
            """
            def fit(step, w, xs, ys):
                for epoch in range(10):
                    for x, y in zip(xs, ys):
                        w = step(w, x, y)
                pairs = list(zip(xs, ys))
                for x, y in pairs:
                    w = step(w, x, y)
                return w, [x for x, _ in pairs]
            """,
            "made anew, or kept in a list",
        ),
        Example(
            """
            def first_two(rows):
                rows = iter(rows)
                for row in rows:
                    if row is not None:
                        break
                return row, sum(rows)
            """,
            "the rest of what a loop left",
        ),
        Example(
            """
            def total(xs, ys, weighted):
                pairs = zip(xs, ys)
                if weighted:
                    return sum(x * y for x, y in pairs)
                return sum(x for x, _ in pairs)
            """,
            "one of two branches",
        ),
    )
    invalid = (
        Example(
            """
            def batches(x, size):
                for start in range(0, len(x), size):
                    yield x[start : start + size]

            def fit(step, w, x):
                rows = batches(x, 16)
                for epoch in range(10):
                    for row in rows:  #!
                        w = step(w, row)
                return w
            """,
            "the second epoch has no batches",
        ),
        Example(
            """
            class Flow:
                def __init__(self, scales):
                    self.inverse = reversed(list(enumerate(scales)))

                def density(self, x):
                    for i, scale in self.inverse:  #!
                        x = x / scale + i
                    return x

            def main(x):
                flow = Flow([1.0, 2.0])
                train, test = jax.jit(jax.grad(flow.density)), jax.jit(flow.density)
                return train(x), test(x)
            """,
            "an attribute that two compiled functions read",
        ),
        Example(
            """
            def moments(params, weights, x):
                pairs = zip(params, weights)
                mean = sum(w * (x @ p) for p, w in pairs)
                return mean, sum(w * (x @ p - mean) ** 2 for p, w in pairs)  #!
            """,
            "two sums",
        ),
        Example(
            """
            def kernel(scales):
                terms = (lambda d, s=s: jnp.exp(-d / s) for s in scales)

                @jax.jit
                def apply(d):
                    return sum(term(d) for term in terms)  #?

                return apply

            def main(d):
                return kernel([1.0, 2.0])(d)
            """,
            "a compiled function that may be traced again",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every place that runs through an iterator."""
        places = facts.flow.places
        before: dict[int | None, list[Op]] = {}
        for op in program.named("py.drain"):
            yield _judge(op, before.setdefault(op.object_id, []), places)
            before[op.object_id].append(op)


def _judge(op: Op, before: list[Op], places: Places) -> Obligation:
    loop, trace = _around(op, places)
    if loop is not None:
        return _violated(op, "it is run through in every turn", Step(loop.span, "the loop is here"))
    for first in before:
        other = _around(first, places)[1]
        if not (places.comes_before(first, op) and places.both_happen(first, op)):
            continue
        if trace is None or other is None or (trace.wrapped, trace.wrapper_id) != (other.wrapped, other.wrapper_id):
            return _violated(op, "it was run through before", Step(first.span, "it gives its last item here"))
    if trace is not None:
        found = _violated(op, "a second trace finds it empty", Step(trace.span, "the function is compiled here"))
        return replace(found, severity=Severity.WARNING)
    return proved(op.span, "it is run through once after it was made")


def _violated(op: Op, why: str, where: Step) -> Obligation:
    steps = (where,) if op.made_at is None else (Step(op.made_at, f"this `{op.kind}` is made once"), where)
    return Obligation(
        op.span,
        message=f"this `{op.kind}` has no items left after it was run through once: {why}",
        current="nothing is raised, and there are no turns",
        expected="the items are there each time",
        steps=steps,
        suggestion="keep the items in a list, or make the iterator anew where it is run through",
    )


def _around(op: Op, places: Places) -> tuple[Op | None, Op | None]:
    """Return the loop that runs through an older iterator turn by turn, and the compiled function that reads it."""
    for _, holder in places.up(places.region_of[op]):
        if holder is None or (holder.entered and (op.born or 0) > entered(holder)[0]):
            break
        if holder.name in PYTHON_LOOPS and holder.trips != 1 and not holder.once:
            return holder, None
        if holder.name == "jit":
            return None, holder
    return None, None
