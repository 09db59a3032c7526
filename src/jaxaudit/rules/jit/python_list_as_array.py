"""The rule `python-list-as-array`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import ahead, through_ops, walk
from jaxaudit.analyses.tracing import Kind, TracingFacts, Visit
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, named, proved
from jaxaudit.rules.trees import nodes

_LISTS = ("list", "lists")
_MAKES_ARRAYS = ("array.create", "array.join")
_MANY = 256
"""How many items a list has that is worth a word though a function makes it anew for each call."""


class PythonListAsArray(Rule):
    """A list of Python numbers is handed to JAX number by number, as an argument or in every turn of a loop.

    ## What it does
    Looks at `jnp.array(values)` and `jnp.asarray(values)` in loops, where `values` is a list of numbers that the
    program fills item by item, and at such lists that are arguments of compiled functions which make an array of them.

    ## Why is this bad?
    `jnp.array` walks a list element by element, and for nested lists makes one small array of each, which is slower
    than NumPy by orders of magnitude. A compiled function takes every number of a list as an argument of its own: each
    is traced, transferred and stacked alone, and a list of another length compiles again.

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

    summary = "A long list of Python numbers is handed to JAX one number at a time."
    needs = (TracingFacts,)

    valid = """
    ## through NumPy, or once
    import numpy as np

    def run(n):
        values = []
        for i in range(n):
            values.append(i * 0.5)
            print(np.array(values).mean(), jnp.array([1.0, 2.0]), jnp.asarray(np.ones(3)))
        return jnp.array(values)

    ## one array, or numbers that stay numbers
    @jax.jit
    def step(x, rays, rates):
        for rate in rates:
            x = x * rate
        return x + jnp.asarray(rays).sum()

    def drive(x, n):
        rays = np.asarray([0.1 * i for i in range(n)])
        return step(x, rays, [0.5**i for i in range(3)])
    """
    invalid = """
    ## in every turn
    def run(n):
        values = []
        for i in range(n):
            values.append(i * 0.5)
            print(jnp.array(values).mean())  #!

    ## an argument for each number
    @jax.jit
    def step(x, rays):
        return x + jnp.asarray(rays).sum()

    def drive(x, n):
        return step(x, [0.1 * i for i in range(n)])  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every conversion of a list of numbers in a loop, and every list that crosses into compiled code."""
        found = facts.get(TracingFacts)
        yield from (one for visit in found.of("array.create") for one in _judge(visit))
        yield from (one for visit in found.of("jit", "pmap") for one in _crossing(visit, facts.flow))


def _crossing(visit: Visit, flow: Flow) -> Iterator[Obligation]:
    """Judge the lists of numbers among the arguments of a compiled function."""
    op = visit.op
    trees = op.border.trees if op.border is not None else ()
    # One value stands for all numbers of a list whose length is not known.
    many = {value for tree in trees for node in nodes(tree) if node.kind == "sequence" for value in node.values()}
    for value, static, param in zip(op.operands, op.static or (), op.regions[0].params, strict=False):
        fact = visit.of(value)
        numbers = fact.what in _LISTS or (fact.kind is Kind.STATIC and value in many)
        made = _converted(param, flow) if numbers else None
        if static is False and made is not None:
            yield Obligation(
                op.span,
                severity=Severity.PERFORMANCE,
                message=f"each number of {named(value, 'a list')} is an argument of its own of `{op.qualified}`",
                current="JAX traces, transfers and stacks the numbers one by one; another length compiles again",
                expected="one array is one argument",
                steps=(*_origin(value, op, flow), Step(made.span, "here it becomes one array")),
                suggestion="convert it with `np.asarray` before the call",
            )


def _converted(param: Value, flow: Flow) -> Op | None:
    """Return the op that makes one array of a list."""
    same = walk((param,), lambda value: ahead(flow, value, through_ops("py.container")))
    return next((op for value in same for op in flow.readers.get(value, ()) if op.name in _MAKES_ARRAYS), None)


def _origin(value: Value, call: Op, flow: Flow) -> Iterator[Step]:
    """Return where a list is made, and what hands it to the code that calls."""
    maker = flow.maker(value)
    if maker is not None:
        yield Step(maker.span, "the list is made here")
        met = flow.places.meet(maker, call)
        if met is not None and met.first is not maker:
            yield Step(met.first.span, "it comes from here")


def _judge(visit: Visit) -> Iterator[Obligation]:
    op, loop, values = visit.op, visit.loop, visit.op.argument("object", "a")
    converts = op.qualified in ("jax.numpy.array", "jax.numpy.asarray")
    if not converts or visit.tracer is not None or not isinstance(values, Value):
        return
    fact = visit.of(values)
    if fact.what in ("array", "numpy"):
        yield proved(op.span, f"{named(values)} is an array already")
    elif fact.kind is not Kind.STATIC or fact.what not in _LISTS:
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
