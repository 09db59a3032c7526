"""The rule `side-effect-in-traced-code`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.tracing import TracingFacts
from jaxaudit.ir import Program
from jaxaudit.ir.ops import REPEATED
from jaxaudit.rules.base import Obligation, Rule, Severity, Step
from jaxaudit.rules.jit._shared.phrases import transform
from jaxaudit.rules.jit._shared.stores import Store, outer_stores, unchanging, undisturbed


class SideEffectInTracedCode(Rule):
    """Traced code changes state outside of itself.

    ## What it does
    Looks at counters and lists from outside (globals, attributes, variables of enclosing functions) that code under
    `jit`, `vmap`, `grad` and their kin counts up or adds to.

    ## Why is this bad?
    Python runs once, while JAX traces; the compiled code that runs afterwards changes nothing. The counter stays at
    one, the list at its first item.

    ## Example
        calls = 0


        @jax.jit
        def step(x):
            global calls
            calls += 1
            return x * 2

    ## Use instead
        def run(x):
            calls = 0
            for _ in range(10):
                x = step(x)
                calls += 1
            return x, calls

    ## When it cannot tell
    Counting how often a function is traced is a use of this very effect, so it is a warning. Storing a traced value
    is left to `tracer-leak`, loops of JAX to `impure-body`, reading the state back to `stale-captured-state`.
    """

    summary = "Traced code changes outside state, which happens once, while tracing."
    needs = (TracingFacts,)

    valid = """
    ## state of its own
    @jax.jit
    def step(x):
        shapes = []
        shapes.append(x.shape)
        count = 0
        for _ in range(3):
            count += 1
        return x * count

    def main(x):
        calls = 0
        calls += 1
        return step(x), calls
    """
    invalid = """
    ## a global counter
    calls = 0

    @jax.jit
    def step(x):
        global calls
        calls += 1  #?
        return x * 2

    ## an attribute
    class Model:
        def __init__(self):
            self.calls = 0

        def forward(self, x):
            self.calls += 1  #?
            return x * 2

    def main(x):
        model = Model()
        return jax.jit(model.forward)(x)
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every compiled function, and every change of outside state in traced code."""
        tracing = facts.get(TracingFacts)
        yield from (_judge(store) for store in outer_stores(tracing) if store.tracer.name not in REPEATED)
        yield from undisturbed(program, tracing, "jit")


def _judge(store: Store) -> Obligation:
    return unchanging(store, "however often this runs") or Obligation(
        store.visit.op.span,
        severity=Severity.WARNING,
        message=f"{store.target} changes once, while {transform(store.tracer)} traces, and never again",
        current="the compiled code that runs on later calls does not contain this change",
        expected="state that changes is an argument and a result of the traced function",
        steps=(Step(store.tracer.span, "traced from here"),),
        suggestion="return the new state, or change it outside of the traced function",
    )
