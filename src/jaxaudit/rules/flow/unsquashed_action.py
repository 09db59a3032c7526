"""The rule `unsquashed-action`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.elements import whole_of
from jaxaudit.analyses.meaning.samples import Sample, readers, samples
from jaxaudit.analyses.meaning.squashing import Squashing, densities, is_tanh, squashings, uses
from jaxaudit.ir import Op, Program, Region, Value
from jaxaudit.ir.interfaces import inside_of
from jaxaudit.ir.ops import BRANCHES
from jaxaudit.rules.base import Obligation, Rule, Step, proved
from jaxaudit.spans import Span


class UnsquashedAction(Rule):
    """A raw sample is handed on where `tanh` squashes its kin.

    ## What it does
    Follows samples of a normal distribution. Where a choice is made between the raw sample and the squashed centre of
    its distribution (explore, or act greedily), both should be squashed. Where a sample is squashed for its
    log-probability alone, and the raw one enters a network, the wrong one was handed on.

    ## Why is this bad?
    The action leaves the bounds that `tanh` is there to keep. The environment clips it, or goes where it never should,
    and the policy is trained for actions that were not taken.

    ## Example
        noisy = mean + std * jax.random.normal(key, mean.shape)
        return jnp.where(explore, noisy, jnp.tanh(mean))

    ## Use instead
        noisy = mean + std * jax.random.normal(key, mean.shape)
        return jnp.tanh(jnp.where(explore, noisy, mean))

    ## When it cannot tell
    Where nothing squashes the sample or its centre, there is nothing to judge.
    """

    summary = "The raw sample of a policy is handed on, though it is squashed elsewhere."

    valid = """
    ## both are squashed
    def act(w, obs, key, explore):
        mean = obs @ w
        noisy = mean + 0.3 * jax.random.normal(key, mean.shape)
        return jnp.where(explore, jnp.tanh(noisy), jnp.tanh(mean))
    """
    invalid = """
    ## only the mean is squashed
    def act(w, obs, key, explore):
        mean = obs @ w
        noisy = mean + 0.3 * jax.random.normal(key, mean.shape)  #!
        return jnp.where(explore, noisy, jnp.tanh(mean))
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every sample that is squashed, or whose sibling is."""
        for sample in samples(facts.flow):
            yield from _beside_squashed(sample, facts)
        for one in squashings(facts):
            taker = _taken_raw(one, facts.flow) if one.alone else None
            if taker is None:
                yield proved(one.op.span, "the sample is squashed before it is handed on")
            else:
                yield _finding(taker, one.op)


def _taken_raw(squashing: Squashing, flow: Flow) -> Op | None:
    """Return what takes the raw sample into a network, where the squashed one serves its log-probability alone."""
    found, action = list(densities(flow, squashing.raw, squashing.sample)), uses(flow, squashing.action)
    if not found or not action.logarithms or action.others:
        return None
    takers = (op for value in squashing.raw for op in readers(flow, value))
    return next((op for op in takers if op.name in ("array.join", "array.dot")), None)


def _beside_squashed(sample: Sample, facts: Facts) -> Iterator[Obligation]:
    """Judge choices between a raw sample and the squashed centre of its distribution."""
    flow = facts.flow
    for value, centres in sample.centres.items():
        for other, joined in _beside(facts, value) if centres else ():
            squash = flow.maker(whole_of(flow, other))
            if squash is None or not is_tanh(squash) or any(map(is_tanh, readers(flow, joined))):
                continue
            centre = whole_of(flow, squash.operands[0])
            if any(centre is one or _is_same_place(flow, centre, one) for one in centres):
                yield _finding(flow.maker(value) or sample.draw, squash)


def _is_same_place(flow: Flow, first: Value, second: Value) -> bool:
    """Whether two values are made by one expression, in two calls of its function."""
    one, other = flow.maker(first), flow.maker(second)
    return one is not None and other is not None and one.name == other.name and one.span == other.span


def _beside(facts: Facts, value: Value) -> Iterator[tuple[Value, Value]]:
    """Return what stands in the other paths of a choice, and the choice; calls of one function are a choice too."""
    flow = facts.flow
    for op in readers(flow, value):
        if op.name in ("py.join", "array.select") and op.results:
            yield from ((one, op.result) for one in op.operands if one is not value)
    for region in flow.leaving.get(value, ()):
        holder, at = flow.places.holder.get(id(region)), region.results.index(value)
        if holder is not None and holder.name in BRANCHES and at < len(holder.results):
            yield from ((one, holder.results[at]) for _, one in inside_of(holder, at) if one is not value)
        elif region.kind == "function":
            bodies = _bodies(facts)[region.label, region.span]
            sides = [one for one in bodies if one is not region and len(one.results) == len(region.results)]
            yield from ((side.results[at], side.results[at]) for side in sides)


@remembered
def _bodies(facts: Facts) -> dict[tuple[str, Span], list[Region]]:
    """Return the bodies of every function, one for each kind of call."""
    found: dict[tuple[str, Span], list[Region]] = {}
    for region in facts.program.regions():
        if region.kind == "function":
            found.setdefault((region.label, region.span), []).append(region)
    return found


def _finding(taker: Op, squash: Op) -> Obligation:
    return Obligation(
        taker.span,
        message="the raw sample is handed on, though it is squashed elsewhere",
        current="the action leaves the bounds that `tanh` is there to keep",
        expected="the squashed sample is handed on",
        steps=(Step(squash.span, "the sample is squashed here"),),
        suggestion="hand on `jnp.tanh(...)` of the sample",
    )
