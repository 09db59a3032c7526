"""The rule `retrace-every-call`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.captured import entered
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.growth import grown, is_longer
from jaxaudit.analyses.queries import ahead, depends, reached, walk
from jaxaudit.analyses.tracing import Kind, TracingFacts, Visit
from jaxaudit.analyses.tracing.sizes import sized_by_values
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.functions import EQUALITIES
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import PYTHON_LOOPS, UNFOLLOWED
from jaxaudit.ir.record import record, replace
from jaxaudit.ir.values import index_parts
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, named, proved, unknown, wrapping
from jaxaudit.spans import NOWHERE, Span

_FEW = 8
"""Compiling once for each of so few turns is what people who sweep over settings mean."""


class RetraceEveryCall(Rule):
    """A function is compiled again in every turn of a loop.

    ## What it does
    Looks at compiled functions that a Python loop calls: is the function, or one that is given as a static argument,
    made anew in each turn (a lambda, a nested function, a `partial`, a method of a new object), does a static argument
    differ from turn to turn, does the shape of an argument?

    ## Why is this bad?
    JAX keeps what it compiled by the function object, the static arguments and the shapes of the others. If one of
    them is new in every turn, every turn traces and compiles again, which takes far longer than running.

    ## Example
        for batch in batches:
            loss = jax.jit(lambda x: jnp.mean(x**2))(batch)

    ## Use instead
        loss_fn = jax.jit(lambda x: jnp.mean(x**2))
        for batch in batches:
            loss = loss_fn(batch)

    ## When it cannot tell
    Loops of at most eight turns are judged only for what is joined to itself. Otherwise a shape is taken to differ only
    where the code sizes it by the loop's own counter or by the longest item of each batch.
    """

    summary = "A function is compiled again in every turn of a loop."
    needs = (TracingFacts,)

    valid = """
    ## the same prompts have the same length in every turn
    @jax.jit
    def score(x):
        return x.sum()

    def report(prompts, encode):
        ids = [encode(one) for one in prompts]
        longest = max(len(one) for one in ids)
        return score(jnp.zeros((len(ids), longest)))

    def main(prompts, encode, steps):
        for _ in range(steps):
            print(report(prompts, encode))

    ## as many texts in every turn, however long each is
    @jax.jit
    def count(x):
        return x.sum()

    def batch(rng):
        texts = [rng.integers(0, 20, size=rng.integers(2, 8)) for _ in range(64)]
        return jnp.zeros((len(texts), 7))

    def main(steps):
        import numpy as np

        for seed in range(steps):
            count(batch(np.random.default_rng(seed)))

    ## made once; one shape
    def double(x):
        return x * 2

    def run(xs):
        step = jax.jit(lambda x: x + 1)
        total = jnp.zeros(())
        for i in range(100):
            total = total + step(xs[i]) + jax.jit(double)(xs[i : i + 1])[0]
        return total

    ## functions that are made once, or compared by what they are
    import functools

    @functools.partial(jax.jit, static_argnames="loss")
    def descend(x, loss):
        return x - 0.1 * jax.grad(loss)(x)

    class Bowl:
        def value(self, x):
            return jnp.sum(x**2)

    def run(x):
        bowl, slope = Bowl(), functools.partial(jnp.sum, axis=0)
        for _ in range(100):
            x = descend(descend(x, loss=bowl.value), loss=slope)
        return x

    ## made once for each width
    import functools

    @functools.lru_cache
    def make(width):
        return jax.jit(lambda x: x * width)

    def run(x):
        for _ in range(100):
            x = make(3)(x)
        return x

    ## sizes that stay as they are
    import numpy as np

    @jax.jit
    def total(x):
        return x.sum()

    def run(signal):
        seen = np.arange(4)
        for i in range(100):
            total(np.linspace(0, i, 20))
            total(signal[np.arange(i, i + 8)])
            total(np.isin(np.arange(100), seen))
            seen = np.append(seen, i)
    """
    invalid = """
    ## a new function in every turn
    def run(xs):
        total = 0.0
        for x in xs:
            total = total + jax.jit(lambda y: y * 2)(x)  #!
        return total

    ## a static argument that counts
    import functools

    @functools.partial(jax.jit, static_argnums=1)
    def shift(x, step):
        return x + step

    def run(x):
        for step in range(1000):
            x = shift(x, step)  #!
        return x

    ## a static function that is new in every turn
    import functools

    @functools.partial(jax.jit, static_argnames="loss")
    def descend(x, rate, loss):
        return x - rate * jax.grad(loss)(x)

    def tempered(x, beta):
        return beta * jnp.sum(x**2)

    def run(x):
        for beta in jnp.linspace(0.0, 1.0, 20):
            x = descend(x, 0.1, loss=lambda y: tempered(y, beta))  #!
        for step in range(100):
            loss = functools.partial(tempered, beta=0.5)
            x = descend(x, 0.1, loss=loss)  #!
        return x

    ## a shape that grows
    @jax.jit
    def total(x):
        return x.sum()

    def run(x):
        x = jnp.abs(x)
        return [total(x[:n]) for n in range(1, 100)]  #!

    ## the same function again, in few turns
    def make():
        return lambda x: jnp.sum(x)

    def run(x):
        for _ in range(3):
            x = x - jax.jit(make())(x)  #!
        return x

    ## what `vmap` gives is another function in every turn
    def run(x, scale):
        for _ in range(100):
            x = jax.jit(jax.vmap(scale))(x)  #!
        return x

    ## what a function out of sight makes may be new in every turn: a warning
    def run(x, params, make_policy):
        for _ in range(100):
            x = jax.jit(make_policy(params))(x)  #?
        return x

    ## in a function that the loop calls
    class Relaxer:
        def __init__(self, scale):
            self.scale, self.calls = scale, 0

        def forces(self, x):
            self.calls += 1
            force = jax.jit(jax.grad(lambda y: self.scale * jnp.sum(y**2)))
            return force(x)  #!

    def run(x):
        relaxer = Relaxer(2.0)
        for _ in range(6):
            x = x - relaxer.forces(x)
        return x

    ## counts, and what growing places pick out
    import numpy as np

    @jax.jit
    def total(x):
        return x.sum()

    def run(pool):
        used = np.arange(4)
        for i in range(100):
            total(np.arange(i))  #!
        for i in range(5):
            total(pool[used])  #!
            used = np.append(used, i)

    ## an array that is joined to itself
    @jax.jit
    def following(tokens):
        return tokens.sum() % 7

    def generate(tokens, steps):
        for _ in range(steps):
            token = following(tokens)  #!
            tokens = jnp.concatenate([tokens, token[None]])
        return tokens
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every call of a compiled function in a loop of plain Python."""
        for visit in facts.get(TracingFacts).of("jit", "pmap"):
            loops = [op for op in visit.stack if op.name in PYTHON_LOOPS] if visit.stage is None else []
            if any(map(_repeats, loops)) or any(_makes_the_same(visit, loops, facts)):
                yield _judge(visit, loops, facts)
            elif loops and (found := _growing(visit, loops[-1], facts)) is not None:
                yield _violation(visit.op, loops[-1], *found)


def _repeats(loop: Op) -> bool:
    return loop.trips is None or loop.trips > _FEW


@record
class _Made:
    """Something by whose identity JAX keeps what it compiled: the function itself, or a static argument."""

    text: str
    """What it is, for people."""
    value: int
    object: int
    """The youngest value and object when it was made."""
    span: Span | None = None

    def in_turn(self, loop: Op) -> bool:
        """Whether each turn of a loop makes it anew."""
        return self.value > entered(loop)[0] or self.object > entered(loop)[1]


def _made(op: Op, loops: list[Op]) -> list[tuple[_Made, Op]]:
    """Return what loops make anew in every turn, and which of them does."""
    function = _Made(f"`{_function(op)}`", op.wrapper_id or 0, 0)
    named_ones = (_Made(f"`{name}`" if name else "an argument", *marks) for name, *marks in op.identities or ())
    return [(one, loop) for one in (function, *named_ones) for loop in loops if one.in_turn(loop)]


def _makes_the_same(visit: Visit, loops: list[Op], facts: Facts) -> Iterator[tuple[_Made, Op]]:
    """Return what holds nothing of the turn that makes it: once is enough, however few turns there are."""
    for made, loop in _made(visit.op, loops):
        if (loop.trips is None or loop.trips > 1) and not _held(visit.op, loop, facts):
            yield made, loop


def _held(op: Op, loop: Op, facts: Facts) -> list[Value]:
    """Return what a function, or how it is transformed, reads of the turn that makes it."""
    start, options = entered(loop)[0], (*values_in(op.options or {}),)
    newer = [value for value in dict.fromkeys((*(op.captured or ()), *options)) if value.id > start]
    if not newer:
        return newer
    read = {*options, *(value for one in _inside(op) for value in one.operands)}
    renewed, flow = facts.memo(_of_turn, loop), facts.flow
    # What a call out of sight gives may be another object every time.
    strange = {value for one in _inside(loop) if one.name in UNFOLLOWED for value in one.results}
    return [value for value in newer if value in read and (value in renewed or depends(flow, value, strange))]


def _inside(holder: Op) -> Iterator[Op]:
    return (op for region in holder.regions for op in region.walk())


def _judge(visit: Visit, loops: list[Op], facts: Facts) -> Obligation:
    op, loop = visit.op, loops[-1]
    function = _function(op)
    anew = [one for one in _made(op, loops) if _repeats(one[1])] or [*_makes_the_same(visit, loops, facts)]
    if anew:
        return _judge_made(visit, *anew[-1], loop, facts)
    found = _changing(visit, loop, facts, f"so `{function}` is compiled again") if _repeats(loop) else None
    if found is not None:
        told = _violation(op, loop, *found)
        return replace(told, severity=Severity.WARNING) if _may_be_alike(visit, loop, facts) else told
    if (maker := _factory(op, loop, facts)) is not None:
        return _perhaps_anew(op, maker, loop)
    blank = next(_unknown(visit, loop, facts), None) if _repeats(loop) else None
    if blank is not None:
        return unknown(op.span, f"whether {named(blank, 'an argument')} keeps its shape from turn to turn is not known")
    return proved(op.span, f"`{function}` is one function, and its arguments keep their shapes")


def _factory(op: Op, loop: Op, facts: Facts) -> Op | None:
    """Return the call out of sight by which each turn makes the function, of nothing that the turn has."""
    flow, of_turn = facts.flow, facts.memo(_of_turn, loop)
    called = (one.operands[0] for one in _inside(op) if not op.qualified and one.name in UNFOLLOWED and one.operands)
    makers = (flow.maker(value) for value in called)
    for made in makers:
        if made is not None and made.name in UNFOLLOWED and made.callee and made in set(_inside(loop)):
            return None if any(value in of_turn for value in made.operands) else made
    return None


def _perhaps_anew(op: Op, maker: Op, loop: Op) -> Obligation:
    name = maker.callee.rpartition(".")[2]
    found = _violation(
        op,
        loop,
        f"`{name}` is asked for the function in every turn: if it makes a new one, `jit` compiles every time",
        "make the function once, before the loop",
    )
    return replace(found, severity=Severity.WARNING)


def _judge_made(visit: Visit, made: _Made, loop: Op, innermost: Op, facts: Facts) -> Obligation:
    """Judge a function that a loop makes anew in every turn."""
    op, text = visit.op, made.text
    if _is_cached(made.span or op.wrapped, loop):
        return unknown(op.span, f"{text} comes from a cache, and how often that makes it anew is not known")
    held = [visit.of(value) for value in _held(op, loop, facts)]
    # What could be no argument: a model, say.
    objects = [fact for fact in held if fact.what not in ("array", "numpy", "number")]
    if any(fact.kind is not Kind.UNKNOWN for fact in objects):
        return proved(op.span, f"{text} is another function in every turn: it holds an object of that turn")
    if objects:
        return unknown(op.span, f"{text} is made in every turn, and what it holds of that turn is not known")
    compiled = f"`{_function(op)}`" if made.span is not None else "it"
    message = f"{text} is made anew in every turn, so `jit` compiles {compiled} every time"
    found = _violation(op, loop, message, "make the function once, before the loop")
    if made.span is not None and made.span != NOWHERE:
        place = Step(made.span, f"{text} is compared by its identity, and this one is new in every turn")
        found = replace(found, steps=(place, *found.steps), suggestion=f"{found.suggestion}, and pass what differs")
    # Where each turn calls it many times, one compilation a turn may be worth it.
    paid = loop is not innermost and not _repeats(loop)
    return replace(found, severity=Severity.WARNING) if paid else found


def _is_cached(place: Span | None, loop: Op) -> bool:
    """Whether a function with a cache, or one that it calls, makes what is made at a place."""
    cached = [region for one in _inside(loop) if one.cached or one.once for region in one.regions]
    called = (region for body in cached for one in body.walk() for region in one.regions)
    makers = (region.span for region in (*cached, *called))
    return place is not None and any(one.covers(place) for one in makers)


def _unknown(visit: Visit, loop: Op, facts: Facts) -> Iterator[Value]:
    """Return the arguments that each turn makes or gets, and of which nothing is known."""
    given = [value for value in (*visit.op.operands, *(visit.op.structure or ())) if isinstance(value, Value)]
    open_for = [value for value in given if visit.of(value).kind is Kind.UNKNOWN]
    renewed = facts.memo(_of_turn, loop) if open_for else set()
    yield from (value for value in open_for if value in renewed)


def _changing(visit: Visit, loop: Op, facts: Facts, effect: str) -> tuple[str, str] | None:
    """Return which argument makes `jit` compile again in every turn, and what to do about it."""
    op, start = visit.op, entered(loop)[0]
    for value, static in zip(op.operands, op.static or (), strict=False):
        fact, name = visit.of(value), named(value, "an argument")
        if static is True and fact.turn and value.id > start:
            what = f"the static argument {named(value, '')}".rstrip()
            return f"{what} differs in every turn, {effect}", "leave the argument traced, or scan over it"
        if static is False and fact.varies and value.id > start and value in facts.memo(_of_turn, loop):
            return f"the shape of {name} differs from turn to turn, {effect} and again", "pad to a fixed size"
    if (longer := _growing(visit, loop, facts)) is not None:
        return longer
    for value in op.structure or ():
        if isinstance(value, Value) and visit.of(value).turn and value.id > start:
            text = f"{named(value, 'a field')} is structure and differs in every turn, {effect}"
            return text, "make the field a leaf (data) of its class"
    return None


def _may_be_alike(visit: Visit, loop: Op, facts: Facts) -> bool:
    """Whether all that differs is parts of data that a counter or an equality picks out: folds may be of one size."""
    flow, picked = facts.flow, [value for value in visit.op.operands if visit.of(value).varies]
    if not picked or any(visit.of(value).turn for value in visit.op.operands):
        return False
    by_data = {one for op in _inside(loop) if _is_picked(op, facts) for one in op.results}
    state = facts.memo(_of_data, loop)
    return all(depends(flow, value, by_data) and value not in state for value in picked)


def _is_picked(op: Op, facts: Facts) -> bool:
    """Whether the values of a mask say how many elements an op gives."""
    parts = index_parts(op.arguments.get("index")) if op.has("index") else ()
    masks = (facts.get(TracingFacts).value(part) for part in parts if isinstance(part, Value))
    return sized_by_values(op) or any(one.mask for one in masks)


def _of_data(facts: Facts, loop: Op) -> set[Value]:
    """Return what differs between turns because other data come in, and not for what a counter or an element equals."""
    flow, counters = facts.flow, {region.params[0] for region in loop.regions if region.params}
    counted = {one for op in _inside(loop) if op.name == "py.element" and not _goes_over(op) for one in op.results}
    seeds = [one for one in _seeds(facts, loop) if one not in counters]
    seeds += [one for op in _inside(loop) if op.name == "py.element" and _goes_over(op) for one in op.results]

    def step(value: Value) -> Iterator[Value]:
        return (one for one in ahead(flow, value, _is_no_equality) if one not in counted)

    return set(walk(seeds, step))


def _goes_over(element: Op) -> bool:
    """Whether a loop goes over values of the program, and not over numbers that it counts."""
    return isinstance(element.arguments.get("iterable"), Value)


def _is_no_equality(op: Op) -> bool:
    return op.function not in EQUALITIES


def _growing(visit: Visit, loop: Op, facts: Facts) -> tuple[str, str] | None:
    """Return which argument is joined to itself in every turn: nobody sweeps over settings so, however few turns."""
    op, longer = visit.op, grown(Loop(loop), facts.flow)
    for value, static in zip(op.operands, op.static or (), strict=False):
        if static is False and longer and is_longer(value, longer, facts.flow):
            what = f"{named(value, 'an argument')} is longer in every turn, so `{_function(op)}` is compiled again"
            return f"{what} and again", "give it its final size at once and write into it, or pad it"
    return None


def _function(op: Op) -> str:
    return op.qualified.replace("<lambda>", "lambda") or "the function"


def _of_turn(facts: Facts, loop: Op) -> set[Value]:
    """Return what may differ between the turns of a loop: what comes from its element, its carry, or from outside."""
    found = reached(facts.flow, _seeds(facts, loop))
    written = (op for op in _inside(loop) if op.operator == "text" and not found.isdisjoint(op.values or ()))
    return found | reached(facts.flow, [text for op in written for text in op.results])


def _seeds(facts: Facts, loop: Op) -> list[Value]:
    """Return what each turn of a loop gets that another one did not."""
    kept = {param for param, _, at in Loop(loop).carried if loop.regions[-1].results[at] is param}
    seeds = [param for region in loop.regions for param in region.params if param not in kept]
    fetches = [op for op in _inside(loop) if _fetches(op)]
    return seeds + [value for op in fetches for around in facts.flow.around(op, loop) for value in around.results]


def _fetches(op: Op) -> bool:
    """Whether a call surely gives something else every time."""
    return op.name in ("py.random", "py.clock") or op.qualified == "builtins.next"


def _is_within(span: Span, loop: Op) -> bool:
    last = max((op.span.end_line for op in loop.regions[0].ops if op.span.path == loop.span.path), default=0)
    return span.path == loop.span.path and loop.span.line <= span.line <= last


def _violation(op: Op, loop: Op, message: str, suggestion: str) -> Obligation:
    # A function that is compiled anew and called elsewhere is blamed where it is made.
    made_inside = op.wrapped is not None and _is_within(op.wrapped, loop) and not _is_within(op.span, loop)
    return Obligation(
        op.wrapped if op.wrapped is not None and made_inside else op.span,
        severity=Severity.PERFORMANCE,
        message=message,
        current="every turn traces and compiles",
        expected="one compilation for all turns",
        steps=(Step(loop.span, "the loop is here"), *wrapping(op)),
        suggestion=suggestion,
    )
