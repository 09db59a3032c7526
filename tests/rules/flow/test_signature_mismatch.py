"""What `signature-mismatch` and its kin find in programs, and what they leave alone."""

import pytest
from rules.programs import audited, marked, said

PROGRAMS = {
    "what a condition asks for may be for other objects that are given": """
        class Net:
            def decode(self, x):
                return x

        class Model:
            def __init__(self, module):
                self.module, self.own = module, Net()

            def given(self, x, prompted):
                if not prompted:
                    return x
                return self.module.decode(x, prefill=True)

            def owned(self, x, prompted):
                if not prompted:
                    return x
                return self.own.decode(x, prefill=True)  #! signature-mismatch

            def always(self, x):
                return self.module.decode(x, prefill=True)  #! signature-mismatch

        def main(x, prompted):
            model = Model(Net())
            return model.given(x, prompted), model.owned(x, prompted), model.always(x), Net().decode(x)
        """,
    "what no caller uses as it seems to be is something else": """
        class Wrapped:
            def __init__(self, scale):
                self.scale = scale

        class Plain:
            def __init__(self, scale):
                self.scale = scale

        def first(x):
            return Wrapped(x, 2.0), Plain(x)

        def second(x):
            return Wrapped(bias=x), Plain(bias=x)  #! signature-mismatch
        """,
    "what a condition asks about is used as it says": """
        import inspect

        def runner(step):
            def run(params, batch, state):
                if "state" in inspect.signature(step).parameters:
                    return step(params, batch, state=state)
                return step(params, batch)
            return run

        def plain(params, batch):
            return params * batch

        def stateful(params, batch, state):
            return params * batch + state

        def run_both(params, batch, state):
            return runner(plain)(params, batch, state), runner(stateful)(params, batch, state)

        def checked(step, params):
            if callable(step):
                return step(params)  #! signature-mismatch
            return params

        def run_checked(params):
            return checked(plain, params)
        """,
    "super() begins at the class that defines the method, whoever inherits it": """
        class Saved:
            def __init__(self, config, name, kind):
                self.name = name

        class Model(Saved):
            def __init__(self, *, config, name):
                super().__init__(config, name, 3)
                self.build()

            def build(self):
                pass

        class Actor(Model):
            def build(self):
                self.scale = jnp.ones(3)
        """,
    "what ** brings is for the branch that is taken": """
        def flow(gdot, stress, **options):
            return gdot * stress

        def startup(times, stress, gdot):
            return times * stress * gdot

        def fit(mode, x, y, **options):
            if mode() == "flow":
                return flow(x, y, **options)
            return startup(x, y, **options)

        def main(mode, x, y):
            return fit(mode, x, y, gdot=1.0)
        """,
    "a method that subclasses have to write has their parameters": """
        class Loss:
            def loss(self):
                raise NotImplementedError

            def slope(self, params, batch):
                return jax.grad(self.loss)(params, batch)
        """,
    "a decorator makes a constructor of its own, whatever the base has": """
        from dataclasses import dataclass
        from flax import nnx

        class Kernel(nnx.Module):
            def __init__(self, width=None):
                self.width = width

        @dataclass
        class Deep(Kernel):
            inner: Kernel
            scale: float

        def make():
            return Deep(inner=Kernel(), scale=1.0)
        """,
    "a metaclass that is not in sight may take other arguments": """
        import ninjax as nj

        class Optimizer(nj.Module):
            depth: int = 2

            def __init__(self, modules):
                self.modules = modules

        def make(modules):
            return Optimizer(modules, depth=1, name="opt")
        """,
    "a call that raises runs no body": """
        def train(make_agent, make_stream, make_logger, args):
            return make_agent(), make_stream(args, "train"), make_logger()

        def make_logger():
            return 0

        def run(args):
            return train(lambda: 1, make_logger, args)  #! signature-mismatch
        """,
    "a class is none of Python's own": """
        import dataclasses
        from typing import Any

        @dataclasses.dataclass
        class Checkpoint:
            params: dict
            config: dict

        def convert(typ, value):
            if typ in (Any, ...):
                return value
            if typ in (int, float, str, bool):
                return typ(value)
            if dataclasses.is_dataclass(typ):
                return typ(**value)
            return typ(value)

        def load(value):
            return convert(Checkpoint, value), convert(float, value)
        """,
    "self of a function inside is what that function is given": """
        from functools import partial

        class Maze:
            def __init__(self, task):
                def after(self, physics):
                    return self._target * physics

                task.after = partial(after, task)
                self.task = task

            def step(self, physics):
                return self.task.after(physics)
        """,
    "what containers have is known to hasattr and getattr": """
        def field(signals):
            if hasattr(signals, "field") and signals.field is not None:
                return signals.field
            named = getattr(signals, "named", None)
            if named is not None:
                return named.first
            return signals["field"] if hasattr(signals, "keys") else None

        def caught(signals):
            try:
                return signals.field
            except AttributeError:
                return None

        def both(x):
            return field({"field": x}), caught({"field": x})
        """,
    "what a decorator made of a constructor takes arguments": """
        from elsewhere import logged

        class Pipeline:
            @logged(arguments=False)
            def __init__(self, config):
                self.config = config

        def make(config):
            return Pipeline(config)
        """,
    "a dataclass has the fields of dataclasses alone": """
        from dataclasses import dataclass

        class Kernel:
            width: float

        @dataclass
        class Deep(Kernel):
            scale: float

        def make():
            return Deep(1.0), Deep(scale=2.0), Deep(1.0, 2.0)  #! signature-mismatch
        """,
    "an instance of a class that is not in sight is no tuple": """
        import xarray

        def mapped(f, *structures):
            first = structures[0]
            if isinstance(first, xarray.Dataset):
                return {k: f(first[k]) for k in first.keys()}
            if isinstance(first, xarray.DataArray) and first.sizes:
                return f(first)
            return tuple(f(one) for one in first)

        def doubled(x):
            return mapped(lambda one: one * 2, (x, x))
        """,
    "what is imported for sure leaves no fallback": """
        try:
            import jax
            HAS_JAX = True
        except ImportError:
            HAS_JAX = False

            class Level:
                LOW = "low"

        if HAS_JAX:
            from enum import Enum

            class Level(Enum):
                LOW = "low"

        def make(text):
            return Level(text)
        """,
    "a class may get its constructor later": """
        import flax.linen as nn

        def wrapped(module):
            def init(self, *args, config, **rest):
                nn.Module.__init__(self)

            class Partial(nn.Module):
                width: int = 1

            Partial.__init__ = init
            return Partial

        Layer = wrapped(None)

        def make(config):
            return Layer(config=config)
        """,
    "typing.Tuple asks for a tuple": """
        from typing import Tuple

        def dtype_of(inputs):
            return inputs[0].dtype if isinstance(inputs, Tuple) else inputs.dtype

        def both(x):
            return dtype_of((x, x)), dtype_of(x)
        """,
    "super() finds the one method that no class in sight puts another one before": """
        class Base:
            def step(self, x):
                return x

        class Child(Base):
            def step(self, x, y):
                return super().step(x, y)  #! signature-mismatch
        """,
    "super() may find the method of a class that is mixed in": """
        class Base:
            def step(self, x):
                return x

        class Child(Base):
            def step(self, x, y):
                return super().step(x, y)

        class Other(Base):
            def step(self, x, y):
                return x + y

        class Both(Child, Other):
            pass
        """,
    "eval_shape hands on what is given by name": """
        class Net(nn.Module):
            @nn.compact
            def __call__(self, x, y):
                return nn.Dense(3)(x) + y

            def weights(self, key, names):
                given = {}
                for name in names:
                    given[name] = jnp.ones(3)
                return jax.eval_shape(self.init, key, **given)

        def main(key, x):
            return jax.eval_shape(Net().init, key, x=x, y=x)

        def wrong(key, x):
            return jax.eval_shape(Net().init, key, x=x)  #! signature-mismatch
        """,
    "what is written to one of two dicts may be in either": """
        def forward(x, scale):
            return x * scale

        def split(given, names):
            dynamic, static = {}, {}
            for name, value in given.items():
                (static if name in names else dynamic)[name] = value
            return dynamic, static

        def run(given, names):
            dynamic, static = split(given, names)
            return forward(**dynamic, **static) + jax.jit(forward)(**dynamic, **static)
        """,
    "a table that others may fill has other functions too": """
        TABLE = {"id": lambda x: x}

        def apply(name, x, fill):
            local = {"id": lambda x: x}
            fill(local)
            return TABLE[name](x, x) + local[name](x, x)
        """,
    "a name that a layer declares itself has a default all the same": """
        import flax.linen as nn

        class Norm(nn.Module):
            name: str
            width: int
            dtype: jnp.dtype = jnp.float32

            @nn.compact
            def __call__(self, x):
                return nn.LayerNorm(name=self.name, dtype=self.dtype)(x)

        def made(dtype):
            return Norm(width=3, dtype=dtype), Norm(dtype=dtype)  #! signature-mismatch
        """,
}

OPEN = """

    def f(x, y):
        return x + y

    def g(x):
        return x

    class Base:
        def go(self, x):
            return x

    class Child(Base):
        def go(self, x):
            return -x

    class Made(eqx.nn.Linear, strict=True):
        def __init__(self, x):
            self.x = x

    def calls(flag, args, options, base: Base):
        (f if flag else g)(1)
        f(*args)
        f(1, **options)
        base.go(1)
        Made(1)
        jax.vmap(options)(args)
"""


def test_nothing_is_proved_that_was_not_compared() -> None:
    report = audited(OPEN)
    rules = ("signature-mismatch", "callback-arguments")
    assert not [one for one in report.verified if one.rule in rules]
    assert len([one for one in report.unknown if one.rule in rules]) == 6


def test_inlined_calls_and_constructors_are_listed() -> None:
    program = """
    class Point:
        def __init__(self, x):
            self.x = x

    def shift(point, by):
        point.x = point.x + by
        return point

    shift(Point(1), 2)
    """
    assert len([one for one in audited(program).verified if one.rule == "signature-mismatch"]) == 2


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
