"""Every element that JAX really computes lies in the range that is stated for it, on both front ends."""

from __future__ import annotations

from functools import cache
from math import isnan

import pytest

pytest.importorskip("jax")

import jax.numpy as jnp
import numpy as np

from jaxaudit.analyses.ranges import Range, Ranges, range_text
from jaxaudit.analyses.solve import solve
from jaxaudit.frontends.base import SourceFile
from jaxaudit.frontends.jaxpr import lower
from jaxaudit.frontends.source.read import read_source
from tests.analyses.ranges.random_programs import ALL, write

SEEDS = range(10)


def arguments(seed: int) -> tuple:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, 4, 5)).astype("float32") * 2
    return jnp.asarray(x), jnp.asarray(y), jnp.asarray(rng.integers(-4, 9, size=(4, 5)).astype("int32"))


def function(code: str, path: str):
    space: dict = {}
    exec(compile(code, path, "exec"), space)
    return space["run"]


@cache
def computed(seed: int) -> dict:
    run = function(write(seed), f"program{seed}.py")
    return {name: np.asarray(value) for name, value in run(*arguments(seed)).items()}


def stated_by_source(code: str) -> dict[str, Range]:
    file = SourceFile("program.py", code)
    program = read_source([file], lambda path: file if path == "program.py" else None).program
    ranges = solve(program, {Ranges}).get(Ranges)
    region = next(root.region for root in program.roots if root.name.endswith("run"))
    return {value.name: ranges.of(value) for op in region.ops for value in op.results if value.name}


def stated_by_trace(code: str, seed: int, tmp_path) -> dict[str, Range]:
    path = tmp_path / "program.py"
    path.write_text(code)
    program = lower.trace_and_lower(function(code, str(path)), arguments(seed), {}, name="run", path=str(path))
    ranges = solve(program, {Ranges}).get(Ranges)
    names = sorted(computed(seed))
    results = program.roots[0].region.results
    return {name: ranges.of(value) for name, value in zip(names, results, strict=True)}


def misses(fact: Range, array: np.ndarray) -> list[str]:
    """Say what of a stated range is not so; rounding is granted one part in ten thousand."""
    numbers = array.astype("float64").ravel()
    there = numbers[~np.isnan(numbers)]
    wrong = []
    finite = there[np.isfinite(there)]
    if finite.size:
        slack = 1e-4 * max(1.0, *(abs(end) for end in (fact.low, fact.high) if abs(end) != float("inf")), 1.0)
        if finite.min() < fact.low - slack or finite.max() > fact.high + slack:
            wrong.append(f"[{finite.min()}, {finite.max()}]")
    if fact.nonzero and not finite.all():
        wrong.append("is 0")
    if fact.integer and (finite != np.floor(finite)).any():
        wrong.append("not whole")
    if fact.finite and finite.size != there.size and np.abs(finite).max(initial=0.0) < 1e15:
        wrong.append("infinite")
    if not fact.nan and there.size != numbers.size:
        wrong.append("NaN")
    if fact.sums_to_one is not None and not np.isnan(array).any() and abs(array.sum(fact.sums_to_one) - 1).max() > 1e-3:
        wrong.append("does not sum to 1")
    if fact.one_hot is not None and (array.sum(fact.one_hot) > 1).any():
        wrong.append("not one-hot")
    return wrong


def disagreements(facts: dict[str, Range], seed: int) -> list[str]:
    real = computed(seed)
    lines = {line.split(" =")[0].strip(): line.strip() for line in write(seed).splitlines() if " = " in line}
    return [
        f"{lines[name]}: {range_text(facts[name])} {facts[name]} but {', '.join(wrong)}"
        for name in real
        if name in facts and (wrong := misses(facts[name], real[name]))
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_source_states_is_so(seed):
    facts = stated_by_source(write(seed))
    assert disagreements(facts, seed) == []
    assert len(facts) > 15


@pytest.mark.parametrize("seed", SEEDS)
def test_what_a_trace_states_is_so(seed, tmp_path):
    assert disagreements(stated_by_trace(write(seed), seed, tmp_path), seed) == []


def test_much_is_stated():
    facts = [fact for seed in SEEDS for fact in stated_by_source(write(seed)).values()]
    bounded = sum(fact.low > float("-inf") or fact.high < float("inf") for fact in facts)
    assert bounded > len(facts) / 2
    assert not any(isnan(fact.low) or isnan(fact.high) or fact.low > fact.high for fact in facts)


def test_every_template_is_met():
    assert len(SEEDS) * 24 >= len(ALL)
