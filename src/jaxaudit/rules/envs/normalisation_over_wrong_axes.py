"""The rule `normalisation-over-wrong-axes`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.dims import ONE, same
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.broadcast import shape_text
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import AVERAGES, SCALINGS
from jaxaudit.ir.record import record
from jaxaudit.rules.base import Example, Obligation, Rule, Step, named, proved, unknown

_PROGRAM = """
def update(mean, count, obs):
    delta = jnp.mean(obs{axis}) - mean{mark}
    return mean + delta * obs.shape[0] / (count + obs.shape[0])


update(jnp.zeros(3), 1.0, jnp.ones((64, 3)))
"""


class NormalisationOverWrongAxes(Rule):
    """Running statistics with one entry for each feature are updated by one number over all features.

    ## What it does
    Finds the mean of an array over all its axes that moves a vector of running means (`mean + weight * (x.mean() -
    mean)`) where the vector has one entry for each element of the array's last axis.

    ## Why is this bad?
    All entries of the running mean become one number. Features on a large scale swamp the others, which are then
    divided by a spread that is not theirs; nothing is raised, since a number broadcasts.

    ## Example
        mean = mean + weight * (jnp.mean(obs) - mean)  # obs: (envs, features), mean: (features,)

    ## Use instead
        mean = mean + weight * (jnp.mean(obs, axis=0) - mean)

    ## When it cannot tell
    When the shape of the array or of the running mean is not known.
    """

    summary = "Statistics of each feature are updated by a mean over all features."
    needs = (Shapes,)

    valid = (
        Example(_PROGRAM.format(axis=", axis=0", mark=""), "over the batch"),
        Example("x = jnp.ones((64, 3))\ny = jnp.mean(x) - jnp.mean(x, axis=0)\n", "no update"),
    )
    invalid = (Example(_PROGRAM.format(axis="", mark="  #!"), "over all axes"),)

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every update of a running mean."""
        shapes = facts.get(Shapes)
        yield from (_judged(one, shapes) for one in _updates(program, facts.flow))


@record
class _Update:
    """A running mean that is moved towards the mean of an array."""

    mean: Op
    array: Value
    running: Value
    added: Op


def _updates(program: Program, flow: Flow) -> Iterator[_Update]:
    for op in program.named("array.reduce"):
        for delta in flow.readers.get(op.result, ()) if op.function in AVERAGES and op.operands else ():
            others = [value for value in delta.operands if value is not op.result]
            if delta.name == "array.map" and delta.function == "subtract" and len(others) == 1:
                for added in _moved(others[0], delta.result, flow):
                    yield _Update(op, op.operands[0], others[0], added)


def _moved(running: Value, delta: Value, flow: Flow) -> Iterator[Op]:
    """Return the sums of the running mean and a multiple of its distance."""

    def scaled(value: Value) -> Iterator[Value]:
        readers = flow.readers.get(value, ())
        return (op.result for op in readers if op.name == "array.map" and op.function in SCALINGS)

    multiples = set(walk((delta,), scaled))
    for op in flow.readers.get(running, ()):
        if op.name == "array.map" and op.function == "add" and not multiples.isdisjoint(op.operands):
            yield op


def _judged(one: _Update, shapes: Shapes) -> Obligation:
    span = one.mean.span
    array, running = shapes.of(one.array).dims, shapes.of(one.running).dims
    whole = one.mean.arguments.get("axis") is None and not one.mean.arguments.get("keepdims")
    if array is None or running is None:
        return unknown(span, "the shape of the array or of the running mean is not known")
    if not whole or len(array) < 2 or len(running) != 1 or running[0] == ONE or not same(array[-1], running[0]):
        return proved(span, f"the mean is taken as the running one of {shape_text(running)} asks")
    name, mean = named(one.array, "the array"), named(one.running, "the running mean")
    return Obligation(
        span,
        message=f"the mean of {name} over all axes moves {mean}, which has one entry for each feature",
        current=f"{name} is {shape_text(array)}; one number moves all of {mean} {shape_text(running)} alike",
        expected="the mean is taken over all axes but the last",
        steps=(Step(one.added.span, f"{mean} is moved by one number here"),),
        suggestion="give the mean and the variance `axis=0` (or all axes but the last)",
    )
