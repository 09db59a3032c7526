"""The rule `python-list-as-array`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import ahead, through_ops, walk
from jaxaudit.analyses.tracing import Kind, TracingFacts, Visit
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.ops import PYTHON_LOOPS
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, named, proved
from jaxaudit.rules.trees import nodes

_LISTS = ("list", "lists")
_MAKES_ARRAYS = ("array.create", "array.join")
_SINGLE = ("array.create", "array.convert")
_HUGE = 10_000
"""How many items take a good part of a second, so that once is worth a word."""
_ROW = 16
"""How many numbers a row has that is worth a word where there may be any number of rows."""
_MANY = 256
"""How many items a list has that is worth a word though a function makes it anew for each call."""


class PythonListAsArray(Rule):
    """A list of Python numbers is handed to JAX number by number, as an argument or in every turn of a loop.

    ## What it does
    Looks at `jnp.array(values)` and `jnp.asarray(values)` in loops, where `values` is a list of numbers that the
    program fills item by item, at `jnp.stack` of numbers that were made arrays one by one, and at such lists that are
    arguments of compiled functions which make an array of them.

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
    Short literals, lists of arrays and conversions outside of loops are fine, unless a list has ten thousand items, and
    so are flat lists of numbers that the turn itself computes one by one.
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

    ## few numbers in every turn, and lists of arrays
    def corner(box):
        return jnp.array([box[0] * 0.5, box[1] * 0.5]), jnp.stack([jnp.float32(side) for side in (1.0, 2.0)])

    def run(step, x):
        for i in range(1000):
            x = step(x, corner((i, i + 1)), jnp.array([[0.1 * j for j in range(3)] for _ in range(3)]))
            losses = [jnp.sum(x) for _ in range(500)]
            x = x + jnp.stack(losses).mean() + jnp.array(losses).sum()
        return x

    ## numbers that the turn itself computes one by one
    def missing(n, parts):
        for start, end in parts:
            inside = list(range(start, end))
            yield jnp.array([i for i in range(n) if i not in inside], jnp.int32)

    def inverses(moduli):
        found = []
        for q in moduli:
            found.append(pow(q, -1, 97) % 31)
        return found

    def tables(moduli, indices):
        tables = []
        for one in indices:
            tables.append(jnp.array(inverses([moduli[i] for i in one])))
        return tables

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

    ## rows of a simulator, and of a file
    import json

    def simulate(gain):
        rows = []
        for k in range(80):
            rows.append([gain * k, gain, 1.0])
        return rows

    class Records:
        def __init__(self, lines):
            self.rows = [json.loads(line) for line in lines]

        def batch(self, chosen):
            return jnp.asarray([self.rows[i]["pixels"] for i in chosen])  #!

    def search(gains, lines, step):
        records = Records(lines)
        for turn in range(30):
            runs = [simulate(gain) for gain in gains.tolist()]
            gains = step(gains, jnp.asarray(runs), records.batch(range(turn, turn + 9)))  #!

    ## numbers that are made arrays one by one
    def to_device(values):
        return jnp.stack([jnp.float32(value) for value in values])  #!

    def run(play, step, params):
        for _ in range(30):
            rewards = [float(play(i)) for i in range(500)]
            params = step(params, to_device(rewards))

    ## a large table, once
    def table():
        return jnp.array([[0.1 * i * j for i in range(200)] for j in range(200)])  #!

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
        yield from (one for visit in found.of("array.create") for one in _judge(visit, facts))
        yield from (one for visit in found.of(*_MAKES_ARRAYS) for one in _stacked(visit, facts))
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


def _judge(visit: Visit, facts: Facts) -> Iterator[Obligation]:
    op, values = visit.op, visit.op.argument("object", "a")
    converts = op.qualified in ("jax.numpy.array", "jax.numpy.asarray")
    if not converts or visit.tracer is not None or not isinstance(values, Value):
        return
    fact = visit.of(values)
    if fact.what in ("array", "numpy"):
        yield proved(op.span, f"{named(values)} is an array already")
    elif fact.kind is Kind.STATIC and fact.what in (*_LISTS, "items"):
        (known, is_open), loop = _length(values, facts), _turns(visit)
        local = loop is None or fact.what == "items" or _is_local(visit, values, loop) or _is_new(values, loop, facts)
        if known >= _HUGE or (loop is not None and (known >= _MANY or (is_open and (known >= _ROW or not local)))):
            turn = "" if loop is None else " in every turn"
            message = f"a list of Python numbers becomes a JAX array{turn}, element by element"
            yield _one_by_one(op, loop, message, "`jnp.array` walks the list one element at a time")


def _turns(visit: Visit) -> Op | None:
    """Return the loop that runs an op again and again; one that only fills a list is no such loop."""
    loops = [op for op in visit.stack if op.name in PYTHON_LOOPS and op.kind != "comprehension"]
    return loops[-1] if loops else None


def _stacked(visit: Visit, facts: Facts) -> Iterator[Obligation]:
    """Judge a list that is made of numbers of Python, each of which was made a JAX array before."""
    op, loop = visit.op, _turns(visit)
    given = op.argument("arrays", "object", "a")
    if visit.tracer is not None or loop is None or not isinstance(given, Value):
        return
    for item, trips in _items(given, facts.flow):
        made = facts.flow.maker(item)
        if made is None or made.name not in _SINGLE or not made.qualified.startswith("jax."):
            continue
        numbers = {facts.get(TracingFacts).value(one).what for one in made.operands} == {"number"}
        if numbers and (trips is None or trips >= _MANY):
            message = "each number of a list becomes a JAX array of its own in every turn, and then all are joined"
            yield _one_by_one(op, loop, message, "each number is transferred alone, and the arrays are joined again")


def _one_by_one(op: Op, loop: Op | None, message: str, current: str) -> Obligation:
    return Obligation(
        op.span,
        severity=Severity.PERFORMANCE,
        message=message,
        current=current,
        expected="NumPy converts the list, JAX takes the NumPy array",
        steps=() if loop is None else (Step(loop.span, "the loop is here"),),
        suggestion="use `np.array(values)` (with a dtype) and hand that to JAX",
    )


def _items(values: Value, flow: Flow) -> Iterator[tuple[Value, int | None]]:
    """Return what a list is filled with, turn by turn of a loop or item by item, and how often."""
    made = origin(flow, values, {})
    op = made.op
    if op is None:
        return
    if op.name in PYTHON_LOOPS and made.value in op.results:
        last = op.regions[-1].results[op.results.index(made.value)]
        added = origin(flow, last, {}, in_turn=True).op
        put = added.arguments.get("value") if added is not None and added.name == "py.append" else last
        yield from ((one, op.trips) for one in values_in(put))
    elif op.name == "py.container":
        alone = len(op.operands) == 1 and op.kind == "sequence"
        yield from _items(op.operands[0], flow) if alone else ((one, 1) for one in op.operands)


def _length(values: Value, facts: Facts) -> tuple[int, bool]:
    """Return how many numbers a list has at least, and whether it may have more; a row of data counts for several."""
    known, is_open = 0, False
    pending, seen = [(values, 1, False)], set[Value]()
    while pending:
        value, times, unbounded = pending.pop()
        items = [] if value in seen else list(_items(value, facts.flow))
        seen.add(value)
        pending += [(one, times * (trips or 1), unbounded or trips is None) for one, trips in items]
        if not items:
            fact = facts.get(TracingFacts).value(value)
            row = fact.kind is Kind.STATIC and fact.what != "number"
            known += times * (_ROW if row and value is not values else 1)
            is_open = is_open or unbounded or row
    return known, is_open


def _is_new(values: Value, loop: Op, facts: Facts) -> bool:
    """Whether each turn computes the numbers of a flat list one by one: to hand them over costs no more than that."""
    filled = origin(facts.flow, values, {}).op
    if filled is None or not facts.places.within(facts.places.region_of.get(filled), loop.regions[-1]):
        return False
    items = [one for one, _ in _items(values, facts.flow)]
    return bool(items) and all(_is_number(one, facts) for one in items)


def _is_number(value: Value, facts: Facts) -> bool:
    """Whether an item is one number of Python: known as such, or computed, as no list can be."""
    made = facts.flow.maker(value)
    return facts.get(TracingFacts).value(value).what == "number" or (made is not None and made.name == "array.map")


def _is_local(visit: Visit, values: Value, loop: Op) -> bool:
    """Whether a function that the loop calls makes the list for itself: then the loop is not what is at fault."""
    inner = visit.stack[visit.stack.index(loop) + 1 :]
    call = next((op for op in reversed(inner) if op.name == "py.call"), None)
    inside = () if call is None else list(call.regions[0].walk())
    makers = [op for op in inside if values in op.results]
    parts = {one for op in makers if op.name == "py.container" for one in op.operands}
    makers += [op for op in inside if not parts.isdisjoint(op.results)]
    return bool(makers)
