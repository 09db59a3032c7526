"""The rule `in-place-update`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.captured import written_array
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.python_values import python_values
from jaxaudit.analyses.tracing import NUMBER, Kind, Trace, TracingFacts, Visit, leaf_of
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.values import REST
from jaxaudit.rules.base import Obligation, Raises, Rule, named, proved, unknown
from jaxaudit.rules.jit._shared.phrases import is_argument


class InPlaceUpdate(Rule):
    """A JAX array is changed in place, or so it is meant.

    ## What it does
    Looks at every `x[i] = v` and `x[i] += v`, and follows where `x` comes from; at every `x += v` of an array whose
    result nothing reads; and at what NumPy writes into: `x.sort()`, `np.fill_diagonal(x, 1)`, `out=x`.

    ## Why is this bad?
    JAX arrays cannot be changed. Assigning to an item raises `TypeError`, inside and outside of traced code; so does
    writing to what `np.asarray` makes of one, which is no copy but a view that is read-only. `x += v`
    raises nothing and binds a new array to `x`: a slice is no view, and what it was taken from stays as it is.

    ## Example
        buffer = jnp.zeros(10)
        buffer[0] = 1.0

    ## Use instead
        buffer = jnp.zeros(10)
        buffer = buffer.at[0].set(1.0)

    ## When it cannot tell
    NumPy arrays, lists and dicts may be assigned to. A value nobody is known to make stays open.
    """

    summary = "A JAX array is changed in place, which raises an error or changes nothing."
    needs = (TracingFacts,)

    valid = """
    ## NumPy, lists and functional updates
    import numpy as np

    def fill(n):
        buffer = np.zeros(n)
        buffer[0] = 1.0
        rows = [jnp.zeros(3)]
        rows[0] = jnp.ones(3)
        table = jnp.zeros(n).at[0].set(1.0)
        table += 1.0
        inner = buffer[1:-1]
        inner += 1.0
        return buffer, rows, table

    def clip(x):
        host = np.array(jnp.abs(x))
        host[host > 1] = 1.0
        other = np.asarray(jnp.abs(x)) + 1.0
        other[0] = 0.0
        third = np.asarray(jnp.abs(x), dtype=np.float64)
        third *= 2.0
        fourth = np.asarray(jnp.abs(x)).copy()
        fourth[0] = 1.0
        fifth = np.asarray(jnp.abs(x))[[0, 1]]
        fifth[0] = 1.0
        host.sort()
        np.fill_diagonal(other, 0.0)
        np.exp(other, out=other)
        total = np.asarray(jnp.abs(x))
        total += jnp.abs(x)
        return host, other, third, fourth, fifth

    def target(key, model, entropy):
        value = jax.random.normal(key, (3,))
        if entropy is not None:
            value -= entropy
        return model.fit(lambda params: params - value)
    """
    invalid = """
    ## an array that jnp made
    def fill(n):
        buffer = jnp.zeros(n)
        buffer[0] = 1.0  #!
        return buffer

    ## an array that jit traces
    @jax.jit
    def bump(x):
        y = x * 2
        y[0] += 1.0  #!
        return y

    ## a slice that is taken for a view
    def diffuse(a, rate):
        inner = a[1:-1]
        inner += rate  #!
        return a

    def run(key):
        return diffuse(jax.random.normal(key, (9,)), 0.1)

    ## a NumPy view of what JAX computed
    import numpy as np

    @jax.jit
    def smooth(x):
        return x / 2, x

    class Tracker:
        def __init__(self):
            self.rows = []

        def add(self, x):
            y, _ = smooth(x)
            track = np.asarray(y)
            track[track > 1] = 1.0  #!
            head = track.reshape(-1, 2)[1:]
            head[0] += 1.0  #!
            track *= 2.0  #!
            self.rows.append(track)

    def main():
        Tracker().add(jnp.ones(4))

    ## what NumPy writes into, and sums up in place
    import numpy as np

    def ranked(key):
        scores = np.asarray(jax.random.normal(key, (9,)))
        scores.sort()  #!
        grid = np.asarray(jnp.zeros((3, 3)))
        np.fill_diagonal(grid, 1.0)  #!
        np.exp(np.ones((3, 3)), out=grid)  #!
        total = np.asarray(jnp.zeros((3, 3)))
        for i in range(3):
            total += i  #!
        return scores, grid, total

    ## at a traced index
    @jax.jit
    def store(x, i):
        x[i] = 0.0  #!
        return x
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every assignment to an item of something that may be an array, and every `x += y` of an array."""
        yield from (one for visit in facts.get(TracingFacts).of("py.set_item") for one in _judge(visit))
        lost = {(one.span.path, one.span.line, one.span.column) for scope in program.reads for one in scope.dead}
        changed = (op for op in program.named("array.map", "array.dot") if op.augmented and _in_function(op, facts))
        for op in changed:
            yield from _augmented(op, facts, lost=(op.span.path, op.span.line, op.span.column) in lost)
        yield from (one for op in program.walk() for one in _written(op, facts))


def _in_function(op: Op, facts: Facts) -> bool:
    """Whether an op stands in a function: what a module binds may be read elsewhere."""
    modules = {id(root.region) for root in facts.program.roots if root.runs}
    around = [region for region, _ in facts.places.up(facts.places.region_of[op])]
    return any(one.kind == "function" or (one.kind == "root" and id(one) not in modules) for one in around)


def _written(op: Op, facts: Facts) -> Iterator[Obligation]:
    """Judge what a function of NumPy, or a method of its arrays, writes into."""
    out = None if op.name == "py.set_item" else written_array(op)
    if out is None:
        return
    fact = facts.get(TracingFacts).value(out)
    name = named(out, "the array")
    if fact.frozen:
        yield _read_only(op, name)
    elif fact.what == "numpy" and fact.frozen is False:
        yield proved(op.span, f"{name} is a NumPy array of its own")
    else:
        yield unknown(op.span, f"whether {name} shows the memory of a JAX array, which cannot change, is not known")


def _augmented(op: Op, facts: Facts, *, lost: bool) -> Iterator[Obligation]:
    """Judge `x += y`, which changes a view of a NumPy array, and binds a new array of JAX to the name `x`."""
    base = op.arguments.get("x")
    name = named(base, "the array")
    fact = facts.get(TracingFacts).value(base) if isinstance(base, Value) else None
    added = op.arguments.get("y")
    other = facts.get(TracingFacts).value(added) if isinstance(added, Value) else NUMBER
    if fact is not None and fact.frozen and other.what in ("number", "numpy"):
        yield _read_only(op, name)
    elif fact is not None and fact.frozen and other.what != "array":
        yield unknown(op.span, f"whether an array of JAX is added to {name}, which makes a new one, is not known")
    elif facts.flow.is_read(op.result):
        if fact is not None and (fact.kind is Kind.UNKNOWN or fact.frozen is None):
            yield unknown(op.span, f"whether {name} shows the memory of a JAX array, which cannot change, is not known")
        else:
            yield proved(op.span, "what is computed here is read")
    elif not lost:
        yield unknown(op.span, f"a function that was not followed may read {name}")
    elif python_values(facts).is_jax_array(base) or (fact is not None and _is_leaf(op, fact)):
        yield Obligation(
            op.span,
            message=f"{name} is a JAX array, which this does not change: the result goes nowhere",
            current=f"a new array is bound to {name}, and nothing reads it; what {name} was taken from stays as it was",
            expected="the array that it was taken from, with the new values in their places",
            suggestion="put the new values into what is read: `whole.at[...].add(...)`, `jax.tree.map` for a tree",
        )
    elif fact is not None and fact.what != "numpy":
        yield unknown(op.span, f"what {name} is is not known")


def _is_leaf(op: Op, fact: Trace) -> bool:
    """Whether what an operator changes is of a tree of arrays, and no container that it works on."""
    other = op.arguments.get("y")
    grows = op.function == "add" and not isinstance(other, int | float)
    repeats = op.function == "multiply" and not isinstance(other, float)
    return leaf_of(fact).what == "array" and not grows and not repeats


def _judge(visit: Visit) -> Iterator[Obligation]:
    op = visit.op
    # No array has an item by a text: what is assigned to is a dict, whatever it is taken for.
    index = op.arguments.get("index")
    is_dict = isinstance(index, str) and index != REST
    if is_dict or op.kind in ("list", "dict", "set", "sequence", "reference") or "base" not in op.arguments:
        return
    base = op.arguments["base"]
    fact, name = visit.of(base), named(base, "this array")
    if fact.jax_array or (is_argument(base, fact) and _by_traced(visit)):
        yield Obligation(
            op.span,
            message=f"{name} is a JAX array, which cannot be assigned to",
            current=f"assigning to an item of {name} raises `TypeError`",
            raises=Raises.TRACING,
            expected="a new array that differs in that item",
            suggestion=_suggestion(name, augmented=op.augmented),
        )
    elif fact.frozen:
        yield _read_only(op, name)
    elif fact.what == "numpy" and fact.frozen is False:
        yield proved(op.span, f"{name} is a NumPy array")
    elif visit.tracer is not None or fact.frozen is None:
        yield unknown(op.span, f"what {name} is is not known")


def _read_only(op: Op, name: str) -> Obligation:
    return Obligation(
        op.span,
        message=f"{name} shows the memory of a JAX array, which cannot be written to",
        current="`np.asarray` of a JAX array makes no copy: NumPy raises `ValueError`, the array is read-only",
        raises=Raises.TRACING,
        expected="a copy, which may be changed",
        suggestion="take a copy with `np.array(x)`",
    )


def _by_traced(visit: Visit) -> bool:
    """Whether the index is traced: then a list or a dict could not be assigned to either."""
    index = visit.op.arguments.get("index")
    return isinstance(index, Value) and (visit.of(index).traced_array or is_argument(index, visit.of(index)))


def _suggestion(name: str, *, augmented: bool) -> str:
    plain = name.strip("`").replace("this array", "x")
    return f"write `{plain} = {plain}.at[...].{'add' if augmented else 'set'}(...)`"
