"""The rule `numbers-sorted-as-text`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.lineage.products import Sums
from jaxaudit.analyses.queries import ahead, depends, through_ops, walk
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import ORDERLESS
from jaxaudit.ir.interfaces import Loop
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, proved
from jaxaudit.rules.pytrees._shared.key_order import Filled, filled, viewed
from jaxaudit.rules.pytrees._shared.leaf_lists import taken_apart

_SORTED = "builtins.sorted"
_TAKEN = through_ops("py.unpack", "py.item")


class NumbersSortedAsText(Rule):
    """Layers that are numbered in their names run in the order of the names as text.

    ## What it does
    Looks at dicts whose keys are made of a counter (`f"layer_{i}"`) that goes beyond 9, and at loops over them in the
    order of sorted keys: `sorted(params)`, and `jax.tree.leaves`, which sorts the keys of every dict. So does whatever
    takes a dict apart and puts it together again, as `jit`, `grad`, `vmap`, `scan` and `jax.tree.map` do: from then on
    `params.values()` gives the entries in another order than they were put in.

    ## Why is this bad?
    As text, `layer_10` comes before `layer_2`. The layers run in another order than they were made, and nothing raises.

    ## Example
        for name in sorted(params):
            x = jnp.tanh(x @ params[name])

    ## Use instead
        for i in range(len(params)):
            x = jnp.tanh(x @ params[f"layer_{i}"])

    ## When it cannot tell
    When how many there are is not known. Loops whose turns may come in any order, such as sums, are left alone. Where
    nothing takes the same dict in another order, `params.values()` is a warning: all may agree on that of its text.
    """

    summary = "Names with numbers are sorted as text, so that 10 comes before 2."

    valid = """
    ## few, with zeros in front, counted, or summed
    def start(key, n):
        return {f"layer_{i}": jax.random.normal(jax.random.fold_in(key, i), (8, 8)) for i in range(n)}

    def padded(key):
        return {f"layer_{i:02d}": jax.random.normal(jax.random.fold_in(key, i), (8, 8)) for i in range(12)}

    def run(params, x):
        for name in sorted(params):
            x = jnp.tanh(x @ params[name])
        return x

    def counted(params, x):
        for i in range(12):
            x = jnp.tanh(x @ params[f"layer_{i}"])
        total = 0.0
        for name in sorted(params):
            total = total + jnp.sum(params[name] ** 2)
        return x, total

    def main(key, x):
        return run(start(key, 10), x), run(padded(key), x), counted(start(key, 12), x)
    """
    invalid = """
    ## by name
    def start(key, n):
        return {f"layer_{i}": jax.random.normal(jax.random.fold_in(key, i), (8, 8)) for i in range(n)}

    def run(params, x):
        for name in sorted(params):  #!
            x = jnp.tanh(x @ params[name])
        return x

    def main(key, x):
        return run(start(key, 12), x)

    ## by name, of dicts
    def main(x):
        params = {f"layer_{i}": {"w": jnp.ones((3, 3)), "b": jnp.ones(3)} for i in range(12)}
        for name in sorted(params):  #!
            x = jnp.tanh(x @ params[name]["w"] + params[name]["b"])
        return x

    ## by leaf
    def start(key, n):
        params = {}
        for i in range(n):
            params["layer" + str(i)] = jax.random.normal(jax.random.fold_in(key, i), (8, 8))
        return params

    def main(key, x):
        for w in jax.tree.leaves(start(key, 11)):  #!
            x = jnp.tanh(x @ w)
        return x

    ## by the order in which `jit` puts them together again, and by number
    def start(key, n):
        return {f"layer_{i}": jax.random.normal(jax.random.fold_in(key, i), (8, 8)) for i in range(n)}

    @jax.jit
    def there(params, x):
        for w in params.values():  #!
            x = x @ w
        return x

    def back(params, x):
        for i in reversed(range(12)):
            x = jnp.linalg.solve(params[f"layer_{i}"].T, x.T).T
        return x

    def main(key, x):
        params = start(key, 12)
        return back(params, there(params, x))

    ## wherever it is used: a warning
    def start(key, n):
        return {f"layer_{i}": jax.random.normal(jax.random.fold_in(key, i), (8, 8)) for i in range(n)}

    def run(params, x):
        for name in params:  #?
            x = jnp.tanh(x @ params[name])
        return x

    def main(key, x):
        return jax.jit(run)(start(key, 12), x)
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every loop over the keys or entries of a dict that is numbered in its keys."""
        flow = facts.flow
        for loop, element, given in _loops(program):
            order = _sorting(given, flow)
            whole = given if order is None else next(iter(order.operands), None)
            found = () if whole is None else filled(flow, viewed(flow, whole))
            ways = [one for one in found if _is_numbered(one.loop, flow)]
            if not ways:
                continue
            if not _runs_in_order(loop, element, flow):
                yield proved(loop.span, "its turns may come in any order")
            elif order is not None:
                yield _violated(order, ways[0].loop, loop)
            else:
                yield _as_it_comes(loop, element, ways, _otherwise(program, flow))


def _loops(program: Program) -> Iterator[tuple[Op, Op, Value]]:
    """Return every loop over something, with what its turns are given."""
    for loop in program.named("py.loop"):
        for element in loop.regions[-1].ops if loop.regions else ():
            given = element.arguments.get("iterable") if element.name == "py.element" else None
            if isinstance(given, Value):
                yield loop, element, given


def _sorting(value: Value, flow: Flow) -> Op | None:
    """Return what sorts the keys of a dict."""
    found = origin(flow, value, {})
    if found.op is not None and found.op.qualified == _SORTED:
        return found.op if _compares_names(found.op, flow) else None
    return taken_apart(flow, found.value)


def _compares_names(op: Op, flow: Flow) -> bool:
    """Whether what is sorted is compared as it is, and not by a `key`."""
    readers = [one for value in op.operands for one in flow.readers.get(value, ()) if one.name == "py.element"]
    tests = (test for one in readers for made in one.results for test in flow.readers.get(made, ()))
    return any(test.construct == "sorted" and test.span.line == op.span.line for test in tests)


def _is_numbered(loop: Op, flow: Flow) -> bool:
    """Whether a loop makes the keys of a dict of numbers that have one digit or two."""
    inside = loop.regions[-1].ops
    formats = [op for op in inside if op.name == "py.format"]
    elements = [op for op in inside if op.name == "py.element"]
    counters = {made for op in elements if _counts_on(op) for made in op.results}
    # Of `enumerate`, the number of the turn is the counter.
    counters |= {op.operands[-1] for op in elements if op.operands and _turns(loop, op, flow) > 10}
    return len(formats) == 1 and not formats[0].spec and not counters.isdisjoint(formats[0].operands)


def _otherwise(program: Program, flow: Flow) -> Mapping[Op, Op]:
    """Return the dicts that a loop runs through in another order than that of sorted keys, and that loop."""
    found = dict[Op, Op]()
    for loop in program.named("py.loop"):
        for item in loop.regions[-1].ops if loop.regions else ():
            base, index = item.arguments.get("base"), item.arguments.get("index")
            numbered = item.name == "py.item" and isinstance(index, Value) and _is_counted(loop, index, flow)
            if numbered and isinstance(base, Value) and _runs_in_order(loop, item, flow):
                found |= {one.loop: loop for one in filled(flow, base)}
    for loop, element, given in _loops(program):
        if _sorting(given, flow) is None and _runs_in_order(loop, element, flow):
            ways = list(filled(flow, viewed(flow, given)))
            changed = {one.loop for one in ways if one.sorted_by is not None}
            found |= {one.loop: loop for one in ways if one.loop not in changed}
    return found


def _is_counted(loop: Op, index: Value, flow: Flow) -> bool:
    """Whether a key is made of a number that the turns of a loop count."""
    made, inside = flow.maker(index), loop.regions[-1].ops
    ranges = [op for op in inside if op.name == "py.element" and isinstance(op.arguments.get("iterable"), Mapping)]
    counters = {value for op in ranges for value in op.results}
    is_text = made is not None and made.name == "py.operator"
    return is_text and any(op.name == "py.format" and not counters.isdisjoint(op.operands) for op in inside)


def _counts_on(op: Op) -> bool:
    """Whether something counts from one digit to two."""
    bounds = op.arguments.get("iterable")
    if not isinstance(bounds, Mapping):
        return False
    start, stop = bounds.get("start"), bounds.get("stop")
    return isinstance(start, int) and isinstance(stop, int) and start < 10 and stop > 10


def _turns(loop: Op, element: Op, flow: Flow) -> int:
    """Return how many turns a loop takes; 0 where that is not known."""
    given = element.arguments.get("iterable")
    made = flow.maker(given) if isinstance(given, Value) else None
    count = made.arguments.get("num") if made is not None and made.name == "key.split" else loop.trips
    return count if isinstance(count, int) and isinstance(element.arguments.get("index"), Value) else 0


def _runs_in_order(loop: Op, element: Op, flow: Flow) -> bool:
    """Whether what a loop carries depends on the order of its turns, and on what they are given."""
    items = set(walk(element.results, lambda one: ahead(flow, one, _TAKEN)))
    for one in Loop(loop).carried:
        body = loop.regions[-1]
        made = flow.maker(body.results[one.position]) if one.position < len(body.results) else None
        if made is None or made.name in ("py.append", "py.set_item"):
            continue
        uses_both = depends(flow, made.results[0], [one.param]) and depends(flow, made.results[0], tuple(items))
        orderless = made.function in ORDERLESS and one.param in made.operands
        if uses_both and not orderless and not _is_added_up(one.param, made.results[0], flow):
            return True
    return False


def _is_added_up(param: Value, end: Value, flow: Flow) -> bool:
    """Whether a turn adds something to what is carried that was not computed from it."""
    products = Sums.of(flow, {}).products(end)
    others = [part.factors for part in products if part.factors != (param,)]
    return len(others) == len(products) - 1 and not any(
        depends(flow, one, [param]) for factors in others for one in factors
    )


def _as_it_comes(loop: Op, element: Op, ways: list[Filled], otherwise: Mapping[Op, Op]) -> Obligation:
    """Judge a loop that takes the entries as they come: JAX has sorted them wherever it took the dict apart."""
    one = next((way for way in ways if way.sorted_by is not None), None)
    if one is None or one.sorted_by is None:
        return proved(loop.span, "the entries come in the order in which they were put in")
    other = otherwise.get(one.loop)
    steps = [Step(one.loop.span, "the names are made of a counter here")]
    steps += [Step(one.sorted_by.span, "JAX takes the dict apart here, and puts it together again with sorted keys")]
    steps += [] if other is None else [Step(other.span, "here they are taken in the order of their numbers")]
    return Obligation(
        element.span,
        severity=Severity.WARNING if other is None else Severity.ERROR,
        message="JAX has sorted the keys of this dict as text: 10 comes before 2",
        current="the turns of this loop build on each other, and come in another order than they are numbered",
        expected="the turns come in the order of the numbers",
        steps=tuple(steps),
        suggestion='count: `for i in range(n)`, or fill the numbers with zeros (`f"{i:02d}"`)',
    )


def _violated(order: Op, made: Op, loop: Op) -> Obligation:
    return Obligation(
        order.span,
        message="names with numbers are sorted as text: 10 comes before 2",
        current="the turns of this loop build on each other, and come in another order than they are numbered",
        expected="the turns come in the order of the numbers",
        steps=(Step(made.span, "the names are made of a counter here"), Step(loop.span, "here they run one by one")),
        suggestion='count: `for i in range(n)`, or fill the numbers with zeros (`f"{i:02d}"`)',
    )
