"""The rule `python-random-in-traced-code`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.conditions import conditions
from jaxaudit.analyses.explain import callee_of
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.parts import roots_around
from jaxaudit.analyses.queries import depends
from jaxaudit.analyses.tracing.facts import TracingFacts, Visit
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Obligation, Rule, Severity, proved, unknown
from jaxaudit.rules.jit._shared.phrases import way_from
from jaxaudit.rules.random._shared.phrases import short

_ONCE = {
    "jit": "once, when `jit` traces the function",
    "vmap": "once for the whole mapped axis of `vmap`",
    "pmap": "once, when `pmap` traces the function",
    "shard_map": "once, when `shard_map` traces the function",
    "map": "once for all elements of `lax.map`",
    "scan": "once for all steps of `scan`",
    "fori": "once for all steps of `fori_loop`",
    "while": "once for all steps of `while_loop`",
    "associative_scan": "once for all steps of `associative_scan`",
}
"""Transformations that run Python code once and what it computed many times."""


class PythonRandomInTracedCode(Rule):
    """Python's or NumPy's random numbers are drawn in code that JAX traces.

    ## What it does
    Looks for `random.random()`, `np.random.normal()` and their kin and for clocks inside functions that
    `jit`, `vmap`, `pmap`, `scan`, `fori_loop` or `while_loop` run, at any depth of calls.

    ## Why is this bad?
    Python code runs while JAX traces, not while the compiled program runs. The number drawn then becomes a constant:
    every call, every step, every element of the batch sees the same one.

    ## Example
        @jax.jit
        def jitter(x):
            return x + np.random.normal(size=x.shape)

    ## Use instead
        @jax.jit
        def jitter(key, x):
            return x + jax.random.normal(key, x.shape)

    ## When it cannot tell
    Functions given to `jax.pure_callback` and its kin run at run time and are fine; functions that nobody visibly
    calls are left open. A clock that nothing is computed from may tell how long tracing takes: a warning. A draw
    that stands in for an argument which may be None is a warning: callers in traced code
    may well give one.
    """

    needs = (TracingFacts,)
    summary = "Python's or NumPy's random numbers are drawn where JAX traces, so they become constants."

    valid = """
    ## drawn outside, given as an argument
    import numpy as np

    @jax.jit
    def double(x):
        return x * 2

    def main():
        return double(np.random.normal(size=3))

    ## JAX's own random numbers
    @jax.jit
    def jitter(key, x):
        return x + jax.random.normal(key, x.shape)
    """
    invalid = """
    ## a constant after the first call
    import numpy as np

    @jax.jit
    def jitter(x):
        return x + np.random.normal(size=3)  #!

    ## one number for all steps
    import random

    def step(x, _):
        return x + random.random(), None  #!

    def walk(x):
        return jax.lax.scan(step, x, None, length=10)[0]

    ## the time of the first call
    import time

    @jax.jit
    def stamp(x):
        return x + time.time()  #!

    ## the time decides, and the time tracing takes
    import time

    def seed():
        return int(time.time_ns()) % 1000  #!

    @jax.jit
    def sample(x):
        start = time.perf_counter()  #?
        key = jax.random.key(seed())
        print("traced in", time.perf_counter() - start)  #?
        return x + jax.random.normal(key, x.shape)

    def main(x):
        for _ in range(9):
            x = sample(x)
        return x
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every draw from a generator that is not JAX's."""
        visits: dict[Op, list[Visit]] = {}
        for visit in facts.get(TracingFacts).of("py.random", "py.clock"):
            visits.setdefault(visit.op, []).append(visit)
        for op in program.named("py.random", "py.clock"):
            if _is_fixed(op, facts):
                reason = f"`{op.qualified}` gives constants: its generator is made from a constant seed here"
                yield proved(op.span, reason)
            else:
                tracers = [(visit, _tracer(visit)) for visit in visits.get(op, ())]
                yield from (_judge(visit, by, facts) for visit, by in tracers if by is not None)
                if op.name == "py.random" and all(by is None for _, by in tracers):
                    name = op.qualified or callee_of(op)
                    if _runs_on_host(op, facts):
                        yield proved(op.span, f"`{name}` runs in plain Python, outside traced code")
                    else:
                        yield unknown(op.span, f"whether traced code calls what draws with `{name}` is not known")


def _is_fixed(op: Op, facts: Facts) -> bool:
    """Whether a generator is made from a constant: it gives the same numbers wherever and whenever it runs."""
    made = facts.flow.maker(own) if isinstance(own := op.arguments.get("self"), Value) else None
    return (
        made is not None and isinstance(made.argument("seed"), int) and facts.flow.holder(made) is facts.flow.holder(op)
    )


def _runs_on_host(op: Op, facts: Facts) -> bool:
    """Whether all that runs an op is seen and is no traced code: a function that nothing calls may be called there."""
    region = facts.places.region_of[op]
    if any(holder is not None and holder.name == "callback" for _, holder in facts.places.up(region)):
        return True
    modules = {root.region for root in facts.program.roots if root.runs}
    return roots_around(facts, (region,)) <= modules


def _tracer(visit: Visit) -> Op | None:
    """Return the innermost transformation that runs Python code once and what it computed many times."""
    return next((op for op in reversed(visit.stack) if op.name in _ONCE), None)


def _is_spare(visit: Visit, facts: Facts) -> bool:
    """Whether a draw stands in for an argument that is missing: after `is None`, or as the last choice of an `or`."""
    readers = (reader for value in visit.op.results for reader in facts.flow.readers.get(value, ()))
    if any(one.name == "py.join" and one.operator == "or" and one.operands[-1] in visit.op.results for one in readers):
        return True
    known = (one for op in (visit.op, *visit.stack) for one in conditions(facts.places, op))
    return any(one.relation == "is" and one.against is None for one in known)


def _judge(visit: Visit, traced: Op, facts: Facts) -> Obligation:
    """Judge one draw; one that stands in for a missing argument may never run in traced code.

    A clock may measure how long tracing takes, unless the compiled code computes with what it says.
    """
    op = visit.op
    function = op.qualified or callee_of(op)
    clock = op.name == "py.clock"
    meant = _is_spare(visit, facts) or (clock and not _is_computed_with(op, traced, facts))
    return Obligation(
        op.span,
        severity=Severity.WARNING if meant else Severity.ERROR,
        message=short(f"`{function}` runs {_ONCE[traced.name]}, then it is a constant"),
        current=f"`{function}` runs {_ONCE[traced.name]}; what it gave then is used ever after",
        expected="what changes from run to run is an argument of the traced function",
        steps=way_from(traced, visit),
        suggestion="give the value as an argument" if clock else "take a key as an argument and use `jax.random`",
    )


def _is_computed_with(op: Op, traced: Op, facts: Facts) -> bool:
    """Whether what the traced code gives depends on what an op gives."""
    results = (value for region in traced.regions for value in region.results)
    return any(depends(facts.flow, value, op.results) for value in results)
