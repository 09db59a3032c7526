"""The rule `impure-body`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.tracing import TracingFacts
from jaxaudit.ir import Program
from jaxaudit.ir.ops import CARRYING, REPEATED
from jaxaudit.rules.base import Obligation, Rule, Severity, Step
from jaxaudit.rules.jit._shared.phrases import transform
from jaxaudit.rules.jit._shared.stores import Store, outer_stores, unchanging, undisturbed


class ImpureBody(Rule):
    """The body of a loop of JAX counts or collects outside of the carry.

    ## What it does
    Looks at the bodies of `scan`, `fori_loop`, `while_loop`, `lax.map` and `associative_scan` for counters that are
    counted up and lists that are added to, and that live outside of the body.

    ## Why is this bad?
    The body is traced once, however many steps the loop takes: the counter ends at one.

    ## Example
        def body(state, x):
            stats.steps += 1
            return state + x, None


        jax.lax.scan(body, 0.0, xs)

    ## Use instead
        def body(carry, x):
            state, steps = carry
            return (state + x, steps + 1), None


        jax.lax.scan(body, (0.0, 0), xs)

    ## When it cannot tell
    A plain assignment gives the same result however often it runs, so it is fine. A list that gets Python values may
    be meant to hold what is known while tracing, so it is a warning. So is a counter in a test, which counts how often
    JAX traces. Storing a traced value is left to `tracer-leak`.
    """

    summary = "The body of a JAX loop changes outside state, which happens once for all steps."
    needs = (TracingFacts,)

    valid = """
    ## the counter is carried
    def run(xs):
        def body(carry, x):
            state, steps = carry
            steps += 1
            return (state + x, steps), None

        return jax.lax.scan(body, (0.0, 0), xs)
    """
    invalid = """
    ## a counter outside
    def run(xs):
        steps = 0

        def body(state, x):
            nonlocal steps
            steps += 1  #!
            return state + x, None

        return jax.lax.scan(body, 0.0, xs), steps

    ## an attribute that counts
    class Runner:
        def run(self, xs):
            def body(state, x):
                self.steps = self.steps + 1  #!
                return state + x, None

            return jax.lax.scan(body, 0.0, xs)

    ## a list outside
    def run(x):
        seen = []

        def body(i, state):
            seen.append("step")  #?
            return state * 2

        return jax.lax.fori_loop(0, 10, body, x), seen
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every loop of JAX, and every change of outside state in its body."""
        tracing = facts.get(TracingFacts)
        yield from (_judge(store, facts.flow) for store in outer_stores(tracing) if store.tracer.name in REPEATED)
        yield from undisturbed(program, tracing, *sorted(CARRYING))


def _judge(store: Store, flow: Flow) -> Obligation:
    return unchanging(store, flow, "in every step") or Obligation(
        store.visit.op.span,
        severity=Severity.WARNING if store.visit.op.name == "py.append" else Severity.ERROR,
        message=f"{store.target} changes once for all steps of {transform(store.tracer)}",
        current="the body is traced once, so this change happens once, not once a step",
        expected="what changes from step to step is part of the carry",
        steps=(Step(store.tracer.span, "the loop is here"),),
        suggestion="carry it, or compute it after the loop",
    )
