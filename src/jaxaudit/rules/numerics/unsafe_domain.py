"""The rule `unsafe-domain`."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from math import inf, isinf

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import ahead, walk
from jaxaudit.analyses.ranges import Range, Ranges, range_text
from jaxaudit.analyses.ranges.dtypes import EXP_LIMIT
from jaxaudit.analyses.ranges.facts import EMPTY_BIN
from jaxaudit.analyses.ranges.validity import GROWTH, LOG, UNIT, Use, values_wanted
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import (
    AVERAGES,
    BOUNDS,
    COMPARISONS,
    EXTREMES,
    FINITE_AT_INFINITY,
    LINEAR,
    NAN_SKIPPING,
    NAN_TESTS,
    PICKED_POSITIONS,
    SCALINGS,
    SPREADS,
)
from jaxaudit.ir.ops import ELEMENTWISE, MOVING, SELECTED
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, named, proved, unknown

_REPLACES = NAN_TESTS | NAN_SKIPPING
"""Functions of somebody who has thought of NaN."""
_DEALS_WITH_INFINITY = _REPLACES | BOUNDS | COMPARISONS | EXTREMES | FINITE_AT_INFINITY | PICKED_POSITIONS

_STABLE = {"softmax": "`jax.nn.log_softmax`", "sigmoid": "`jax.nn.log_sigmoid`"}
"""Functions that underflow to 0, with those that give their logarithm."""


class UnsafeDomain(Rule):
    """A function is given numbers for which it has no finite value.

    ## What it does
    Follows between which numbers each value lies, and looks at logarithms, square roots, divisions, powers and inverse
    trigonometric functions. It is an error where ordinary inputs surely lead to a bad point: the logarithm of a
    `relu`, a division by `arange(n)`. It is a warning where a well-known coincidence does: an empty mask, a uniform
    draw of exactly 0, a probability that underflows, a cosine that rounding puts above 1, a batch of equals that is
    divided by its spread.

    ## Why is this bad?
    JAX raises nothing. One infinity or NaN in a sum spoils the loss, and after one step every parameter.

    ## Example
        loss = -jnp.sum(labels * jnp.log(jax.nn.relu(scores)))

    ## Use instead
        loss = -jnp.sum(labels * jnp.log(jax.nn.relu(scores) + 1e-6))

    ## When it cannot tell
    Of numbers that come from outside nothing is known: dividing by an argument is no obligation. A result that a
    `where`, an exponential or a maximum takes care of afterwards is left alone. Whether data that no transformed code
    divides by their spread are all alike is open.
    """

    summary = "A logarithm, root, division or power is given numbers for which it has no finite value."
    needs = (Ranges,)

    valid = """
    ## kept away from zero
    def loss(scores, labels, x, mask):
        scale = jax.nn.softplus(scores) + 1e-6
        count = jnp.maximum((mask > 0).sum(), 1)
        return jnp.log(scale).sum() + (x / scale).sum() / count + jnp.sqrt(x * x + 1.0).mean()

    ## infinities that are meant, or masked
    def mixed(x, keep):
        logits = x + jnp.log((keep > 0).astype(jnp.float32))
        return jax.nn.softmax(logits), jnp.where(x > 0, jnp.log(jax.nn.relu(x)), 0.0)

    ## nothing is known of the arguments
    def ratio(a, b):
        return a / b, jnp.log(a), jnp.sqrt(a - b)
    """
    invalid = """
    ## the logarithm of a relu
    def loss(scores, labels):
        kept = jax.nn.relu(scores)
        return -jnp.sum(labels * jnp.log(kept))  #!

    ## the first count is zero
    def running_mean(x):
        return jnp.cumsum(x) / jnp.arange(x.shape[0])  #!

    ## masked probabilities are zero
    def entropy(scores, mask):
        p = jax.nn.softmax(jnp.where(mask, scores, -1e9))
        return -jnp.sum(p * jnp.log(p), axis=-1)  #!

    ## nothing times infinity
    def attend(scores, valid):
        bias = (valid > 0) * -jnp.inf  #!
        return jax.nn.softmax(scores + bias)

    ## coincidences that happen
    def gumbel(key, x, target):
        u = jax.random.uniform(key, x.shape)
        noise = -jnp.log(-jnp.log(u))  #?
        mask = target > 0
        return (x * mask).sum() / mask.sum() + noise.sum()  #?

    ## a batch of one, or of equals
    @jax.jit
    def standardised(x):
        return jnp.minimum((x - x.mean()) / x.std(), 1.0)  #?
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every function with a domain whose argument something is known of."""
        ranges, flow = facts.get(Ranges), facts.flow
        uses = (use for op in program.named("array.map") if _is_by_hand(op) for use in values_wanted(op))
        yield from (one for use in uses for one in _judge(use, ranges, flow))
        yield from _masks_times_infinity(program, ranges, flow)


def _is_by_hand(op: Op) -> bool:
    """Whether the user wrote this very function or an operator, and no library or derivative is made of it."""
    traced_division = op.function == "divide" and not (op.api or op.is_operator or op.qualified.startswith("jax."))
    return not op.is_inner and not op.is_derived and not traced_division


def _judge(use: Use, ranges: Ranges, flow: Flow) -> Iterator[Obligation]:
    known = ranges.of(use.argument)
    if use.domain.safe(known):
        if use.domain is GROWTH and _limit(use, ranges) < known.high:
            yield _overflows(use, known, ranges)
        elif known.constant is None and range_text(known):
            name = named(use.argument, "the argument")
            yield proved(use.op.span, f"{name} is {range_text(known)}, and {use.function} wants {use.domain.wants}")
    elif use.domain.wrong(known) and not known.nan and known.constant is None:
        yield _always(use, known)
    elif use.domain.bad_at_zero and known.zero is not None and known.has_zero:
        yield from _at_zero(use, known, ranges, flow)
    elif (warning := _by_rounding(use, known, ranges, flow)) is not None:
        yield warning
    elif use.domain.bad_at_zero:
        reason = f"whether {named(use.argument, 'the argument')} of {use.function} is {use.domain.wants} is not known"
        yield unknown(use.op.span, reason)


def _always(use: Use, known: Range) -> Obligation:
    return Obligation(
        use.op.span,
        message=f"{use.function} of {named(use.argument, 'a value')}, which is {range_text(known)}, is NaN",
        current=f"the argument is never {use.domain.wants}",
        expected=f"an argument that is {use.domain.wants}",
    )


def _at_zero(use: Use, known: Range, ranges: Ranges, flow: Flow) -> Iterator[Obligation]:
    zero = known.zero
    assert zero is not None
    standardises = _standardises(use, flow)
    if standardises and not _is_transformed(use.op, flow):
        yield unknown(use.op.span, f"whether the data are prepared once, or {zero.reason}, is not known")
        return
    known_trouble = standardises or (zero.noted and (use.domain is LOG or known.counts))
    guarded = use.domain.safe(ranges.within(flow.holder(use.op), use.op, use.argument))
    if not (zero.ordinary or known_trouble) or guarded or _for_some_ranks(use, flow):
        return
    if zero.assumed and not _is_direct(use, ranges, flow):
        return
    # Who divides by a number of things may know that there are some; the logarithm of frequencies meets them all.
    sure = zero.ordinary or (use.domain is LOG and zero.reason == EMPTY_BIN.reason)
    fate, mixer = _fate_of(use.op.results[0], flow, fixed=zero.fixed)
    # Nothing but a choice, or somebody who has thought of NaN, cures 0 / 0.
    spreads = standardises and mixer is not None and mixer.function in BOUNDS | EXTREMES
    if (fate is _Fate.CURED and not spreads) or (fate is _Fate.OPEN and use.domain is LOG):
        return
    name = named(use.argument, "its argument")
    doing = "division by" if use.function == "division" else f"{use.function} of"
    yield Obligation(
        use.op.span,
        severity=Severity.ERROR if sure else Severity.WARNING,
        message=f"{doing} {name}, which {'is' if sure else 'may be'} 0: {zero.reason}",
        current=use.domain.bad_at_zero,
        expected=f"an argument that is {use.domain.wants}",
        steps=(Step(mixer.span, "the result is mixed with others here"),) if fate is _Fate.MIXED and mixer else (),
        suggestion=_remedy(use, known),
    )


def _standardises(use: Use, flow: Flow) -> bool:
    """Whether deviations from a mean are divided by the spread around it: 0 / 0 where all are alike."""
    spread, deviation = flow.maker(use.argument), flow.maker(use.op.operands[0])
    if spread is None or deviation is None or spread.function not in SPREADS or deviation.function != "subtract":
        return False
    array, centre = deviation.value("x"), deviation.value("y")
    mean = None if centre is None else flow.maker(centre)
    averaged = mean is not None and mean.function in AVERAGES and mean.operands[:1] == spread.operands[:1] == (array,)
    return averaged and use.argument is not use.op.operands[0]


def _is_transformed(op: Op, flow: Flow) -> bool:
    """Whether JAX transforms the code around an op, which then meets one batch after the other."""
    return any(
        holder is not None and not holder.name.startswith("py.")
        for _, holder in flow.places.up(flow.places.region_of[op])
    )


def _is_direct(use: Use, ranges: Ranges, flow: Flow) -> bool:
    """Whether the argument is itself what was cut off at zero, rather than something computed from that."""
    maker = flow.maker(use.argument)
    if maker is None or maker.name not in ELEMENTWISE:
        return False
    given = [one for one in maker.arguments.values() if isinstance(one, Value)]
    return all(ranges.of(one).zero is None for one in given)


def _remedy(use: Use, known: Range) -> str:
    name = use.argument.name or "x"
    if known.counts:
        return f"`jnp.maximum({name}, 1)` as the divisor"
    if known.zero is not None and not (known.zero.ordinary or known.zero.noted):
        return "add a small number to the divisor: `/ (x.std() + 1e-8)`"
    if use.domain is LOG and known.zero is not None and known.zero.noted:
        return "draw with `minval=jnp.finfo(jnp.float32).tiny`"
    return f"keep it away from 0: `jnp.maximum({name}, 1e-6)`, or replace zeros by `jnp.where` before this"


def _for_some_ranks(use: Use, flow: Flow) -> bool:
    """Whether an `if` on the number of axes stands around it: what is zero may only come to its other side."""
    holders = [holder for _, holder in flow.places.up(flow.places.region_of[use.op])]
    branches = [holder for holder in holders if holder is not None and holder.name == "py.branch"]
    asked = [made for branch in branches for value in branch.operands if (made := flow.maker(value)) is not None]
    asked += [made for op in asked for value in op.operands if (made := flow.maker(value)) is not None]
    return any(op.name == "array.shape" for op in asked)


def _by_rounding(use: Use, known: Range, ranges: Ranges, flow: Flow) -> Obligation | None:
    """Warn of values that are safe on paper and not in floating point."""
    if use.domain is UNIT and known.unit:
        return _warning(use, "is a cosine, which rounding puts above 1: the result is NaN", "clip it to [-1, 1]")
    if use.domain is GROWTH and _limit(use, ranges) < known.high < inf:
        return _overflows(use, known, ranges)
    maker = flow.maker(use.argument)
    if use.domain is LOG and maker is not None and maker.function in _STABLE and known.low == 0:
        fate, _ = _fate_of(use.op.results[0], flow)
        if fate is not _Fate.CURED:
            better = f"{_STABLE[maker.function]} of the logits"
            return _warning(use, f"comes from `{maker.function}` and underflows to 0", better)
    return None


def _limit(use: Use, ranges: Ranges) -> float:
    return EXP_LIMIT.get(ranges.known.dtype(use.op.results[0]) or "", EXP_LIMIT["float32"])


def _overflows(use: Use, known: Range, ranges: Ranges) -> Obligation:
    limit = _limit(use, ranges)
    return _warning(use, f"goes up to {known.high:g}: above {limit:g} it is infinite", f"clip at {limit:g} or below")


def _warning(use: Use, what: str, suggestion: str) -> Obligation:
    return Obligation(
        use.op.span,
        severity=Severity.WARNING,
        message=f"{use.function} of {named(use.argument, 'a value')}, which {what}",
        current=use.domain.bad_at_zero or "the result is not a finite number",
        expected=f"an argument that is {use.domain.wants}",
        suggestion=suggestion,
    )


class _Fate(Enum):
    """What becomes of a value."""

    CURED = "cured"
    """Something on its way deals with infinities: it is meant."""
    MIXED = "mixed"
    """It is summed up or multiplied with others: one infinity spoils all."""
    OPEN = "open"
    """It leaves, or goes where nobody can follow."""


def _fate_of(value: Value, flow: Flow, *, fixed: bool = False) -> tuple[_Fate, Op | None]:
    """Follow a result to the op that decides what its infinities do; a selection may leave out a `fixed` one."""
    mixer = None
    for current in walk((value,), lambda one: ahead(flow, one, _hands_on)):
        for op in flow.readers.get(current, ()):
            fate = _Fate.CURED if fixed and op.name in (*SELECTED, "py.set_item") else _fate_in(op, current)
            if fate is _Fate.CURED:
                return fate, op
            if fate is _Fate.MIXED:
                # A product may still be masked later on.
                mixer = mixer or op
    return (_Fate.OPEN if mixer is None else _Fate.MIXED), mixer


def _fate_in(op: Op, value: Value) -> _Fate:
    if op.is_derived:
        return _Fate.OPEN
    if op.name in ("array.select", "key.draw", "array.order", "array.scatter", "array.at"):
        return _Fate.CURED
    called = op.callee.rpartition(".")[2] if op.name == "py.call_unknown" else op.function
    if called in _DEALS_WITH_INFINITY:
        return _Fate.CURED
    if op.name in ("array.reduce", "array.dot"):
        return _Fate.MIXED if op.arguments.get("where") is None else _Fate.CURED
    if op.name == "array.map" and op.function in ("log", "sqrt"):
        return _Fate.MIXED
    others = [one for one in op.arguments.values() if one is not value]
    scales = op.name == "array.map" and op.function in SCALINGS
    return _Fate.MIXED if scales and any(isinstance(one, Value) for one in others) else _Fate.OPEN


def _hands_on(op: Op) -> bool:
    scales = op.name == "array.map" and op.function in LINEAR | SCALINGS | {"abs"}
    return scales or op.name in MOVING or op.name == "py.join"


def _masks_times_infinity(program: Program, ranges: Ranges, flow: Flow) -> Iterator[Obligation]:
    """Return every product of a mask and infinity: zero times infinity is no zero but NaN."""
    for op in program.mapping("multiply"):
        values = [one for one in op.arguments.values() if isinstance(one, Value)]
        infinite = any(isinstance(one, float) and isinf(one) for one in op.arguments.values())
        if op.is_derived or not infinite or len(values) != 1 or not _has_zeros(values[0], ranges, flow):
            continue
        readers = flow.readers.get(op.results[0], ())
        if any(reader.name == "array.select" or reader.function in _REPLACES for reader in readers):
            continue
        yield Obligation(
            op.span,
            message=f"{named(values[0], 'a mask')} times infinity is NaN wherever it is 0",
            current="0 times infinity is NaN, not 0",
            expected="infinity where the mask says so, and 0 elsewhere",
            suggestion="`jnp.where(mask, jnp.inf, 0.0)`",
        )


def _has_zeros(value: Value, ranges: Ranges, flow: Flow) -> bool:
    """Whether a value is a mask, or what a mask leaves over: `1 - mask`."""
    op = flow.maker(value)
    rest = op.arguments.get("y") if op is not None and op.function == "subtract" else None
    inverts = op is not None and isinstance(rest, Value) and op.arguments.get("x") in (1, 1.0)
    known = ranges.of(rest if inverts and isinstance(rest, Value) else value)
    return known.is_mask and known.constant is None
