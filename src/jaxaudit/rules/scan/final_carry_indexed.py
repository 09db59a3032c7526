"""The rule `final-carry-indexed`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.dims import Dim, same
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.labels import one_axis, related
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import readers
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.values import index_parts
from jaxaudit.rules.base import Obligation, Rule, Step, named, proved, unknown

_PROGRAM = """
    def last(p, xs):
        def cell(h, x):
            h = jnp.tanh(x @ p["x"] + h @ p["h"])
            return h, h

        {taken} = jax.lax.scan(cell, jnp.zeros((xs.shape[1], 8)), xs)
        return {used} @ p["out"]{mark}

    last({{"x": jnp.ones((3, 8)), "h": jnp.ones((8, 8)), "out": jnp.ones((8, 2))}}, jnp.ones((20, 16, 3)))
"""


class FinalCarryIndexed(Rule):
    """`[-1]` is taken of the last state of a scan, as if it held the states of all steps.

    ## What it does
    A scan gives its last state and, stacked, what each step gave out. Where `[-1]` is taken of the last state, this
    compares its first axis with the axes of what is scanned: the first one is that of the steps, the next that of the
    batch. What the entries of a state are that has one axis alone is left open.

    ## Why is this bad?
    The last state has no axis of steps. `[-1]` picks the last example of the batch, and what follows broadcasts it to
    all of them.

    ## Example
        hs, _ = jax.lax.scan(cell, h0, xs)
        logits = hs[-1] @ w

    ## Use instead
        h, hs = jax.lax.scan(cell, h0, xs)
        logits = h @ w

    ## When it cannot tell
    When the first axis of the state is not one of what is scanned: a state may hold layers, or the steps themselves.
    """

    summary = "`[-1]` of a scan's last state picks an example, not a step."
    needs = (Shapes,)
    valid = (
        "    ## of what is stacked"
        + _PROGRAM.format(taken="_, hs", used="hs[-1]", mark="")
        + "\n    ## the last state"
        + _PROGRAM.format(taken="h, _", used="h", mark="")
        + """
    ## layers
    def top(p, xs):
        def cell(h, x):
            return h + x.sum(), None

        h, _ = jax.lax.scan(cell, jnp.zeros((3, xs.shape[1])), xs)
        return h[-1]

    top(None, jnp.ones((20, 16)))

    ## places in a vector
    def score(emissions):
        def advance(alpha, scores):
            return jnp.logaddexp(alpha, jnp.roll(alpha, 1)) + scores, None

        alpha, _ = jax.lax.scan(advance, emissions[0], emissions[1:])
        return alpha[-1]

    score(jnp.ones((20, 5)))
    """
    )
    invalid = "    ## of the state" + _PROGRAM.format(taken="hs, _", used="hs[-1]", mark="  #!")

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every `[-1]` of the last state of a scan."""
        flow, shapes = facts.flow, facts.get(Shapes)
        for op in program.named("scan"):
            loop = None if op.is_derived or op.library else Loop.of(op)
            for one in loop.carried if loop is not None else ():
                for use in _ends(op.results[one.position : one.position + 1], flow):
                    yield _judged(op, use, shapes)


def _ends(values: tuple[Value, ...], flow: Flow) -> Iterator[Op]:
    """Return every `[-1]` of some values."""
    for value in values:
        for op in readers(flow, value):
            if op.name == "py.item" and index_parts(op.arguments.get("index"))[:1] == (-1,):
                yield op


def _judged(scan: Op, use: Op, shapes: Shapes) -> Obligation:
    state = shapes.of(use.operands[0]).dims
    scanned = [dims for _, array in Loop(scan).elements if (dims := shapes.of(array).dims)]
    if not state or not scanned:
        return unknown(use.span, "what the first axis of the last state is, is not known")
    if any(_is_one(state[0], dims[0]) for dims in scanned):
        return proved(use.span, "the state has as many entries as there are steps")
    if len(state) == 1:
        return unknown(use.span, "whether the entries of a vector are examples, or places in one, is not known")
    if any(_is_one(state[0], dim) for dims in scanned for dim in dims[1:]):
        return _finding(scan, use)
    return unknown(use.span, "what the first axis of the last state is, is not known")


def _is_one(first: Dim, second: Dim) -> bool:
    """Whether two axes are one: the size of one was read off the other, or both have one name."""
    known = first.constant is None or one_axis(first.labels, second.labels) or related(first.labels, second.labels)
    return same(first, second) and known


def _finding(scan: Op, use: Op) -> Obligation:
    name = named(use.operands[0], "the last state")
    return Obligation(
        use.span,
        message=f"`[-1]` of {name} picks the last example: the state of a scan has no axis of steps",
        current="one example stands for all of the batch",
        expected="the last state is used as it is, or the last of what the steps gave out",
        steps=(Step(scan.span, "the scan gives its last state first, then what the steps gave out"),),
        suggestion=f"use {name} without `[-1]`, or take the second result of the scan",
    )
