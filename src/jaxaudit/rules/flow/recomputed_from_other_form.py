"""The rule `recomputed-from-other-form`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import Context, Origin, contexts, origin, same
from jaxaudit.analyses.queries import depends, taken_apart
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import DENSITIES, DRAWN_WITH_DENSITY
from jaxaudit.ir.interfaces import Loop, Part
from jaxaudit.ir.ops import UNFOLLOWED
from jaxaudit.ir.record import mutable, record
from jaxaudit.rules.base import Example, Obligation, Rule, Step, proved
from jaxaudit.spans import Span

_DRAWS = UNFOLLOWED | {"key.draw", "key.split", "key.seed", "key.fold_in"}

_ROLLOUT = """
def score(w, x, a):
    return jnp.tanh(x @ w) * a

def whiten(x):
    return (x - 5.0) / 20.0

def rollout(w, state, key):
    def step(state, key):
        obs = state * 2.0
        seen = whiten(obs)
        a = jax.random.normal(key, (3,))
        return state + a, ({stored}, a, score(w, seen, a))
    return jax.lax.scan(step, state, jax.random.split(key, 9))

def train(w, state, key):
    _, (x, a, old) = rollout(w, state, key)
    return jnp.exp(score(w, x, a) - old).mean(){mark}
"""


class RecomputedFromOtherForm(Rule):
    """Something is computed again from another form of what its stored value was computed from.

    ## What it does
    Finds differences and ratios of `f(params, x, a)` with the `f` that was stored in each step of a scan. Both
    computations must start from the same stored values. If one began with a normalised observation, a squashed action
    or another form of what was stored, they part.

    ## Why is this bad?
    The ratio of a policy to its old self must be one before the first update. If the rollout acts on normalised
    observations and stores the raw ones, it never is, and nothing is raised.

    ## Example
        logp = log_prob(params, whiten(obs), action)
        return state, Transition(obs, action, logp)

    ## Use instead
        obs = whiten(obs)
        logp = log_prob(params, obs, action)
        return state, Transition(obs, action, logp)

    ## When it cannot tell
    When either computation goes through code that is not followed, or a value comes from outside, it is left open.
    """

    summary = "A stored value is compared with one that is computed from another form of its inputs."

    valid = (Example(_ROLLOUT.format(stored="seen", mark=""), "the same form"),)
    invalid = (Example(_ROLLOUT.format(stored="obs", mark="  #!"), "raw values are stored"),)

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every stored value that is set against the same computation."""
        met = (op for op in program.mapping("subtract", "divide") if len(op.operands) == 2)
        yield from (one for op in met for one in _judge(op, facts.flow))


def _judge(op: Op, flow: Flow) -> Iterator[Obligation]:
    first, second = op.operands
    for context in contexts(flow, op):
        for stored, again in ((second, first), (first, second)):
            found = _compare(flow, stored, again, context)
            if found is None or not found.shared:
                continue
            if not found.partings:
                yield proved(op.span, "both are computed from the very values that were stored")
            elif len(found.partings) == 1 and _is_related(found.partings[0], flow):
                yield _finding(op, found.partings[0], _stored(found.partings[0].now))


def _is_related(parting: _Parting, flow: Flow) -> bool:
    """Whether one of the two values is a form of the other, made in the same step."""
    then, now = parting.then.value, parting.now.value
    return depends(flow, then, (now,)) or depends(flow, now, (then,))


def _stored(now: Origin) -> Op | None:
    """Return where a step puts a value into what is stored."""
    inside = [op for scan in now.stacked for op in Loop(scan).body.walk()]
    given = [op for op in inside if now.value in (*op.operands, *(op.replaced or {}).values())]
    return next((op for name in ("py.record", "py.append", "py.return") for op in given if op.name == name), None)


def _finding(op: Op, parting: _Parting, stored: Op | None) -> Obligation:
    then = f"`{parting.then.name}`" if parting.then.name else "another form of it"
    now = f"`{parting.now.name}`" if parting.now.name else "the stored value"
    return Obligation(
        op.span,
        message=f"this was first computed from {then}, but is computed again from {now}",
        current=f"{now} is what was stored, while the stored result was computed from {then}",
        expected="both computations start from the same values",
        steps=(
            Step(_place(parting.then), f"when it was stored, {then} was used"),
            Step(_place(parting.now), f"what was stored is {now}"),
            *((Step(stored.span, f"{now} is stored here"),) if stored is not None else ()),
        ),
        suggestion=f"store {then}, or apply the same function to {now} before it is used again",
    )


def _place(origin: Origin) -> Span:
    return origin.value.span if origin.op is None else origin.op.span


@record
class _Parting:
    """Where the two computations part: what was used when it was stored, and what is used now."""

    then: Origin
    now: Origin


@mutable
class _Comparison:
    """What came of walking two computations side by side."""

    shared: list[Value] = field(default_factory=list)
    """Stored values that both use."""
    partings: list[_Parting] = field(default_factory=list)


def _compare(flow: Flow, stored: Value, again: Value, context: Context) -> _Comparison | None:
    """Compare how a stored value was computed with how another is computed; None when nothing was stored."""
    then = origin(flow, stored, context)
    if not then.stacked or then.op is None:
        return None
    found, scans = _Comparison(), set(then.stacked)
    compared: set[tuple[Value, Value]] = set()
    pending = [(then, origin(flow, again, context))]
    while pending:
        before, now = pending.pop()
        if (before.value, now.value) in compared:
            continue
        compared.add((before.value, now.value))
        # What another scan stacks is computed there, not stored by the one that made the value.
        recorded = not scans.isdisjoint(now.stacked)
        if same(flow, before, now):
            found.shared += [now.value] if recorded else []
        elif recorded:
            found.partings.append(_Parting(before, now))
        else:
            pairs = [*zip(*_made_of(flow, before, now), strict=False)]
            pending += [(origin(flow, x, before.context), origin(flow, y, now.context)) for x, y in reversed(pairs)]
    return found


def _made_of(flow: Flow, before: Origin, now: Origin) -> tuple[Sequence[Value], Sequence[Value]]:
    """Return what two values were made of in the same way, each in the same order; nothing where they were not."""
    if before.op is not None and now.op is not None and _alike(before.op, now.op):
        return before.op.operands, now.op.operands
    first, second = _density(flow, before), _density(flow, now)
    return (first, second) if first and second else ((), ())


def _density(flow: Flow, one: Origin) -> Sequence[Value]:
    """Return the distribution whose density a value is, and where: at a value that is given, or at its own sample."""
    op = one.op
    if op is not None and op.function in DENSITIES and len(op.operands) == 2 and op.value("self") is not None:
        return op.operands
    part = Part.of(op, one.value)
    draw = None if part is None else flow.maker(part.whole)
    if part is None or draw is None or draw.function not in DRAWN_WITH_DENSITY or part.at != 1:
        return ()
    distribution, sample = draw.value("self"), taken_apart(flow, part.whole).get(0)
    return () if distribution is None or sample is None else (distribution, sample)


def _alike(first: Op, second: Op) -> bool:
    """Whether two ops do the same with their operands."""
    return (
        first.name == second.name
        and first.name not in _DRAWS
        and len(first.operands) == len(second.operands)
        and first.qualified == second.qualified
        and first.operator == second.operator
    )
