"""The rule `iterator-in-traced-code`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import reached
from jaxaudit.analyses.tracing import TracingFacts, Visit
from jaxaudit.ir import Op, Program
from jaxaudit.ir.functions import ITERATORS
from jaxaudit.ir.ops import LOOPS
from jaxaudit.rules.base import Obligation, Raises, Rule, Step, proved
from jaxaudit.rules.jit._shared.phrases import transform


class IteratorInTracedCode(Rule):
    """A Python iterator is given to a transformation as if it were an array, or asked for its next item while traced.

    ## What it does
    Looks at what `scan`, `map`, `jit`, `jnp.stack`, `jnp.array` and their kin are given: `zip`, `enumerate`, `range`
    (for `scan` and `jit`) and generators are no arrays. Looks also at `next(...)` in compiled code, where the
    iterator lives outside of it.

    ## Why is this bad?
    JAX takes arrays and containers of arrays apart; an iterator is neither, and the call raises `TypeError`.
    `next` runs while JAX traces and never again: the compiled code sees the first item in every call, and a loop in
    every turn.

    ## Example
        jax.lax.scan(step, init, zip(xs, ys))

    ## Use instead
        jax.lax.scan(step, init, (xs, ys))

    ## When it cannot tell
    What a call gives whose code is not known is not judged.
    """

    summary = "A Python iterator is given to a transformation, which takes arrays."
    needs = (TracingFacts,)

    valid = """
    ## a tuple of arrays
    def step(carry, pair):
        x, y = pair
        return carry + x * y, None

    def run(xs, ys):
        for x, y in zip(xs, ys):
            print(x, y)
        return jax.lax.scan(step, 0.0, (xs, ys))
    """
    invalid = """
    ## a zip
    def step(carry, pair):
        x, y = pair
        return carry + x * y, None

    def run(xs, ys):
        pairs = zip(xs, ys)
        return jax.lax.scan(step, 0.0, pairs)  #!

    ## a generator
    @jax.jit
    def total(values):
        return sum(values)

    def run(xs):
        return total(x * 2 for x in xs)  #!

    ## a generator that is stacked
    def run(xs):
        return jnp.stack(x * 2 for x in xs)  #!

    ## the next batch of an iterator from outside
    def train(params, batches):
        @jax.jit
        def step(params):
            x, y = next(batches)  #!
            return params - 0.1 * jnp.mean(x @ params - y)

        for _ in range(10):
            params = step(params)
        return params

    ## the next item of a generator, in the body of a loop
    def cooling(start, steps):
        for _ in range(steps):
            yield start
            start = 0.9 * start

    def anneal(x, keys):
        heats = cooling(3.0, 9)

        def sweep(x, key):
            x = x + next(heats) * jax.random.normal(key, x.shape)  #!
            return x, x

        return jax.lax.scan(sweep, x, keys)
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List what every scan goes over and what every compiled function is given."""
        found = facts.get(TracingFacts)
        takers = found.of("scan", "map", "jit", "pmap", "array.join", "array.create", "array.reduce")
        yield from (one for visit in takers for one in _judge(visit.op))
        for visit in found.of("py.call_library"):
            if visit.op.qualified == "builtins.next" and visit.tracer is not None:
                yield from _asked(visit, facts.flow)


def _judge(op: Op) -> Iterator[Obligation]:
    for kind in _kinds(op):
        if kind in ITERATORS:
            yield _violation(op, kind)
        elif kind in ("tuple", "dict", "list", "NoneType"):
            given = "None" if kind == "NoneType" else f"a {kind}"
            yield proved(op.span, f"it is given {given}, which JAX takes")


def _asked(visit: Visit, flow: Flow) -> Iterator[Obligation]:
    """Judge a `next` in traced code; a counter that names are made of harms nobody: its items are not computed with."""
    op = visit.op
    read = next((one for one in flow.places.region_of[op].ops if one.name == "py.read" and _is_asked(op, one)), None)
    if read is None or visit.op.guarded or not _computed_with(op, flow):
        return
    by, loop = transform(visit.tracer), visit.tracer is not None and visit.tracer.name in LOOPS
    turn = "turn" if loop else "call"
    yield Obligation(
        op.span,
        message=f"`next` asks `{read.label}` for an item while {by} traces, and never again",
        current=f"the compiled code keeps the item of its first {turn} and sees it in every later one",
        expected=f"each {turn} gets an item of its own",
        steps=(Step(read.span, "the iterator lives outside of the compiled code"),),
        suggestion="make an array of the items and give it to the loop"
        if loop
        else "ask for the item outside and give it as an argument",
    )


def _is_asked(op: Op, read: Op) -> bool:
    """Whether what was read from outside is the iterator itself, and not what one is made of here."""
    call, name = op.span, read.span
    starts = (name.path, name.line, name.column) == (call.path, call.line, call.column + len("next("))
    return starts and (name.end_line, name.end_column + 1) == (call.end_line, call.end_column)


def _computed_with(op: Op, flow: Flow) -> bool:
    users = (reader for value in reached(flow, op.results) for reader in flow.readers.get(value, ()))
    return any(reader.name.startswith(("array.", "key.")) for reader in users)


def _kinds(op: Op) -> list[str]:
    if op.name in ("scan", "map"):
        return [op.xs]
    if op.name.startswith("array."):
        iterator = op.first in ITERATORS - {"range"} and op.qualified.startswith("jax.")
        return [op.first] if iterator else []
    return [kind for _, kind, static in op.given or () if static is False]


def _taker(op: Op) -> str:
    return f"`{op.qualified.replace('jax.numpy', 'jnp')}`" if op.name.startswith("array.") else transform(op)


def _violation(op: Op, kind: str) -> Obligation:
    article = "an" if kind[0] in "ae" else "a"
    return Obligation(
        op.span,
        message=f"{_taker(op)} is given {article} `{kind}`, but it takes arrays and containers of arrays",
        current="a Python iterator is no pytree, so the call raises `TypeError`",
        raises=Raises.TRACING,
        expected="a tuple or a stacked array",
        suggestion={
            "zip": "give a tuple of the arrays: `(xs, ys)`",
            "enumerate": "give `(jnp.arange(n), xs)`",
            "range": "give `jnp.arange(n)`",
        }.get(kind, "make an array of it first: `jnp.stack(list(...))`"),
    )
