"""What `static-argument-misuse` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "an inherited method that is compiled": """
        class Base:
            @partial(jax.jit, static_argnames=("self",))
            def init(self, key, x):
                return x * 2

        class Derived(Base):
            @partial(jax.jit, static_argnames=("self",))
            def init(self, key, x):
                return super().init(key, x) + 1

        def main(key, x):
            return Derived().init(key, x)
        """,
    "a tuple of unknown length is static": """
        @partial(jax.jit, static_argnums=0)
        def scale(degrees, x):
            return x * len(degrees)

        def main(parts, x):
            return scale(tuple(part.l for part in parts), x), scale([part.l for part in parts], x)  #! static-argument-misuse
        """,
    "a NumPy scalar is static": """
        @partial(jax.jit, static_argnums=1)
        def scaled(x, n):
            return x * n

        def main(x, size):
            return scaled(x, np.ceil(size)), scaled(x, np.zeros(3))  #! static-argument-misuse
        """,
    "objects that are hashed by identity": """
        class Agent:
            def __init__(self, n):
                self.n = n
            @partial(jax.jit, static_argnums=0)
            def act(self, x):
                return x * self.n
        def main(x):
            return Agent(3).act(x)
        """,
    "a base that says how to hash": """
        class Base:
            def __eq__(self, other):
                return True  #? equal-static-arguments
            def __hash__(self):
                return 1
        class Agent(Base):
            def __init__(self, n):
                self.n = n
            @partial(jax.jit, static_argnums=0)
            def act(self, x):
                return x * self.n
        def main(x):
            return Agent(3).act(x)
        """,
    "dataclasses that keep a hash": """
        @dataclass
        class Base:
            n: int
        @dataclass(eq=False)
        class Agent(Base):
            m: int
            __hash__ = object.__hash__
            @partial(jax.jit, static_argnums=0)
            def act(self, x):
                return x * self.n
        @dataclass(unsafe_hash=True)
        class Other:
            n: int
            @partial(jax.jit, static_argnums=0)
            def act(self, x):
                return x * self.n
        @dataclass(eq=False)
        class Third:
            n: int
            @partial(jax.jit, static_argnums=0)
            def act(self, x):
                return x * self.n
        def main(x):
            return Agent(3, 4).act(x), Other(2).act(x), Third(2).act(x)
        """,
    "a dataclass that lost its hash": """
        @dataclass
        class Agent:
            n: int
            @partial(jax.jit, static_argnums=0)
            def act(self, x):
                return x * self.n
        def main(x):
            return Agent(3).act(x)  #! static-argument-misuse
        """,
    "a static method argument that cannot be hashed": """
        class Net:
            @partial(jax.jit, static_argnums=(0, 2))
            def forward(self, x, sizes):
                return x

        def main(x):
            return Net().forward(x, [1, 2])  #! static-argument-misuse
        """,
    "objects with arrays that are the same on all devices": """
        class Model:
            def __init__(self, u0):
                self.u0 = u0

            @partial(jax.pmap, axis_name="batch", static_broadcasted_argnums=(0,))
            def step(self, state, batch):
                return state + batch * self.u0

        @partial(jax.pmap, static_broadcasted_argnums=(1,))
        def scaled(x, scale):
            return x * scale

        def main(state, batch):
            scaled(batch, jnp.ones(3))  #! static-argument-misuse
            return Model(jnp.zeros(3)).step(state, batch)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
