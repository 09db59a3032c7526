"""The rule `python-list-as-array`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.tracing import Kind, TracingFacts, Visit
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, named, proved

_MANY = 256
"""How many items a list has that is worth a word though a function makes it anew for each call."""


class PythonListAsArray(Rule):
    """A growing list of Python numbers is turned into a JAX array in every turn of a loop.

    ## What it does
    Looks at `jnp.array(values)` and `jnp.asarray(values)` in loops, where `values` is a list of numbers that the
    program fills item by item.

    ## Why is this bad?
    `jnp.array` walks a list element by element, and for nested lists makes one small array of each, which is slower
    than NumPy by orders of magnitude.

    ## Example
        for reading in stream:
            window.append(reading)
            score = model(jnp.array(window))

    ## Use instead
        for reading in stream:
            window.append(reading)
            score = model(np.array(window, np.float32))

    ## When it cannot tell
    Short literals, lists of arrays and conversions outside of loops are fine.
    """

    summary = "A long list of Python numbers is turned into a JAX array again and again."
    needs = (TracingFacts,)

    valid = """
    ## through NumPy, or once
    import numpy as np

    def run(n):
        values = []
        for i in range(n):
            values.append(i * 0.5)
            print(np.array(values).mean(), jnp.array([1.0, 2.0]))
        return jnp.array(values)
    """
    invalid = """
    ## in every turn
    def run(n):
        values = []
        for i in range(n):
            values.append(i * 0.5)
            print(jnp.array(values).mean())  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every conversion of a list of numbers in a loop."""
        yield from (one for visit in facts.get(TracingFacts).of("array.create") for one in _judge(visit))


def _judge(visit: Visit) -> Iterator[Obligation]:
    op, loop, values = visit.op, visit.loop, visit.op.argument("object", "a")
    converts = op.qualified in ("jax.numpy.array", "jax.numpy.asarray")
    if not converts or visit.tracer is not None or not isinstance(values, Value):
        return
    fact = visit.of(values)
    if fact.what in ("array", "numpy"):
        yield proved(op.span, f"{named(values)} is an array already")
    elif fact.kind is not Kind.STATIC or fact.what != "list":
        return
    elif loop is not None and loop.kind != "comprehension" and not _is_local(visit, values, loop):
        yield Obligation(
            op.span,
            severity=Severity.PERFORMANCE,
            message="a list of Python numbers becomes a JAX array in every turn, element by element",
            current="`jnp.array` walks the list one element at a time",
            expected="NumPy converts the list, JAX takes the NumPy array",
            steps=(Step(loop.span, "the loop is here"),),
            suggestion="use `np.array(values)` (with a dtype) and hand that to JAX",
        )


def _is_local(visit: Visit, values: Value, loop: Op) -> bool:
    """Whether a function that the loop calls makes the list for itself: then the loop is not what is at fault."""
    inner = visit.stack[visit.stack.index(loop) + 1 :]
    call = next((op for op in reversed(inner) if op.name == "py.call"), None)
    inside = () if call is None else list(call.regions[0].walk())
    makers = [op for op in inside if values in op.results]
    parts = {one for op in makers if op.name == "py.container" for one in op.operands}
    makers += [op for op in inside if not parts.isdisjoint(op.results)]
    return bool(makers) and not any((op.trips or 0) >= _MANY for op in makers)
