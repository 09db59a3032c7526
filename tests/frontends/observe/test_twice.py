"""`jaxaudit run` traces what `jit` compiled once more, and tells where that gives another program."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from tool import report

pytest.importorskip("jax")

UNSTEADY = """\
import jax
import jax.numpy as jnp


class Annealer:
    def __init__(self):
        self.temperature = 1.0

    def cool(self):
        setattr(self, "temperature", self.temperature * 0.9)

    def sweep(self, x):
        self.cool()
        return self.moved(x)

    def moved(self, x):
        return x / self.temperature  # here


def keys(seed):
    def draw(counts={"drawn": seed}):
        counts["drawn"] += 1
        return jax.random.key(counts["drawn"])  # the source tells why
    return draw


annealer, draw = Annealer(), keys(0)
sweep = jax.jit(annealer.sweep)


@jax.jit
def noise(x):
    def add(total, row):
        return total + row * jax.random.normal(draw(), row.shape), None
    return jax.lax.scan(add, jnp.zeros(3), x)[0]


for _ in range(3):
    sweep(jnp.ones(3)), noise(jnp.ones((2, 3)))
"""
STEADY = """\
import time

import jax
import jax.numpy as jnp
import numpy as np

traces = []
scale = {"first": None}


@jax.jit
def step(x, state):
    traces.append(len(traces))
    jax.debug.print("{}", time.time() + len(traces))
    if scale["first"] is None:
        scale["first"] = np.float32(2.0)
    fixed = np.random.default_rng(0).normal(size=3).astype(np.float32)
    return jax.nn.relu(x * fixed * scale["first"]), state + 1


def once(x):
    return x * len(traces) + time.time() % 7


x, state = step(jnp.ones(3), 0)
jax.vmap(once)(x)
for power in range(1, 4):
    jax.jit(lambda x, power=power: x**power)(x)
jax.jit(lambda x, power: x**power, static_argnums=1)(x, 2)
"""


def _told(text: str, folder: Path, *options: str) -> list[tuple[int, str]]:
    (folder / "main.py").write_text(text)
    found = report("run", *options, "main.py", cwd=folder)
    return [(one["line"], one["message"]) for one in found["issues"] if one["front_end"] == "run"]


def test_state_that_tracing_changes_is_found_where_it_is_used_and_told_once(tmp_path):
    told = _told(UNSTEADY, tmp_path)
    marked = [at for at, line in enumerate(UNSTEADY.splitlines(), 1) if line.endswith("# here")]
    assert [line for line, _ in told] == marked
    assert told[0][1].startswith(
        "`sweep` depends on state that changes whenever it is traced: a number is 0.81 in one trace and 0.729"
    )


def test_what_differs_for_no_result_or_is_traced_for_each_call_is_no_mistake(tmp_path):
    assert _told(STEADY, tmp_path) == []


def test_nothing_is_traced_again_without_probes(tmp_path):
    assert _told(UNSTEADY, tmp_path, "--no-probe") == []


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("x + 1.0 * n", "a number is 1 in one trace and 2 in the next"),
        ("x * np.array([1.0, 1.0 / n])", "a constant is another in each trace"),
        ("x if n == 1 else jnp.sin(x)", "another computation is done in each trace"),
        ("x[n - 1] + x[0]", "it is done with other numbers in each trace"),
        ("jax.lax.fori_loop(0, 2, lambda i, y: y * n, x)", "a number is 1 in one trace and 2 in the next"),
    ],
)
def test_the_first_difference_is_told(text, other):
    import jax
    import jax.numpy as jnp
    import numpy as np

    from jaxaudit.frontends.jaxpr.probe.twice import difference

    def program(n):
        names = {"jax": jax, "jnp": jnp, "np": np, "n": n}
        return jax.make_jaxpr(eval(f"lambda x: {text}", names))(jnp.ones(2))

    assert difference(program(1), program(1)) is None
    found = difference(program(1), program(2))
    assert found is not None
    assert found.text == other


LOOPS = """\
import itertools

import jax
import jax.numpy as jnp

count, log, scale = itertools.count(), [], {"now": 1.0}
following = {"number": count.__next__}


def turn(total, x):
    return total + x * following["number"](), total  #!


def logged(total, x):
    log.append(1)
    return total + scale["now"] * x, total


def outer(w):
    return jax.lax.scan(lambda total, x: (total * w, x), 1.0, jnp.ones(3))[0]


jax.lax.scan(turn, 0.0, jnp.ones(4))
for now in range(3):
    scale["now"] = now
    jax.lax.scan(logged, 0.0, jnp.ones(4))
jax.vjp(outer, 2.0)[1](1.0)
"""


def test_loops_outside_jit_are_traced_again_too(tmp_path: Path) -> None:
    (tmp_path / "loops.py").write_text(LOOPS)
    (found,) = report("run", "loops.py", cwd=tmp_path)["issues"]
    assert (found["rule"], found["line"]) == ("side-effect-in-traced-code", 11)
    assert found["message"].startswith("`turn` depends on state that changes whenever it is traced: ")
