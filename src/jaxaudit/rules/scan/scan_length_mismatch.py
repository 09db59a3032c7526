"""The rule `scan-length-mismatch`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.dims import Dim
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.shapes import Context, Shapes
from jaxaudit.analyses.shapes.broadcast import equal
from jaxaudit.analyses.shapes.facts import shown
from jaxaudit.analyses.shapes.regions import stated_length
from jaxaudit.analyses.shapes.result import Fit
from jaxaudit.ir import Op, Program
from jaxaudit.ir.interfaces import Loop
from jaxaudit.rules.base import Obligation, Rule, named, proved, unknown


class ScanLengthMismatch(Rule):
    """The inputs of a scan have different numbers of steps.

    ## What it does
    Compares the leading sizes of all arrays that a `scan` or a `map` goes over, and the `length` it was told.

    ## Why is this bad?
    A scan takes one slice of every input in each step, so all of them must have as many as there are steps. JAX raises
    `ValueError`; the usual cause is that an axis other than time comes first.

    ## Example
        jax.lax.scan(step, init, (rewards, values[1:]))  # one step less

    ## Use instead
        jax.lax.scan(step, init, (rewards, values[:-1], values[1:]))  # with one more value than rewards

    ## When it cannot tell
    When the leading size of an input is not known, or two unknown sizes meet.
    """

    summary = "The inputs of a scan, or its `length`, differ in how many steps there are."
    always_raises = True
    needs = (Shapes,)

    valid = """
    ## all from one array
    def run(x):
        steps = x.shape[0]
        return jax.lax.scan(lambda c, i: (c, i), 0.0, (x, jnp.arange(steps)), length=len(x))
    """
    invalid = """
    ## nine and ten
    def run():
        xs = (jnp.ones((10, 3)), jnp.ones(9))
        return jax.lax.scan(lambda c, x: (c, x), 0.0, xs)  #!

    ## one more
    def run(rewards):
        steps = rewards.shape[0]
        return jax.lax.scan(lambda c, x: (c, x), 0.0, (jnp.arange(steps), jnp.zeros(steps + 1)))  #!

    ## another length
    def run():
        return jax.lax.scan(lambda c, x: (c, x), 0.0, jnp.ones((10, 3)), length=3)  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every scan that goes over something."""
        shapes = facts.get(Shapes)
        yield from (_judge(op, context) for op in program.named("scan") for context in shapes.contexts(op))


def _judge(op: Op, context: Context) -> Obligation:
    elements = Loop(op).elements
    sizes = [(named(whole, "an input"), dims[0]) for _, whole in elements if (dims := context.of(whole).dims)]
    worst = Fit.FITS if len(sizes) == len(elements) else Fit.OPEN
    if (length := stated_length(op, context.of)) is not None:
        sizes.append(("`length`", length))
    for name, size in sizes[1:]:
        fit = equal(sizes[0][1], size)
        if fit is Fit.CLASHES:
            return _mismatch(op, sizes[0], (name, size))
        worst = worst if fit is Fit.FITS else fit
    if worst is Fit.OPEN:
        return unknown(op.span, "the leading sizes of what is scanned are not all known")
    steps = shown(sizes[0][1]) if sizes else "no"
    return proved(op.span, f"all inputs of this scan have {steps} steps")


def _mismatch(op: Op, first: tuple[str, Dim], second: tuple[str, Dim]) -> Obligation:
    what = f"{first[0]} has {shown(first[1])} steps and {second[0]} has {shown(second[1])}"
    return Obligation(
        op.span,
        message=what.replace("`length` has", "`length` is"),
        current="JAX refuses this scan: its inputs differ in their leading size",
        expected="every input has one slice for each step",
        suggestion="bring the axis of time to the front, or cut the inputs to one length",
    )
