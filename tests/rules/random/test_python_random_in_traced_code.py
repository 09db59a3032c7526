"""Verdicts of `python-random-in-traced-code` on programs built by hand, and what it finds in source."""

import pytest
from rules.programs import marked, said
from sketch import Sketch

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.rules.random.python_random_in_traced_code import PythonRandomInTracedCode
from jaxaudit.session import audit


def draw(s: Sketch, name: str = "py.random"):
    return s.op(name, attrs={"function": "numpy.random.normal"})


@pytest.mark.parametrize(("holder", "expected"), [("jit", "error"), ("py.call", "unknown"), ("grad", "unknown")])
def test_by_holder(holder, expected):
    s = Sketch()
    with s.region("function", "f") as body:
        use = draw(s)
    s.call(body, name=holder)
    assert s.verdicts(PythonRandomInTracedCode) == {use.span.line: expected}


@pytest.mark.parametrize(("call", "expected"), [("", "unknown"), ("main()", "proved")])
def test_who_runs_it_must_be_seen(call: str, expected: str):
    source = SourceFile("m.py", f"import numpy as np\ndef main():\n    return np.random.normal()\n{call}\n")
    report = audit([source], Config(select=(PythonRandomInTracedCode.name,))).report
    assert (len(report.verified), len(report.unknown)) == ((1, 0) if expected == "proved" else (0, 1))


def test_shared_helper_called_from_both_worlds():
    s = Sketch()
    with s.region("function", "noise") as noise:
        use = draw(s)
    noise.shared = True
    s.call(noise)
    with s.region("function", "f") as body:
        s.call(noise)
    s.call(body, name="jit")
    assert s.verdicts(PythonRandomInTracedCode) == {use.span.line: "error"}


def test_callbacks_run_at_run_time():
    s = Sketch()
    with s.region("function", "f") as body:
        with s.region("function", "host") as host:
            draw(s)
        s.op("callback", regions=(host,))
    s.call(body, name="jit")
    assert set(s.verdicts(PythonRandomInTracedCode).values()) == {"proved"}


def test_a_clock_is_a_warning():
    s = Sketch()
    with s.region("function", "f") as body:
        use = draw(s, "py.clock")
    s.call(body, name="jit")
    assert s.verdicts(PythonRandomInTracedCode) == {use.span.line: "warning"}


PROGRAMS = {
    "numbers from a seed that is written down": """
        @jax.jit
        def start(x):
            return x + np.random.RandomState(1729).uniform(-1.0, 1.0, 3) + np.random.default_rng(0).normal(size=3)

        @jax.jit
        def wrong(x):
            return x + np.random.uniform(-1.0, 1.0, 3)  #! python-random-in-traced-code
        """,
    "blocks in a list of the library": """
        from flax import nnx

        class Block(nnx.Module):
            def __init__(self, keep, rngs):
                self.layer = nnx.Linear(3, 3, rngs=rngs)
                self.keep = keep

            def __call__(self, x):
                return x + jnp.where(np.random.rand() < self.keep, self.layer(x), 0.0)  #! python-random-in-traced-code

        class Net(nnx.Module):
            def __init__(self, rngs):
                self.blocks = nnx.List([Block(1.0 - 0.1 * i, rngs) for i in range(3)])

            def __call__(self, x):
                for block in self.blocks:
                    x = block(x)
                return x

        @nnx.jit
        def step(model, x):
            return nnx.value_and_grad(lambda model: jnp.mean(model(x) ** 2))(model)

        def main(x):
            return step(Net(nnx.Rngs(0)), x)
        """,
    "a seed that is drawn where none is given": """
        class Layer:
            def __init__(self, seed=None):
                self.seed = np.random.randint(0, 1000) if seed is None else seed

            def one(self, x):
                return apply(x, self.seed)

            def __call__(self, x):
                return jax.vmap(self.one)(x)

        def apply(x, seed):
            if seed is None:
                seed = np.random.randint(0, 1000)  #? python-random-in-traced-code
            return x * seed

        @jax.jit
        def either(x, seed):
            return x * (seed or np.random.randint(0, 1000))  #? python-random-in-traced-code

        @jax.jit
        def wrong(x, seed=None):
            return x * np.random.randint(0, 1000)  #! python-random-in-traced-code
        """,
    "NumPy where no key is given": """
        def bind(rng, to):
            if to is None:
                return rng
            return jax.random.fold_in(rng, jax.lax.axis_index("batch"))

        def mix(x, rng=None):
            weight = np.random.beta(1.0, 1.0) if rng is None else jax.random.beta(rng, 1.0, 1.0)
            return x * weight

        def mix_always(x, rng=None):
            if rng is not None:
                x = x * jax.random.beta(rng, 1.0, 1.0)
            return x * np.random.beta(1.0, 1.0)  #! python-random-in-traced-code

        def step(rng, x, config):
            rng, mix_rng = jax.random.split(rng)
            return mix(x, rng=bind(mix_rng, config.get("to"))) + mix_always(x, rng=rng)

        def main(config, rngs, x):
            return jax.pmap(functools.partial(step, config=config), axis_name="batch")(rngs, x)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
