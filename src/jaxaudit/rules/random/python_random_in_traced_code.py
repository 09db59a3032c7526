"""The rule `python-random-in-traced-code`."""

from __future__ import annotations

from collections.abc import Iterator, Set

from jaxaudit.analyses.explain import callee_of
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.tracing import TracingFacts
from jaxaudit.ir import Op, Program, Region, Value
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, Verdict
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

_NOT_ENTERED = ("callback", "abstract")
_GENERATORS = frozenset(("numpy.random.RandomState", "numpy.random.default_rng", "random.Random"))


class PythonRandomInTracedCode(Rule):
    """Python's or NumPy's random numbers are drawn in code that JAX traces.

    ## What it does

    Looks for `random.random()`, `np.random.normal()` and their kin (and, as a warning, clocks) inside functions that
    `jit`, `vmap`, `pmap`, `scan`, `fori_loop` or `while_loop` run, at any depth of calls.

    ## Why is this bad?

    Python code runs while JAX traces, not while the compiled program runs. The number drawn then becomes a constant:
    every call, every step, every element of the batch sees the same one.

    ## Example

    ```python
    @jax.jit
    def jitter(x):
        return x + np.random.normal(size=x.shape)
    ```

    ## Use instead

    ```python
    @jax.jit
    def jitter(key, x):
        return x + jax.random.normal(key, x.shape)
    ```

    ## When it cannot tell

    Functions given to `jax.pure_callback` and its kin run at run time and are fine; functions that nobody visibly
    calls are not judged. A draw that stands in for an argument which may be None is a warning: callers in traced code
    may well give one.
    """

    name = "python-random-in-traced-code"
    family = "random"
    needs = (TracingFacts,)
    summary = "Python's or NumPy's random numbers are drawn where JAX traces, so they become constants."

    valid = (
        Example(
            """
import jax
import numpy as np

@jax.jit
def double(x):
    return x * 2

def main():
    return double(np.random.normal(size=3))
""",
            "drawn outside, given as an argument",
        ),
        Example(
            """
import jax

@jax.jit
def jitter(key, x):
    return x + jax.random.normal(key, x.shape)
""",
            "JAX's own random numbers",
        ),
    )
    invalid = (
        Example(
            """
import jax
import numpy as np

@jax.jit
def jitter(x):
    return x + np.random.normal(size=3)  #!
""",
            "a constant after the first call",
        ),
        Example(
            """
import random
import jax

def step(x, _):
    return x + random.random(), None  #!

def walk(x):
    return jax.lax.scan(step, x, None, length=10)[0]
""",
            "one number for all steps",
        ),
        Example(
            """
import time
import jax

@jax.jit
def stamp(x):
    return x + time.time()  #?
""",
            "the time of the first call",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every draw from a generator that is not JAX's."""
        if next(program.named("py.random", "py.clock"), None) is not None:
            traced = frozenset(visit.op for visit in facts.get(TracingFacts).of("py.random", "py.clock"))
            yield from (one for root in program.roots for one in _Walk(traced).region(root.region, None))


class _Walk:
    """Visits every region once as plain code and once as traced code."""

    def __init__(self, traced: Set[Op]) -> None:
        self._traced = traced
        """The draws that run in traced code: not those in a branch for callers that give no key, if all give one."""
        self._seen: set[tuple[int, bool]] = set()

    def region(self, region: Region, traced: Op | None, *, missing: bool = False) -> Iterator[Obligation]:
        place = (id(region), traced is not None)
        if place in self._seen:
            return
        self._seen.add(place)
        seeded: set[Value] = set()
        asks: set[Value] = set()
        for op in region.ops:
            if op.name == "py.operator" and op.operator == "is" and op.arguments.get("y", 0) is None:
                asks.update(op.results)
            if op.qualified in _GENERATORS and isinstance(op.argument("seed"), int):
                seeded.update(op.results)
            if op.name in ("py.random", "py.clock"):
                by = traced if op in self._traced else None
                fixed = op.arguments.get("self") in seeded
                yield from _fixed(op) if fixed else _judge(op, by, missing=missing or _is_spare(op, region))
            if op.regions and op.name not in _NOT_ENTERED:
                asked = op.name == "py.branch" and not asks.isdisjoint(op.operands)
                for inner in op.regions:
                    yield from self.region(inner, op if op.name in _ONCE else traced, missing=missing or asked)


def _is_spare(op: Op, region: Region) -> bool:
    """Whether a draw is the last choice of an `or`."""
    joins = (one for one in region.ops if one.name == "py.join" and one.operator == "or")
    return any(one.operands[-1] in op.results for one in joins)


def _fixed(op: Op) -> Iterator[Obligation]:
    """A generator that is made right here from a constant gives the same numbers wherever and whenever it runs."""
    reason = f"`{op.qualified}` gives constants: its generator is made from a constant seed here"
    yield Obligation(PythonRandomInTracedCode.name, op.span, Verdict.PROVED, reason)


def _judge(op: Op, traced: Op | None, *, missing: bool) -> Iterator[Obligation]:
    """Judge one draw; one that stands in for a `missing` argument may never run in traced code."""
    name = PythonRandomInTracedCode.name
    function = op.qualified or callee_of(op)
    if traced is None:
        if op.name == "py.random":
            yield Obligation(name, op.span, Verdict.PROVED, f"`{function}` runs in plain Python, outside traced code")
        return
    clock = op.name == "py.clock"
    yield Obligation(
        name,
        op.span,
        Verdict.VIOLATED,
        severity=Severity.WARNING if clock or missing else Severity.ERROR,
        message=short(f"`{function}` runs {_ONCE[traced.name]}, then it is a constant"),
        current=f"`{function}` runs {_ONCE[traced.name]}; what it gave then is used ever after",
        expected="what changes from run to run is an argument of the traced function",
        steps=(Step(traced.span, "traced from here"),),
        suggestion="give the value as an argument" if clock else "take a key as an argument and use `jax.random`",
    )
