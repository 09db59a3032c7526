"""The rule `uneven-discount`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.products import Product
from jaxaudit.analyses.lineage.returns import Flag, Return, returns
from jaxaudit.analyses.queries import depends, made_by, operands_of, walk
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.record import record
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, named, proved, unknown
from jaxaudit.rules.envs._shared.next_values import Pair, pairs, written

_PROGRAM = """
def advantages(rewards, dones, values, last_value, gamma, lam):
    def step(carry, x):
        gae, next_value = carry
        reward, done, value = x
        delta = reward + {first}next_value * (1 - done) - value{at_delta}
        gae = delta + {second}(1 - done) * gae{mark}
        return (gae, value), gae

    start = (jnp.zeros_like(last_value), last_value)
    return jax.lax.scan(step, start, (rewards, dones, values), reverse=True)[1]
"""

_OUTSIDE = """
def advantages(config, rewards, discounts, values):
    deltas = rewards + {first}values[1:] - values[:-1]

    def step(total, x):
        delta, discount = x
        total = delta + {second}total{mark}
        return total, total

    return jax.lax.scan(step, 0.0, (deltas, discounts), reverse=True)[1]
"""

_SETTINGS = """
def make(config):
    def advantages(rewards, values, last_value):
        def step(carry, x):
            total, later = carry
            reward, value = x
            delta = reward + {first}later - value{at_delta}
            total = delta + {second}total{mark}
            return (total, value), total

        return jax.lax.scan(step, (0.0, last_value), (rewards, values), reverse=True)[1]

    return advantages


run = jax.jit(make({{"gamma": 0.99, "lam": 0.95}}))
"""

_LOOP = """
def advantages(rewards, values, gamma, lam):
    total, out, steps = 0.0, [], rewards.shape[0]
    for t in reversed(range(steps)):
        delta = rewards[t] + {first}values[t + 1] - values[t]{at_delta}
        total = delta + {second}total{mark}
        out.append(total)
    return jnp.stack(out[::-1])
"""


class UnevenDiscount(Rule):
    """The next value is discounted, and what was added up so far is not, or the other way round.

    ## What it does
    Looks at every sum over the steps to come in which a value is taken away and that of the next step is added:
    advantages, however they are written. A step later counts less by the discount, whichever way it comes in: what
    makes the next value count less is a factor of what was added up so far, too, which may count less still.

    ## Why is this bad?
    An advantage is a weighted mean of sums of one, two and more steps. Where the discount is missing in one place they
    are sums of different things: the advantages of a good value function are not zero. Shapes fit, and nothing is
    raised.

    ## Example
        delta = reward + next_value * (1 - done) - value
        total = delta + gamma * lam * (1 - done) * total

    ## Use instead
        delta = reward + gamma * next_value * (1 - done) - value

    ## When it cannot tell
    Where what was added up so far counts less by another number, the discount may be a factor of that: a warning, or
    open where both are plain numbers.
    """

    summary = "What comes a step later is discounted in one place of a sum, and not in another."
    needs = ()

    valid = (
        Example(_PROGRAM.format(first="gamma * ", second="gamma * lam * ", at_delta="", mark=""), "both"),
        Example(_PROGRAM.format(first="gamma * ", second="gamma * ", at_delta="", mark=""), "all steps to come"),
        Example(_PROGRAM.format(first="0.99 * ", second="0.99 * lam * ", at_delta="", mark=""), "by a number"),
        Example(_PROGRAM.format(first="0.99 * ", second="0.9405 * ", at_delta="", mark=""), "multiplied beforehand"),
        Example(_PROGRAM.format(first="", second="lam * ", at_delta="", mark=""), "no discount"),
        Example(
            _OUTSIDE.format(first="config['gamma'] * ", second="config['lam'] * config['gamma'] * ", mark=""), "read"
        ),
        Example(_OUTSIDE.format(first="discounts * ", second="0.9 * discount * ", mark=""), "one for each step"),
        Example(_LOOP.format(first="gamma * ", second="gamma * lam * ", at_delta="", mark=""), "in a loop"),
        Example(
            _SETTINGS.format(
                first="config['gamma'] * ", second="config['gamma'] * config['lam'] * ", at_delta="", mark=""
            ),
            "of known numbers",
        ),
        Example(_OUTSIDE.format(first="", second="config['lam'] * discount * ", mark=""), "weights of the steps"),
    )
    invalid = (
        Example(_PROGRAM.format(first="", second="gamma * lam * ", at_delta="  #!", mark=""), "not the next value"),
        Example(_PROGRAM.format(first="gamma * ", second="", at_delta="", mark="  #!"), "not what was added up"),
        Example(_PROGRAM.format(first="gamma * ", second="lam * ", at_delta="", mark="  #?"), "by another number"),
        Example(_PROGRAM.format(first="0.9 * ", second="0.95 * ", at_delta="", mark="  #!"), "less than a step"),
        Example(_OUTSIDE.format(first="config['gamma'] * ", second="config['lam'] * ", mark="  #?"), "read"),
        Example(
            _SETTINGS.format(first="config['gamma'] * ", second="config['lam'] * ", at_delta="", mark="  #?"),
            "by another known number",
        ),
        Example(_LOOP.format(first="", second="gamma * lam * ", at_delta="  #!", mark=""), "in a loop"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every next value of a sum over the steps to come."""
        for one in returns(program, facts.flow):
            for pair in pairs(one):
                if pair.next.shift > pair.at.shift:
                    yield from _judged(pair, facts)


@record
class _Share:
    """What makes one part of a sum count less, but for the flags that stop it."""

    number: float
    """A number that nothing says the origin of."""
    factors: Mapping[object, str]
    """What it is scaled by, with names for it."""
    written: Sequence[Value] = ()
    """The factors that are values."""


def _share(one: Return, part: Product, but: Value, program: Program) -> _Share:
    rest = Product(1.0, tuple(factor for factor in part.factors if factor is not but), part.masks, part.unless)
    plain = [flag for flag in one.flags(rest) if not flag.ends and flag.written in rest.factors]
    values = {flag.moment.series: _name(flag) for flag in plain}
    reads = {(op.owner, op.label): f"`{op.label}`" for op in _settings(but, one.sums.flow, program)}
    number = 1.0 if reads else part.coefficient
    return _Share(number, {**values, **(reads if part.coefficient != 1.0 else {})}, [flag.written for flag in plain])


def _name(flag: Flag) -> str:
    path = flag.moment.path
    return f"`{path[-1]}`" if path else named(flag.moment.value, named(flag.written, "a factor"))


def _settings(value: Value, flow: Flow, program: Program) -> Iterator[Op]:
    """Return the reads of settings whose numbers a value is multiplied by."""
    scaled = walk((value,), lambda one: made_by(flow, one, _multiplies))
    ops = map(flow.maker, walk(scaled, lambda one: operands_of(flow, one, _multiplies)))
    spans = [op.span for op in ops if op is not None and _multiplies(op) and len(op.operands) == 1]
    return (op for op in program.named("py.read") if any(span.covers(op.span) for span in spans))


def _multiplies(op: Op) -> bool:
    return op.name == "array.map" and op.function == "multiply"


def _judged(pair: Pair, facts: Facts) -> Iterator[Obligation]:
    one = pair.sum
    later, kept = _share(one, pair.part, pair.later, facts.program), _share(one, one.kept, one.carry, facts.program)
    missing = [name for key, name in later.factors.items() if key not in kept.factors]
    more = [name for key, name in kept.factors.items() if key not in later.factors]
    span, is_open = one.update.span, any(depends(facts.flow, each, one.course.elements) for each in kept.written)
    if later.number == 1.0 and not later.factors:
        if len(more) + (kept.number != 1.0) > 1 and not is_open:
            yield _undiscounted(pair, [*more, *([f"{kept.number:g}"] if kept.number != 1.0 else [])], facts)
    elif not missing and later.number in (1.0, kept.number):
        yield proved(span, "what was added up so far counts less by what the next value counts less by")
    elif not more and (later.number < kept.number if not missing else kept.number == 1.0):
        yield _not_less(pair, missing or [f"{later.number:g}"], Severity.ERROR, facts)
    elif missing and kept.number == 1.0 and not is_open:
        yield _not_less(pair, missing, Severity.WARNING, facts)
    else:
        yield unknown(span, "whether the discount of the next value is a part of what scales the sum is not known")


def _undiscounted(pair: Pair, scales: Sequence[str], facts: Facts) -> Obligation:
    both = " and ".join(scales)
    return Obligation(
        written(pair, facts.flow).span,
        message=f"the next value counts in full here, and what was added up so far is scaled by {both}",
        current="what comes after the next step is discounted, and the value of the next step is not",
        expected="both are discounted by the same number",
        steps=(Step(pair.sum.update.span, f"what was added up so far is scaled by {both} here"),),
        suggestion=f"multiply the next value by the discount, {' or '.join(scales)}",
    )


def _not_less(pair: Pair, missing: Sequence[str], severity: Severity, facts: Facts) -> Obligation:
    discount = " and ".join(missing)
    return Obligation(
        pair.sum.update.span,
        severity=severity,
        message=f"the next value is discounted by {discount}, and what was added up so far is not",
        current="what comes after the next step counts more than the value of the next step",
        expected=f"{discount} is a factor of what was added up so far, too",
        steps=(Step(written(pair, facts.flow).span, f"the next value is discounted by {discount} here"),),
        suggestion=f"multiply what was added up so far by {discount}",
    )
