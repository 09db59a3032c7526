"""The rule `normalisation-over-wrong-axes`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from jaxaudit.analyses.dims import ONE, same
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.endings import renewals
from jaxaudit.analyses.lineage.origins import contexts
from jaxaudit.analyses.lineage.products import Product, Sums
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.broadcast import shape_text
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import AVERAGES, VARIANCES
from jaxaudit.ir.interfaces import complement, given_as
from jaxaudit.ir.record import record, replace
from jaxaudit.rules.base import Example, Obligation, Rule, Step, named, proved, unknown

_CLOSE = 1e-6
_MOST_PARTS = 3
"""The running mean may be there twice, as in `mean + w * (x.mean() - mean)`; a quotient of sums has many more parts."""

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
    mean)`, `w * mean + (1 - w) * x.mean()`) where the vector has one entry for each element of the array's last axis,
    and means that keep an axis more than the vector that they renew.

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
        Example(
            "def blend(prior, x):\n    return 0.9 * prior + 0.1 * x.mean(0)\n\n"
            "blend(jnp.zeros(3), jnp.ones((20, 8, 3)))\n",
            "nothing is renewed",
        ),
        Example(
            "def head(h, x):\n    return 0.5 * h + 0.1 * x.mean()\n\nhead(jnp.zeros(3), jnp.ones((8, 3)))\n",
            "weights that do not add up to one",
        ),
    )
    invalid = (
        Example(_PROGRAM.format(axis="", mark="  #!"), "over all axes"),
        Example(
            """
            class Normaliser:
                def __init__(self):
                    self.mean, self.spread = jnp.zeros(3), jnp.ones(3)

                def update(self, obs):
                    self.mean = 0.9 * self.mean + 0.1 * jnp.mean(obs, axis=0)  #!
                    self.spread = 0.9 * self.spread + 0.1 * obs.var()  #!

            def main(keys):
                norm = Normaliser()
                for key in keys:
                    norm.update(jax.random.normal(key, (20, 8, 3)))
                return norm.mean, norm.spread
            """,
            "a moving average: one for each place along another axis, and one number for all features",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every update of a running mean."""
        flow, renewed = facts.flow, {(one.old, one.new) for one in renewals(facts)}
        if not any(map(_is_statistic, program.named("array.reduce"))):
            return
        for op in program.mapping("add", "subtract"):
            for context in contexts(flow, op) if not (op.backward or op.is_derived) else ():
                found = _update(op, Sums.of(flow, context))
                if found is not None:
                    at_first = _at_first(found.running, flow)
                    yield from _judged(found, at_first, facts.get(Shapes), (found.running, op.result) in renewed)


@record
class _Update:
    """A running mean that is moved towards the mean of an array."""

    mean: Op
    array: Value
    running: Value
    added: Op


def _is_statistic(op: Op) -> bool:
    return bool(op.operands) and op.function in AVERAGES | VARIANCES


def _update(op: Op, sums: Sums) -> _Update | None:
    """Return the running mean that a sum moves, where it is made of shares of that and of another mean alone.

    `mean + w * (x.mean() - mean)` and `w * mean + (1 - w) * x.mean()` are both such a sum.
    """
    parts = list(islice((part for one in sums.products(op.result) for part in _numerators(one, sums)), _MOST_PARTS + 1))
    if len(parts) > _MOST_PARTS:
        return None
    makers = {factor: sums.maker(factor) for part in parts for factor in part.factors}
    means = {factor for factor, made in makers.items() if made is not None and _is_statistic(made)}
    moved = [part for part in parts if means.intersection(part.factors)]
    kept = [part for part in parts if part not in moved]
    common = set.intersection(*({*part.factors} for part in kept)) if kept else set[Value]()
    made = makers[next(iter(means))] if len(means) == 1 else None
    if made is None or made.name != "array.reduce" or len(common) != 1 or len(moved) != 1:
        return None
    (running,), (mean,) = common, means
    weights = [_weight(part, running) for part in kept]
    return _Update(made, made.operands[0], running, op) if _are_shares(weights, _weight(moved[0], mean), sums) else None


_Weight = tuple[float, tuple[Value, ...]]


def _weight(part: Product, of: Value) -> _Weight:
    factors = list(part.factors)
    factors.remove(of)
    return part.coefficient, tuple(sorted(factors, key=lambda one: one.id))


def _are_shares(kept: Sequence[_Weight], moved: _Weight, sums: Sums) -> bool:
    """Whether weights add up to one: `1 - w` and `w`, numbers or values."""
    number, factors = moved
    if len(kept) == 2:
        return sorted(kept, key=lambda one: len(one[1])) == [(1.0, ()), (-number, factors)] or (
            not factors and abs(sum(one for one, _ in kept) + number - 1) < _CLOSE
        )
    if len(kept) != 1:
        return False
    other, rest = kept[0]
    if not factors and not rest:
        return abs(number + other - 1) < _CLOSE
    both = [one[0] for one in (factors, rest) if len(one) == 1]
    opposites = [complement(sums.maker(one)) for one in both]
    return len(both) == 2 and any(
        one is not None and sums.source(one) is other for one, other in zip(opposites, reversed(both), strict=True)
    )


def _numerators(part: Product, sums: Sums) -> Iterator[Product]:
    """Return the parts that a part of a sum has where what is divided is a sum itself."""
    for factor in part.factors:
        made = sums.maker(factor)
        if made is not None and made.function == "divide":
            rest = list(part.factors)
            rest.remove(factor)
            for one in sums.products(made.arguments.get("x")):
                yield from _numerators(replace(part, factors=tuple(rest)).times(one), sums)
            return
    yield part


def _at_first(running: Value, flow: Flow) -> Value:
    """Return what a running mean is before the first turn: it may be of another shape from then on."""
    entry = flow.entered(running)
    return running if entry is None else next(given_as(*entry, running), running)


def _judged(one: _Update, at_first: Value, shapes: Shapes, grows: bool) -> Iterator[Obligation]:
    span = one.mean.span
    array, running, mean = (shapes.of(value).dims for value in (one.array, at_first, one.mean.result))
    whole = one.mean.arguments.get("axis") is None and not one.mean.arguments.get("keepdims")
    if running == ():
        return
    if array is None or running is None or mean is None:
        yield unknown(span, "the shape of the array or of the running mean is not known")
    elif whole and len(array) > 1 and len(running) == 1 and running[0] != ONE and same(array[-1], running[0]):
        yield _swamped(one, shape_text(array), shape_text(running))
    elif grows and len(mean) > len(running) > 0 and all(map(same, running, mean[-len(running) :])):
        yield _grown(one, shape_text(mean), shape_text(running))
    else:
        yield proved(span, f"the mean is taken as the running one of {shape_text(running)} asks")


def _swamped(one: _Update, array: str, running: str) -> Obligation:
    name, mean = named(one.array, "the array"), named(one.running, "the running mean")
    return Obligation(
        one.mean.span,
        message=f"the mean of {name} over all axes moves {mean}, which has one entry for each feature",
        current=f"{name} is {array}; one number moves all of {mean} {running} alike",
        expected="the mean is taken over all axes but the last",
        steps=(Step(one.added.span, f"{mean} is moved by one number here"),),
        suggestion="give the mean and the variance `axis=0` (or all axes but the last)",
    )


def _grown(one: _Update, found: str, running: str) -> Obligation:
    name, mean = named(one.array, "the array"), named(one.running, "the running mean")
    return Obligation(
        one.mean.span,
        message=f"the mean of {name} keeps an axis that {mean} does not have, and {mean} takes it over",
        current=f"{mean} is {running} before and {found} from then on: statistics for each place along that axis",
        expected="the mean is taken over all axes that the running one does not have",
        steps=(Step(one.added.span, f"{mean} is replaced here"),),
        suggestion="reduce the other leading axes too, as in `axis=(0, 1)`",
    )
