"""The rule `side-effect-in-traced-code`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.tracing import TracingFacts
from jaxaudit.ir import Program
from jaxaudit.ir.ops import REPEATED
from jaxaudit.rules.base import Obligation, Rule, Severity
from jaxaudit.rules.jit._shared.phrases import transform, way_from
from jaxaudit.rules.jit._shared.stores import Store, outer_stores, reaches_result, unchanging, undisturbed


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
    Counting how often a function is traced is a use of this very effect, so it is a warning, unless the function gives
    something that is computed from the count. Storing a traced value
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

    ## a position that each run begins anew
    class Stack:
        def __init__(self, weights):
            self.weights, self.at = weights, 0

        def take(self):
            self.at += 1
            return self.weights[self.at - 1]

        def run(self, x):
            self.at = 0
            for _ in range(3):
                x = x * self.take()
            return x

    def main(x):
        run = jax.jit(Stack((1.0, 2.0, 3.0)).run)
        for _ in range(9):
            x = run(x)
        return x
    """
    invalid = """
    ## a global counter
    calls = 0

    @jax.jit
    def step(x):
        global calls
        calls += 1  #?
        return x * 2

    ## a schedule in another object, of which the step is computed
    class Schedule:
        def __init__(self, base):
            self.base, self.count = base, 0

        def rate(self):
            self.count = self.count + 1  #!
            return self.base / self.count

    class Trainer:
        def __init__(self):
            self.schedule = Schedule(0.1)
            self.step = jax.jit(self.update)

        def update(self, w, g):
            return w - self.schedule.rate() * g

    def main(w, data):
        trainer = Trainer()
        for g in data:
            w = trainer.step(w, g)
        return w

    ## an entry that decides which way the code goes
    state = {"step": 0}

    @jax.jit
    def advance(w, target):
        state["step"] += 1  #!
        if state["step"] % 10 == 0:
            target = w
        return w * 0.9 + target

    def main(w, target):
        for _ in range(99):
            w = advance(w, target)
        return w

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
        yield from (_judge(store, facts.flow) for store in outer_stores(tracing) if store.tracer.name not in REPEATED)
        yield from undisturbed(program, tracing, "jit")


def _judge(store: Store, flow: Flow) -> Obligation:
    if (settled := unchanging(store, flow, "however often this runs")) is not None:
        return settled
    by = transform(store.tracer)
    frozen = store.visit.stage is not None and reaches_result(store, flow)
    lost = f"and what {by} computes from it stays as it is" if frozen else "and never again"
    return Obligation(
        store.visit.op.span,
        severity=Severity.ERROR if frozen else Severity.WARNING,
        message=f"{store.target} changes once, while {by} traces, {lost}",
        current="the compiled code that runs on later calls does not contain this change",
        expected="state that changes is an argument and a result of the traced function",
        steps=way_from(store.tracer, store.visit),
        suggestion="return the new state, or change it outside of the traced function",
    )
