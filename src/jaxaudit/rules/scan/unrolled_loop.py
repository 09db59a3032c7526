"""The rule `unrolled-loop`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.tracing import Kind, TracingFacts, Visit
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.functions import BELOW
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import COMPUTED
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, proved
from jaxaudit.rules.jit._shared.phrases import transform

_MANY = 50
"""Turns from which on a copy of the body for each is a matter of minutes of compilation."""


class UnrolledLoop(Rule):
    """A Python loop over the length of a traced array is unrolled into the compiled program.

    ## What it does
    Looks at `for` loops in code that `jit` and its kin stage, which carry traced values from turn to turn and run over
    the leading axis of a traced array, or fifty times and more. So are comprehensions that compute in each turn.

    ## Why is this bad?
    Python runs the loop while JAX traces, so the program holds one copy of the body for each turn. Compile time grows
    with the length of the data, and every new length compiles again.

    ## Example
        @jax.jit
        def total(xs):
            state = xs[0]
            for t in range(1, xs.shape[0]):
                state = 0.9 * state + xs[t]
            return state

    ## Use instead
        @jax.jit
        def total(xs):
            step = lambda state, x: (0.9 * state + x, None)
            return jax.lax.scan(step, xs[0], xs[1:])[0]

    ## When it cannot tell
    Loops over lists of layers, over short constant ranges and over axes other than the first are taken to be meant.
    """

    summary = "A long Python loop is unrolled into the compiled program."
    needs = (TracingFacts, Shapes)

    valid = """
    ## a list of layers
    @jax.jit
    def forward(layers, x):
        for layer in layers:
            x = jnp.tanh(x @ layer["w"] + layer["b"])
        return x

    forward([{"w": jnp.ones((8, 8)), "b": jnp.ones(8)} for _ in range(3)], jnp.ones((5, 8)))

    ## few turns
    @jax.jit
    def forward(layers, x):
        for w in (0.1, 0.2, 0.3):
            x = x * w
        for _ in range(4):
            x = x + 1
        return x

    ## one turn for each layer of a list
    @jax.jit
    def apply(model, x, key):
        keys = jax.random.split(key, 20)
        for layer, k in zip(model.layers, keys):
            x = layer(x, key=k)
        return x

    ## a comprehension that takes an array apart, and one over the layers
    @jax.jit
    def apply(layers, x):
        rows = [x[i] for i in range(x.shape[0])]
        return sum([rows[-1] @ layer for layer in layers])

    apply([jnp.ones((3, 3)), jnp.zeros((3, 3))], jnp.ones((80, 3)))

    ## only the shape is asked for
    def total(xs):
        state = xs[0]
        for t in range(1, xs.shape[0]):
            state = 0.9 * state + xs[t]
        return state

    like = jax.eval_shape(total, jnp.ones((80, 3)))
    """
    invalid = """
    ## over the leading axis
    @jax.jit
    def total(xs):
        state = xs[0]
        for t in range(1, xs.shape[0]):  #!
            state = 0.9 * state + xs[t]
        return state

    ## over the leading axes of two arrays
    @jax.jit
    def total(xs, weights):
        state = 0.0
        for x, weight in zip(xs - 1.0, weights * 2):  #!
            state = 0.9 * state + weight * x
        return state

    ## a comprehension over the rows
    @jax.jit
    def distances(points):
        return jnp.stack([jnp.sum((points - points[i]) ** 2, axis=-1) for i in range(points.shape[0])])  #!

    ## over an array that is no argument
    import numpy as np

    schedule = np.linspace(1e-4, 0.02, 1000)

    @jax.jit
    def noised(x):
        for i, rate in enumerate(schedule):  #!
            x = np.sqrt(1.0 - rate) * x + i
        return x

    noised(jnp.ones(3))

    ## a thousand copies
    @jax.jit
    def settle(x):
        for _ in range(1000):  #!
            x = 0.9 * x
        return x

    ## counted by hand
    @jax.jit
    def settle(x):
        i = 0
        while i < 1000:  #!
            x = 0.9 * x
            i += 1
        return x
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every Python loop in staged code that carries traced values."""
        found, shapes, flow = facts.get(TracingFacts), facts.get(Shapes), facts.flow
        loops = (visit for visit in found.of("py.loop") if _compiles(visit) is not None)
        carrying = {visit.op for visit in loops if _carries(visit) or _collects(visit.op, found)}
        for stage, elements in _loops(found):
            if elements[0].stack[-1] in carrying:
                yield from _judge(elements, stage, shapes)
        yield from (one for visit in found.of("py.test") for one in _counting(visit, flow))


def _compiles(visit: Visit) -> Op | None:
    """Return what stages something to be compiled: where only shapes are asked for, nothing is."""
    return None if visit.stage is None or visit.stage.name == "abstract" else visit.stage


def _carries(visit: Visit) -> bool:
    return visit.op.kind == "for" and any(fact.kind is Kind.TRACED for fact in visit.facts.values())


def _collects(loop: Op, found: TracingFacts) -> bool:
    """Whether a comprehension computes something of traced arrays in each turn, and does not only take them apart."""
    ops = loop.regions[0].walk() if loop.kind == "comprehension" else ()
    computing = (op for op in ops if op.name in COMPUTED)
    return any(found.value(value).traced_array for op in computing for value in op.operands)


def _loops(found: TracingFacts) -> Iterable[tuple[Op, list[Visit]]]:
    """Return what each loop in staged code goes over, several things under `zip`, and what stages it."""
    loops: dict[tuple[Op, ...], tuple[Op, list[Visit]]] = {}
    for visit in found.of("py.element"):
        stage = _compiles(visit)
        if stage is not None and visit.stack:
            loops.setdefault(visit.stack, (stage, []))[1].append(visit)
    return loops.values()


def _judge(elements: list[Visit], stage: Op, shapes: Shapes) -> Iterator[Obligation]:
    loop, op = elements[0].stack[-1], elements[0].op
    trips = {one.op: loop.trips or _counted(one.op, shapes) for one in elements}
    fewest = min((number for number in trips.values() if number is not None), default=None)
    if fewest is not None and fewest < _MANY:
        yield proved(op.span, f"the loop runs {fewest} times, and its body is copied as often")
    # `zip` ends with the shortest: beside a list of layers, the rows of an array are no reason to expect many turns.
    elif all(trips[one.op] is not None or _over_leading_axis(one, loop) for one in elements):
        count = "one for each item of the leading axis" if fewest is None else f"{fewest} turns"
        yield _violation(op, stage, count)


def _counting(visit: Visit, flow: Flow) -> Iterator[Obligation]:
    """Judge a `while` of Python that counts to a number."""
    loop = visit.stack[-1] if visit.stack else None
    stage = _compiles(visit)
    if stage is None or loop is None or loop.name != "py.while" or visit.op.construct != "while":
        return
    turns = _turns(visit.op, loop, flow)
    if turns is not None and turns >= _MANY and len(loop.operands) > 1:
        yield _violation(visit.op, stage, f"{turns} turns")


def _turns(test: Op, loop: Op, flow: Flow) -> int | None:
    """Return how often `while i < n: i += 1` runs, where all three numbers are written down."""
    asked = test.arguments.get("value")
    compared = flow.maker(asked) if isinstance(asked, Value) else None
    if compared is None or compared.function not in BELOW:
        return None
    counter, bound = compared.argument("x"), compared.argument("y")
    for param, start, at in Loop(loop).carried:
        first, later = flow.maker(start), flow.maker(loop.regions[0].results[at])
        if param is not counter or first is None or later is None or later.function != "add":
            continue
        begin, step = first.constant, later.argument("y")
        if later.argument("x") is param and isinstance(begin, int) and isinstance(step, int) and isinstance(bound, int):
            return (bound - begin) // step if step > 0 else None
    return None


def _counted(element: Op, shapes: Shapes) -> int | None:
    """Return how often a loop over `range(x.shape[0])` or an array runs, where the sizes of the array are known."""
    iterable = element.arguments.get("iterable")
    if isinstance(iterable, Value):
        known = [context.of(iterable).dims for context in shapes.contexts(element)]
        return max((dims[0].constant or 0 for dims in known if dims), default=None) or None
    if not isinstance(iterable, Mapping):
        return None
    turns = []
    for context in shapes.contexts(element):
        start, stop, step = (context.of(iterable.get(name)).number for name in ("start", "stop", "step"))
        if start is None or stop is None or step is None or (stop - start).constant is None or step.constant != 1:
            return None
        turns.append((stop - start).constant or 0)
    return max(turns, default=None)


def _over_leading_axis(visit: Visit, loop: Op) -> bool:
    iterable = visit.op.arguments.get("iterable")
    if visit.op.listed:
        return False
    if isinstance(iterable, Mapping):
        bounds = [visit.of(bound) for bound in iterable.values()]
        return any(bound.axis for bound in bounds) and _indexes(loop, visit.op.result)
    return visit.of(iterable).traced_array


def _indexes(loop: Op, counter: Value) -> bool:
    """Whether the loop's body takes items by its counter."""
    taken = (op.arguments.get("index") for op in loop.regions[0].walk() if op.name == "py.item")
    return any(counter in values_in(index) for index in taken)


def _violation(op: Op, stage: Op, count: str) -> Obligation:
    return Obligation(
        op.span,
        severity=Severity.PERFORMANCE,
        message=f"this loop is unrolled under {transform(stage)}: {count}",
        current="the compiled program holds a copy of the body for every turn; compile time grows with the data",
        expected="one copy of the body, run as often as needed",
        steps=(Step(stage.span, f"{transform(stage)} traces it from here"),),
        suggestion="use `jax.lax.scan` or `jax.lax.fori_loop`",
    )
