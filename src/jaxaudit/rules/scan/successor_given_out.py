"""The rule `successor-given-out`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import behind, depends, operands_of, walk
from jaxaudit.analyses.versions import Ground, Versions
from jaxaudit.ir import Program, Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, Subject, named, proved, unknown
from jaxaudit.rules.scan._shared.sums import adds, terms_of


class SuccessorGivenOut(Rule):
    """What a turn of a scan makes of its state is given out, and something else is carried on.

    ## What it does
    Looks at every part of a scan's state beside what the turns give out. The next turn has to start from what this one
    made of the part, and not from something else or from the part as it came in, while the newer one is stacked.

    ## Why is this bad?
    A body returns the carry first and the output second. Exchanged, or with the old part in the first place, each turn
    starts from the wrong value; where types fit, nothing is raised.

    ## Example
        def cell(h, x):
            h = jnp.tanh(h + x)
            return h.sum(), h

    ## Use instead
        def cell(h, x):
            h = jnp.tanh(h + x)
            return h, h.sum()

    ## When it cannot tell
    What is given out may be meant to be looked at alone, so findings are warnings, unless all other parts are given out
    as they are carried on, and what stays behind had something added to it that was computed from it. Where the way in
    which an output is made does not tell that it is a newer part, it is left open.
    """

    summary = "What a turn of a scan makes of its state is given out, and not carried on."
    needs = (Versions,)

    valid = """
    ## carried on, and given out too
    def run(h, xs):
        def cell(h, x):
            h = h.at[0].add(x)
            return h, h.sum()

        return jax.lax.scan(cell, h, xs)

    ## a part that is computed from what is given out
    def run(h, xs):
        def cell(h, x):
            new_h = h.at[0].add(x)
            return jnp.where(x > 9, 0.0, new_h), new_h

        return jax.lax.scan(cell, h, xs)

    ## parameters that are handed through
    def run(params, xs):
        return jax.lax.scan(lambda params, x: (params, params @ x), params, xs)
    """
    invalid = """
    ## exchanged
    def run(h, xs):
        def cell(h, x):
            h = h.at[0].add(x)
            return h.sum(), h

        return jax.lax.scan(cell, h, xs)  #?

    ## one of two parts stays behind
    def run(mean, spread, xs):
        def step(carry, x):
            mean, spread = carry
            next_mean = jnp.tanh(mean @ x)
            wider = spread * jnp.sum(next_mean)
            return (next_mean, spread), (next_mean, wider)

        return jax.lax.scan(step, (mean, spread), xs)  #?

    ## a step that is taken from where the first one began
    def run(price, level, shocks):
        def turn(carry, shock):
            price, level = carry
            price = price * jnp.exp(level * shock)
            later = level + 0.1 * (1.0 - level) + jnp.sqrt(level) * shock
            return (price, level), (price, later)

        return jax.lax.scan(turn, (price, level), shocks)  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every part of the state of every scan that gives something out."""
        for op in program.named("scan"):
            loop = None if op.is_derived or op.library else Loop.of(op)
            if loop is not None and loop.stacked:
                yield from (_judge(loop, param, following, facts) for param, following in loop.successors)


def _judge(loop: Loop, param: Value, following: Value, facts: Facts) -> Obligation:
    flow, span, name = facts.flow, loop.op.span, named(param, "a part of the state")
    given = [one for one, _ in loop.stacked if one not in (param, following)]
    if _succeeds(following, param, facts):
        return proved(span, f"what a turn makes of {name} is carried on")
    beside = _left_behind(loop, param, following, facts)
    newer = next((one for one in given if _succeeds(one, param, facts)), beside)
    kept = {*_made_of(following, flow)} - {following}
    if newer is None or not kept.isdisjoint((newer, param)):
        return unknown(span, f"which of the results of a turn is the next {name} is not known")
    sure = newer is beside and _is_step(newer, param, flow)
    return _finding(loop, param, following, newer, Severity.ERROR if sure else Severity.WARNING)


def _is_step(newer: Value, param: Value, flow: Flow) -> bool:
    """Whether a value is a part of the state, and added to it what was computed from that part itself."""
    terms = terms_of(newer, flow)
    added = [one for one in terms if one is not param and not operands_of(flow, one, adds)]
    return param in terms and any(depends(flow, one, (param,)) for one in added)


def _made_of(value: Value, flow: Flow) -> Iterator[Value]:
    """Return what a value was computed from as a whole: a sum of a state is no state any more."""
    return walk((value,), lambda one: behind(flow, one, lambda op: op.name not in ("array.reduce", "array.dot")))


def _succeeds(value: Value, param: Value, facts: Facts) -> bool:
    """Whether a value is the next version of a part of the state, by what made it."""
    found = facts.get(Versions).of(value)
    return found is not None and param in found.old and found.ground > Ground.VARIABLE


def _left_behind(loop: Loop, param: Value, following: Value, facts: Facts) -> Value | None:
    """Return what is given out in the place of a part that goes on as it came in, where all others are renewed."""
    given = [one for one, _ in loop.stacked]
    parts = list(zip(loop.successors, given, strict=True)) if len(given) == len(loop.successors) > 1 else []
    others = [(part, out) for part, out in parts if part[0] is not param]
    moved = all(after is out and after is not before for (before, after), out in others)
    beside = next((out for part, out in parts if part[0] is param), None)
    if following is not param or not moved or beside is None or not depends(facts.flow, beside, (param,)):
        return None
    return beside


def _finding(loop: Loop, param: Value, following: Value, newer: Value, severity: Severity) -> Obligation:
    name = named(param, "this part of the state")
    other = "it is carried on as it came in" if following is param else f"{named(following)} is carried on in its place"
    handed_on = next((op for op in reversed(loop.body.ops) if op.name == "py.return"), loop.op)
    return Obligation(
        loop.op.span,
        severity=severity,
        message=f"each turn gives the newer {name} out, and {other}",
        current="no turn starts from what the turn before made",
        expected="what a turn makes of the state is what the next one starts from",
        steps=(Step(newer.span, f"the newer {name} is made here"), Step(handed_on.span, "the results are given here")),
        suggestion="return the newer state first, and what is to be stacked second",
        subject=Subject(names=(param.name, newer.name)),
        cause=(param, *(before for before, after in loop.successors if before is after is not param)),
    )
