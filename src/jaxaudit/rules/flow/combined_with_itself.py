"""The rule `combined-with-itself`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.index import is_pure
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import ahead, through_ops, walk
from jaxaudit.analyses.settled import Settled, written
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.functions import EXTREMES_OF_TWO
from jaxaudit.ir.interfaces import complement
from jaxaudit.ir.ops import STORES
from jaxaudit.ir.record import record
from jaxaudit.libraries.lookup import playing, plays
from jaxaudit.rules.base import Obligation, Rule, Step, proved, unknown
from jaxaudit.rules.flow._shared.quotients import quotients

Same = tuple[object, ...]
"""What a value is, written so that two values which are surely one have it in common."""


class CombinedWithItself(Rule):
    """A value is blended with itself, chosen over itself, copied onto itself, or the smaller of itself and itself.

    ## What it does
    Follows both sides of every weighted mean, `where`, `minimum` and `maximum`, and of every copy of a module's state
    into a module, back through calls, trees and the states of modules. Where both are one value, the result is that
    value, whatever the weights and conditions are. A second choice by one condition, a second write and a second
    extreme of what the first has changed in part may come to the same: then an exchange has copied one over the other.
    A number that is differentiated and divided by itself, with something small added, is 1 and has no slope.

    ## Why is this bad?
    A target network that is the online network under another name follows it at once. The smaller of a critic and
    the same critic guards against nothing. No exception is raised, and training is merely unstable.

    ## Example
        target = critic
        new = jax.tree.map(lambda t, s: 0.99 * t + 0.01 * s, nnx.state(target), nnx.state(critic))

    ## Use instead
        target = nnx.clone(critic)
        new = jax.tree.map(lambda t, s: 0.99 * t + 0.01 * s, nnx.state(target), nnx.state(critic))

    ## Example
        x = x.at[i].set(x[j])
        x = x.at[j].set(x[i])

    ## Use instead
        first, second = x[i], x[j]
        x = x.at[i].set(second).at[j].set(first)

    ## When it cannot tell
    Lists that change in place, and objects that something may have changed between both reads, are left open.
    """

    summary = "Both sides of a blend, a choice, an extreme or a copy are one and the same value."
    needs = (Shapes,)
    valid = """
    ## each term over its own size, which only scales
    def loss(params, x, y):
        fit, size = jnp.mean((x @ params - y) ** 2), jnp.sum(jnp.abs(params))
        return sum(term / (jax.lax.stop_gradient(term) + 1e-6) for term in (fit, size)) + size / (size + 0.5)

    def step(params, x, y):
        return params - 0.1 * jax.grad(loss)(params, x, y)

    ## two values
    def slow(params, target, tau):
        return jax.tree.map(lambda p, t: tau * p + (1 - tau) * t, params, target)

    ## two carries that start alike
    def run(params, xs):
        def body(carry, x):
            params, target = carry
            params = params - 0.1 * x
            return (params, 0.9 * target + 0.1 * params), jnp.minimum(params, target)

        return jax.lax.scan(body, (params, params), xs)

    ## weights that do not add up to one
    def twice(x, w):
        return w * x + 0.5 * x

    ## a copy
    import optax

    def start(params):
        return optax.incremental_update(params, params, 1.0)

    ## read before and after
    from flax import nnx

    def average(model, optimizer, grads):
        before = nnx.state(model)
        optimizer.update(model, grads)
        after = nnx.state(model)
        return jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, before, after)

    ## a record field by field
    def choose(done, first, second):
        return {"x": jnp.where(done, first["x"], second["x"]), "seed": jnp.where(done, second["seed"], second["seed"])}

    ## leaf by leaf, some of which are shared
    def follow(params, target):
        target = {"head": target["head"], "table": params["table"]}
        online = {"head": params["head"], "table": params["table"]}
        return jax.tree.map(lambda p, t: 0.01 * p + 0.99 * t, online, target)

    ## copied to another one
    from flax import nnx

    def sync():
        online = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
        target = nnx.clone(online)
        nnx.update(target, nnx.state(online))
        return online, target

    ## a helper that chooses
    def choose(done, first, second):
        return jnp.where(done, first, second)

    def step(done, state, start):
        return choose(done, start, state)

    ## an exchange
    def exchanged(x, i, j, first, second, hot):
        low, high = x[i], x[j]
        first, second = jnp.where(hot, second, first), jnp.where(hot, first, second)
        return x.at[i].set(high).at[j].set(low), first, second

    ## moved along
    def moved(x, low, high):
        x = x.at[2].set(x[1]).at[1].set(x[0])
        x = x.at[0:2].set(x[1:3])
        return jnp.maximum(jnp.minimum(x.at[1:3].set(x[0:2]), high), low)

    ## one function for all parts of a state, of which one stays
    def update(size, centre, rate):
        return size * rate, centre

    def masked(size, centre, mask, rate):
        blend = lambda x, y: mask * x + (1 - mask) * y
        new_size, new_centre = update(size, centre, rate)
        return (
            blend(new_size, size),
            blend(new_centre, centre),
        )
    """
    invalid = """
    ## each term over its own size
    def loss(params, x, y):
        fit, size = jnp.mean((x @ params - y) ** 2), jnp.sum(jnp.abs(params))
        return sum(term / (term + 1e-6) for term in (fit, size))  #!

    def step(params, x, y):
        return params - 0.1 * jax.grad(loss)(params, x, y)

    ## the target is left out
    def slow(params, target, tau):
        return jax.tree.map(lambda p, t: tau * p + (1 - tau) * t, params, params), target  #!

    ## the same critic twice
    def value(params, x):
        first, second = x @ params["a"], x @ params["b"]
        return jnp.minimum(first, first), second  #!

    ## through a helper
    def mix(a, b, w):
        return (1.0 - w) * a + w * b  #!

    def step(online, target):
        return mix(online, online, 0.01), target

    ## by a library
    import optax

    def follow(params, target):
        return optax.incremental_update(params, params, 0.01), target  #!

    ## copied onto itself
    from flax import nnx

    def sync():
        online = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
        target = online
        nnx.update(target, nnx.state(online))  #!
        return online, target

    ## one is copied over the other
    def exchanged(x):
        i, j = jnp.argmin(x), jnp.argmax(x)
        x = x.at[i].set(x[j])
        return x.at[j].set(x[i])  #!

    ## nothing is reset
    def reset(done, state, start):
        return jnp.where(done, state, state), start  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every blend, choice and extreme of two values."""
        flow = facts.flow
        found = [(op, *(_Side.of(flow, one) for one in both)) for op, *both in _pairs(program, flow)]
        apart = {key for op, first, second in found if first.same != second.same for key in _company(op, flow)}
        for op, first, second in found:
            if first.same != second.same:
                yield _settled(op, facts) or _two(op, first, second, flow)
            elif not apart.isdisjoint(_company(op, flow)) or _is_given(op, flow):
                yield unknown(op.span, "this is one part or one call of several, and others may differ")
            elif not _at_once(flow, (*first.reads, *second.reads)) or _is_changed(op, flow):
                yield unknown(op.span, "whether something changes between both reads is not known")
            else:
                yield _finding(op, first, program)
        yield from quotients(program, facts)
        for op in program.named("array.scatter"):
            given = written(op)
            if given is not None and (one := _put_back(op, given, facts)) is not None:
                yield one


def _settled(op: Op, facts: Facts) -> Obligation | None:
    """Find choices whose sides are one value where each is taken, and extremes that an earlier one has settled."""
    both, flow = (op.operands[-2], op.operands[-1]), facts.flow
    if op.name == "array.map" and len(op.operands) == 2:
        makers = [flow.maker(origin(flow, one, {}, in_turn=True).value) for one in both]
        for made, other in zip(makers, reversed(both), strict=True):
            if made is not None and made.function in EXTREMES_OF_TWO and made.function != op.function:
                if any(_is_one(flow, one, other) for one in made.operands):
                    return _does_nothing(op, made, f"`{made.function}` has chosen between the same two before")
    condition = op.value("condition", "pred") if op.name == "array.select" else None
    if condition is not None and Settled(facts, condition).of(both[0]) == Settled(facts, condition, holds=False).of(
        both[1]
    ):
        earlier = next(filter(None, (_changed_before(one, flow) for one in both)), op)
        return _does_nothing(op, earlier, "what it chooses between was exchanged in part before")
    return None


def _is_one(flow: Flow, first: Value, second: Value) -> bool:
    return origin(flow, first, {}, in_turn=True).value is origin(flow, second, {}, in_turn=True).value


def _changed_before(value: Value, flow: Flow) -> Op | None:
    """Return the choice that made a value, or the write into the array that it is an element of."""
    made = flow.maker(origin(flow, value, {}, in_turn=True).value)
    base = made.value("base") if made is not None and made.name == "py.item" else None
    if base is not None:
        made = flow.maker(origin(flow, base, {}, in_turn=True).value)
    return made if made is not None and made.name in ("array.select", "array.scatter") else None


def _put_back(op: Op, given: Value, facts: Facts) -> Obligation | None:
    """Find elements that are written where they were read."""
    base, flow = op.value("base"), facts.flow
    if base is None or flow.maker(given) is None:
        return None
    settled = Settled(facts)
    if settled.of(given) != settled.at(base, op.argument("index")):
        return None
    earlier = _changed_before(given, flow)
    if earlier is None or earlier.name != "array.scatter":
        return unknown(op.span, "what is written here was read at the same place: whether that is meant is not known")
    return _does_nothing(op, earlier, "what is written here was put in the place of something else before")


def _does_nothing(op: Op, earlier: Op, why: str) -> Obligation:
    what = f"`{op.function}`" if op.name != "array.scatter" else "write"
    return Obligation(
        op.span,
        message=f"this {what} changes nothing: it reads what line {earlier.span.line} has changed already",
        current=f"{why}, so both places hold one value, and the other is lost",
        expected="both values are read before the first of them is replaced",
        steps=(Step(earlier.span, "the first one is replaced here"),),
        suggestion="keep both values in variables of their own, and make the new ones from these",
    )


def _pairs(program: Program, flow: Flow) -> Iterator[tuple[Op, Argument, Argument]]:
    """Return every op that gives one of two values, or something between them, and both."""
    for op in program.mapping(*sorted(EXTREMES_OF_TWO)):
        if len(op.operands) == 2 and not op.is_derived:
            yield op, *op.operands
    for op in program.named("array.select"):
        first, second = op.value("x", "on_true"), op.value("y", "on_false")
        if op.has("condition", "pred") and first is not None and second is not None and not op.is_derived:
            yield op, first, second
    for op in program.mapping("add"):
        yield from ((op, *both) for both in _blended(op, flow) if not op.is_derived)
    for op in program.calling(*sorted(playing("average"))):
        if op.arguments.get("step_size") not in (1, 1.0):
            yield op, op.arguments.get("new_tensors"), op.arguments.get("old_tensors")
    for op in program.calling(*sorted(playing("model.update"))):
        state = op.value("state")
        read = None if state is None else origin(flow, state, {}, in_turn=True).op
        if read is not None and plays(read.qualified, "model.state"):
            yield op, op.arguments.get("node"), read.arguments.get("node")


def _blended(op: Op, flow: Flow) -> Iterator[tuple[Value, Value]]:
    """Return two values that are added with weights that add up to one."""
    products = [flow.maker(one) for one in op.operands]
    if len(products) != 2 or not all(one is not None and one.function == "multiply" for one in products):
        return
    first, second = ([*one.arguments.values()] for one in products if one is not None)
    for at, weight in enumerate(first):
        for other, rest in enumerate(second):
            value, partner = first[1 - at], second[1 - other]
            if _add_up(weight, rest, flow) and isinstance(value, Value) and isinstance(partner, Value):
                yield value, partner


def _add_up(weight: Argument, rest: Argument, flow: Flow) -> bool:
    """Whether two weights add up to one: numbers, or a value and one less it."""
    if isinstance(weight, int | float) and isinstance(rest, int | float):
        return abs(weight + rest - 1) < 1e-9
    if not isinstance(weight, Value) or not isinstance(rest, Value):
        return False
    return complement(flow.maker(rest)) is weight or complement(flow.maker(weight)) is rest


@record
class _Side:
    """What one side of an op is, and the ops that read it from an object which may change."""

    given: tuple[Value, ...]
    """The values that it consists of where they come from."""
    same: Same
    reads: tuple[Op, ...]

    @staticmethod
    def of(flow: Flow, given: Argument) -> _Side:
        """Follow an argument back as far as it is one value, or the same part of one."""
        reads, values = list[Op](), list[Value]()
        same = tuple(_same(flow, one, reads, values) for one in values_in(given))
        return _Side(tuple(values), same, tuple(reads))


def _same(flow: Flow, value: Value, reads: list[Op], ends: list[Value]) -> Same:
    value = origin(flow, value, {}, in_turn=True).value
    op, entry = flow.maker(value), flow.entered(value)
    if op is None and entry is not None and entry.op.name == "tree.map" and entry.op.border is not None:
        at = entry.region.params.index(value)
        leaves = [leaf for tree in entry.op.border.trees[at : at + 1] for leaf in tree.values()]
        if leaves:
            return ("leaf", entry.op, *(_same(flow, leaf, reads, ends) for leaf in leaves))
    if op is not None and op.name == "py.container":
        return (op.kind, *(_same(flow, one, reads, ends) for one in op.operands))
    if op is not None and op.name == "tree.other" and len(op.results) == 1:
        reads.append(op)
        rest = tuple((name, one) for name, one in op.arguments.items() if not isinstance(one, Value))
        return (op.qualified, repr(rest), *(_same(flow, one, reads, ends) for one in op.operands))
    ends.append(value)
    return (value,)


def _company(op: Op, flow: Flow) -> Iterator[object]:
    """Return what an op shares with those that do the same for other parts of one thing.

    They stand in one line, reached by the same lines, as leaf by leaf, or by calls side by side; so do choices between
    records.
    """
    home = flow.places.region_of[op]
    around = [holder for _, holder in flow.places.up(home) if holder is not None]
    yield (op.span, *(holder.span for holder in around))
    # One function for all parts of a state is called once for each, side by side.
    yield from ((op.span, flow.places.region_of[holder]) for holder in around[:1])
    if op.name == "array.select":
        yield id(home)


def _is_given(op: Op, flow: Flow) -> bool:
    """Whether an op chooses between what its function is given: whoever calls it may do so for all parts of a state."""
    return op.name == "array.select" and any(flow.passed(one) or flow.entered(one) for one in op.operands[1:])


def _two(op: Op, first: _Side, second: _Side, flow: Flow) -> Obligation:
    """Judge two sides that are not known to be one: what comes from elsewhere may be, under two names."""
    makers = [flow.maker(one) for one in (*first.given, *second.given)]
    if any(one is not None and one.name.startswith("array.") for one in makers):
        return proved(op.span, "its two sides are computed differently")
    return unknown(op.span, "whether its two sides are one value is not known")


def _at_once(flow: Flow, reads: Sequence[Op]) -> bool:
    """Whether nothing can happen between some ops that read objects."""
    order, regions = flow.places.order, {id(flow.places.region_of[one]): flow.places.region_of[one] for one in reads}
    if len(set(reads)) < 2:
        return True
    first, last = min(order[one] for one in reads), max(order[one] for one in reads)
    return len(regions) == 1 and all(
        one in reads or is_pure(one) for one in next(iter(regions.values())).ops if first < order[one] < last
    )


def _is_changed(op: Op, flow: Flow) -> bool:
    """Whether something is stored in a part of what an op is given, before it gets there."""
    parts = through_ops("py.attr", "py.item")
    inside = walk(op.operands, lambda one: (one, *ahead(flow, one, parts)))
    return any(one.name in STORES for value in inside for one in flow.readers.get(value, ()))


def _finding(op: Op, side: _Side, program: Program) -> Obligation:
    name = next((f"`{one.name}`" for one in side.given if one.name), "one value")
    what = f"`{op.function}`" if op.function in EXTREMES_OF_TWO | {"where", "update"} else "blend"
    aliases = [one for one in program.named("py.again") if one.values and set(one.values) == set(side.given)]
    return Obligation(
        op.span,
        message=f"both sides of this {what} are one value, so it does nothing",
        current=f"{name} is combined with itself, and that is what comes out",
        expected="two values, such as a slow copy and what it follows",
        steps=tuple(Step(one.span, "this is one thing under two names") for one in aliases),
        suggestion="give it the other value; of an object that changes, make a copy first",
    )
