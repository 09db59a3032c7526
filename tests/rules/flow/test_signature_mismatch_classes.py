"""What `signature-mismatch` finds where classes are made and their methods are called, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "arguments that a decorator of another library gives": """
        import dataclasses

        import gin

        @gin.configurable
        class Experiment:
            def __init__(self, folder, model):
                self.folder = folder

        @gin.configurable()
        @dataclasses.dataclass
        class Settings:
            rate: float

        @dataclasses.dataclass
        class Plain:
            rate: float

        def run(folder):
            return Experiment(folder), Settings(), Plain()  #! signature-mismatch
        """,
    "defaults that a named tuple is given later": """
        import collections

        Info = collections.namedtuple("Info", ["mask", "discount"])
        Info.__new__.__defaults__ = (1, 1)
        Step = collections.namedtuple("Step", ["x", "y", "z"])
        Step.__new__.__defaults__ = (None,)
        Late = collections.namedtuple("Late", ["x", "y"], defaults=[1])
        Any = collections.namedtuple("Any", ["x", "y"])
        Any.__new__.__defaults__ = (None,) * len(Any._fields)

        def make():
            return Info(), Any(), Late(2), Step(1, 2), Step(1)  #! signature-mismatch
        """,
    "one of two modules, chosen along with what it is given": """
        class Cell(nn.Module):
            @partial(nn.scan, variable_broadcast="params", split_rngs={"params": False})
            @nn.compact
            def __call__(self, carry, step):
                x, reset = step
                return nn.GRUCell(4)(carry, x)

        class Stack(nn.Module):
            @nn.compact
            def __call__(self, carry, x, reset):
                return carry, nn.Dense(4)(x)

        class Model(nn.Module):
            arch: str = ""

            def setup(self):
                self.rnn = Stack() if self.arch == "stack" else Cell()

            def __call__(self, x, carry, reset):
                if self.arch == "stack":
                    return self.rnn(carry, x, reset)
                return self.rnn(carry, (x, reset))
        """,
    "a base that makes something of each class": """
        from typing import Any, Callable

        def joined(a, b):
            return jnp.concatenate([a, b], axis=-1)

        class Base:
            def __init_subclass__(cls, **options):
                super().__init_subclass__(**options)
                dataclasses.dataclass(cls)

        class Both(Base):
            merge: Callable[..., Any] = joined

            def __call__(self, x, y):
                return jax.tree.map(self.merge, x, y), self.merge(x, y)

        class Bound:
            merge: Callable[..., Any] = joined

            def __call__(self, x, y):
                return self.merge(x, y)  #! signature-mismatch

        def run(x, y):
            return Both()(x, y), Both(joined)(x, y), Bound()(x, y)
        """,
    "what is an instance of a class of another library is no object of this one": """
        import bijections

        class Shift:
            def log_det(self, x):
                return jnp.zeros_like(x)

        class Scale:
            def log_det(self, x):
                return jnp.ones_like(x)

        class Wrapped:
            def __init__(self, inner):
                self.inner = inner

            def log_det(self, x):
                return self.inner.log_det(x, 0)

        def converted(one):
            if isinstance(one, (bijections.Bijection, bijections.Transport)):
                return Wrapped(one)
            return one

        def run(x, flag):
            either = Shift() if flag else Scale()
            return converted(Shift()).log_det(x), converted(either).log_det(x), converted(lambda x: x)

        class Wrong(Wrapped):
            def log_det(self, x):
                return self.inner.log_det(x, 1)  #! signature-mismatch

        def wrong(x):
            return Wrong(Shift()).log_det(x)
        """,
    "attr.ib makes fields, whose parameters have no underscores in front": """
        import attr

        @attr.s
        class Element:
            kind: int
            symbol = attr.ib(type=str)
            period = attr.ib(default=1, converter=float)
            _spin = attr.ib(default=None)

        def make():
            a = Element("H"), Element("H", 1, 2), Element(symbol="H", spin=2)
            return a, Element("H", 1, 2, 3)  #! signature-mismatch

        def wrong():
            return Element("H", kind=2), Element("H", _spin=2)  #! signature-mismatch
        """,
    "attrs.define takes annotations, unless some field has none": """
        import attrs
        from attrs import define, field

        @define
        class Point:
            x: float
            y: float = field(default=0.0)

        @attrs.frozen
        class Mixed:
            x: float = field()
            z = field()
            name: str

        def make():
            return Point(1.0, 2.0), Mixed(1.0, 2.0)

        def wrong():
            return Point(1.0, z=2.0)  #! signature-mismatch

        def mixed():
            return Mixed(1.0, name="a")  #! signature-mismatch
        """,
    "what options make of the fields of attrs is left open": """
        import attr

        @attr.s(auto_attribs=True, kw_only=True)
        class Options:
            width: int = 3
            depth: int
            made: int = attr.ib(init=False)
            cut: int = attr.ib(alias="cutoff")

        @attr.dataclass
        class Shape:
            width: int

            def __attrs_post_init__(self):
                self.width = (self.width, 1)

        def make():
            return Options(depth=3, cutoff=2), Shape(3).width + (1,)
        """,
    "a method of the member of an enum is bound to it": """
        from enum import Enum, auto

        class Kind(Enum):
            NONE = auto()
            FULL = auto()

            @classmethod
            def named(cls, text):
                return Kind[text.upper()]

            def apply(self, module):
                return module

        def go(text, module):
            return Kind.named(text).apply(module), Kind["FULL"].apply(module), Kind.FULL.apply(module)

        def wrong(module):
            return Kind["FULL"].apply()  #! signature-mismatch
        """,
    "cls of a class method may be any subclass": """
        class Base:
            def __init__(self):
                self.x = 0

            @classmethod
            def build(cls, children):
                return cls(x=children[0])

            @classmethod
            def wrong(cls, children):
                return cls(y=children[0])  #! signature-mismatch

        class Heir(Base):
            def __init__(self, x):
                self.x = x

        class Alone:
            def __init__(self, x):
                self.x = x

            @classmethod
            def build(cls, children):
                return cls(y=children[0])  #! signature-mismatch
        """,
    "a class method of an object is given the class of the object": """
        class Base:
            def __init__(self):
                self.x = 0

            @classmethod
            def build(cls, x):
                return cls(x)

        class Heir(Base):
            def __init__(self, x):
                self.x = x

        def copied(x):
            return Heir(x).build(x).x + 1
        """,
    "an object is no instance of an abstract class that its own does not come from": """
        class Policy(abc.ABC):
            pass

        class Discrete(Policy):
            def __call__(self, x, seed):
                return x + seed

        class Continuous(Policy):
            def __call__(self, x):
                return x

        class Selector:
            def __init__(self, policy):
                self.mode = "discrete" if isinstance(policy, Discrete) else "continuous"
                self.policy = policy

            def select(self, x):
                if self.mode == "discrete":
                    return self.policy(x, 3)
                return self.policy(x)

        def both(x):
            return Selector(Discrete()).select(x), Selector(Continuous()).select(x)
        """,
    "a method is written for those of its own class, and for what subclasses have to write": """
        class Pipeline:
            def latents(self, size):
                return jnp.zeros(size)

            def norm(self, x):
                raise NotImplementedError

            def _inputs(self, size):
                return self.latents(size=size)

            def scaled(self, x):
                return self.norm(x, x)  #! signature-mismatch

        class Image(Pipeline):
            def latents(self, image):
                return image

            def norm(self, x):
                return x
        """,
    "a method that a class leaves empty": """
        class Case(abc.ABC):
            def normals(self, dx):
                return wall(self.walls, dx)

            @abc.abstractmethod
            def walls(self):
                ...

        def wall(make, dx):
            return make(dx, 1)

        class Pipe(Case):
            def walls(self, dx, n):
                return dx * n

        class Free(Case):
            def walls(self):
                pass

        def main():
            return Pipe().normals(0.1), Free().normals(0.1)
        """,
    "a method that the object replaces": """
        class Layer:
            def __init__(self, x):
                @jax.jit
                def grad_fn(x, dy, total):
                    return x + dy + total

                self.grad = grad_fn
                self.scale = jax.jit(self.scale)

            def run(self, x):
                return self.grad(x, x, 1.0), self.scale(x, 2.0)  #! signature-mismatch

            def grad(self, x, dy):
                return x + dy

            def scale(self, x):
                return x * 2
        """,
    "classes whose metaclass makes the objects": """
        class Scoped(type):
            def __new__(mcs, name, bases, members):
                return super().__new__(mcs, name, bases, members)

            def __call__(cls, *args, name=None, **kwargs):
                made = cls.__new__(cls)
                made.path = name
                made.__init__(*args, **kwargs)
                return made

        class Module(metaclass=Scoped):
            pass

        class Layer(Module):
            def __init__(self, units):
                self.units = units

        def main():
            return Layer(3, name="layer")
        """,
    "fields that are given by name alone": """
        from outside import Base

        @dataclass
        class Point:
            x: int
            _: dataclasses.KW_ONLY
            y: int = 3
            z: int

        @struct.dataclass
        class State:
            _: dataclasses.KW_ONLY
            parent: int = 0

            def __init_subclass__(cls, **kwargs):
                super().__init_subclass__(**kwargs)
                cls.merge = wrapped(cls.merge)

            def merge(self, other):
                return self

        def wrapped(old):
            def new(self, other):
                return old(self, other)
            return new

        @struct.dataclass
        class Mean(State):
            value: int

            def merge(self, other):
                return other

        def schedule(step, total):
            return total

        class Evaluator(Base):
            fn: object = schedule

            def run(self, step):
                return self.fn(step, 4)

        def main():
            first = Mean(4).merge(Mean(value=3, parent=2))
            return first, Point(1, z=2), Point(1, 2, z=3)  #! signature-mismatch
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
