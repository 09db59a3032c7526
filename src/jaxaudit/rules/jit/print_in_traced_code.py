"""The rule `print-in-traced-code`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.tracing import TracingFacts, Visit
from jaxaudit.ir import Op, Program
from jaxaudit.libraries.lookup import plays
from jaxaudit.rules.base import Obligation, Raises, Rule, Severity, named, proved
from jaxaudit.rules.jit._shared.differentiated import differentiated
from jaxaudit.rules.jit._shared.phrases import because, steps_of, transform, without_tracer
from jaxaudit.spans import Span


class PrintInTracedCode(Rule):
    """A traced value is printed or formatted by Python.

    ## What it does
    Looks at `print`, loggers, what writes to files, tables and trackers of experiments, and format specifications, in
    code that JAX traces.

    ## Why is this bad?
    Python runs once, while JAX traces: the line shows `Traced<...>` on the first call and nothing ever after. A format
    specification such as `{loss:.4f}` asks for a number that does not exist yet and raises.

    ## Example
        @jax.jit
        def step(x):
            loss = (x**2).sum()
            print(f"loss {loss:.3f}")
            return loss

    ## Use instead
        @jax.jit
        def step(x):
            loss = (x**2).sum()
            jax.debug.print("loss {loss:.3f}", loss=loss)
            return loss

    ## When it cannot tell
    Printing shapes, dtypes and other Python values while tracing is fine, and so is a value that is not traced. An
    argument may be printed to see when the function is traced, and `vmap` or `grad` by themselves print at every call:
    these are warnings.
    """

    summary = "Python prints or formats a value that JAX traces."
    needs = (TracingFacts,)

    valid = """
    ## shapes are known while tracing
    @jax.jit
    def step(x):
        print(f"tracing for {x.shape} {x.dtype}")
        loss = (x**2).sum()
        jax.debug.print("loss {:.3f}", loss)
        return loss

    def main(x):
        print(f"{float(step(x)):.3f}")
        with open("log.txt", "w") as file:
            file.write(f"{step(x)}")
    """
    invalid = """
    ## a number that does not exist yet
    @jax.jit
    def step(x):
        loss = (x**2).sum()
        print(f"loss {loss:.3f}")  #!
        return loss

    ## printed once, while tracing
    @jax.jit
    def step(x):
        loss = (x**2).sum()
        print("loss", loss)  #!
        return loss

    ## text of a traced value
    def body(total, x):
        total = total + x
        print(f"total {total}")  #!
        return total, None

    def run(xs):
        return jax.lax.scan(body, 0.0, xs)

    ## a row of a table
    import csv

    def fit(path, w, xs):
        with open(path, "w") as file:
            table = csv.writer(file)

            @jax.jit
            def step(w, x):
                loss = jnp.mean((x @ w) ** 2)
                table.writerow([loss])  #!
                return w - 0.1 * loss

            for x in xs:
                w = step(w, x)
        return w
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every value that traced code prints or formats."""
        flow = facts.flow
        printed = _printed(program, flow)
        for visit in facts.get(TracingFacts).of("py.format", "py.print"):
            shown = visit.op.name == "py.print" or visit.op.span in printed
            yield from _judge(visit, facts, shown=shown) if visit.tracer is not None else ()


def _printed(program: Program, flow: Flow) -> set[Span]:
    """Return the places of values that become text inside the arguments of a `print`."""
    beside = ((op, one) for op in program.named("py.print") for one in flow.places.region_of[op].ops)
    return {one.span for op, one in beside if one.name == "py.format" and op.span.covers(one.span)}


def _judge(visit: Visit, facts: Facts, *, shown: bool) -> Iterator[Obligation]:
    op, flow = visit.op, facts.flow
    # A format that asks for a number raises, and one that only pads text does so as well.
    raises = op.name == "py.format" and op.spec.strip("f'\"") != ""
    for value, fact in visit.facts.items():
        name = named(value, "what is printed")
        if raises:
            fact = differentiated(visit, value, facts.get(TracingFacts), flow) or fact
        if (known := without_tracer(op.span, fact, name)) is not None:
            yield known
        elif not raises and not shown:
            yield proved(op.span, f"{name} is shown as it is, which tracers allow")
        else:
            lost = visit.stage is not None and flow.maker(value) is not None
            yield Obligation(
                op.span,
                severity=Severity.ERROR if raises or lost else Severity.WARNING,
                message=_message(op, name, transform(fact.by), raises=raises),
                current=f"{because(fact)}: {name} has no value yet",
                raises=Raises.TRACING if raises else Raises.NOTHING,
                expected="the value is shown when the compiled code runs",
                steps=steps_of(fact),
                suggestion=_suggestion(op),
            )


def _message(op: Op, name: str, by: str, *, raises: bool) -> str:
    if raises:
        return f"{name} is formatted as a number, but {by} traces it: this raises an error"
    done = "written" if plays(op.qualified, "writes") else "printed"
    return f"{name} is {done} once, while {by} traces, and then never again"


def _suggestion(op: Op) -> str:
    if plays(op.qualified, "writes"):
        return "return the value and write it outside of the traced function, or use `jax.debug.callback`"
    return 'use `jax.debug.print("{}", value)`'
