"""What `retrace-every-call` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "an object for every turn": """
        class Env:
            def __init__(self, scale):
                self.scale = scale

            @partial(jax.jit, static_argnums=0)
            def step(self, x):
                return x * self.scale

        def run(xs):
            return [Env(2.0).step(x) for x in xs]
        """,
    "a model of its own in every turn": """
        def make_init(model):
            @jax.jit
            def init(key):
                return model.init(key, jnp.zeros((1, 8)))
            return init

        def main(models, keys):
            return {name: make_init(models[name])(key) for name, key in zip(models, keys)}
        """,
    "a function without a model in every turn": """
        def make_double():
            @jax.jit
            def double(x):
                return x * 2
            return double

        def main(xs):
            return [make_double()(x) for x in xs]  #! retrace-every-call
        """,
    "slices of something unknown that grow": """
        @jax.jit
        def total(x):
            return x.sum()
        def prefix(xs):
            out = []
            for t in range(1, 200):
                out.append(total(xs[:t]))  #! retrace-every-call
            return out
        """,
    "batches as wide as their longest row, inside a gradient": """
        @jax.jit
        def loss(p, x):
            return (p * x).sum()
        def run(p, data):
            for docs in data:
                n = max(map(len, docs))
                x = np.zeros((len(docs), n))
                for i, d in enumerate(docs):
                    x[i, : len(d)] = d
                p = p - jax.grad(loss)(p, x)  #! retrace-every-call
            return p
        """,
    "structure that passes through a loop": """
        @struct.dataclass
        class Env:
            x: jax.Array
            n: int = struct.field(pytree_node=False)
        @jax.jit
        def step(e):
            return e.replace(x=e.x * e.n)
        def main(x):
            e = Env(x, 2)
            for i in range(100):
                e = step(e)
            f = step(e.replace(n=3))
            return e, f
        """,
    "a static argument that decays": """
        @partial(jax.jit, static_argnames="lr")
        def step(w, lr):
            return w - lr

        def main(w):
            lr = 0.1
            for _ in range(1000):
                w = step(w, lr)  #! retrace-every-call
                lr = lr * 0.99
            return w
        """,
    "as many rows as there are": """
        @jax.jit
        def total(x):
            return x.sum()

        def main(batches):
            for batch in batches:
                keep = np.asarray(batch) > 0
                n = int(keep.sum())
                print(total(jnp.zeros(n)))  #! retrace-every-call
        """,
    "documents of random length": """
        @jax.jit
        def total(x):
            return x.sum()

        def main():
            rng = np.random.default_rng(0)
            docs = [rng.integers(0, 9, size=rng.integers(5, 40)) for _ in range(100)]
            for doc in docs:
                print(total(jnp.asarray(doc)))  #! retrace-every-call
        """,
    "a new partial in every turn": """
        def loss(scale, x):
            return x.sum() * scale

        def main(x):
            for i in range(100):
                x = x - jax.jit(partial(loss, 2.0))(x)  #! retrace-every-call
            return x
        """,
    "made anew by the function that the loop calls": """
        def update(x):
            @jax.jit
            def step(x):
                return x * 2

            return step(x)  #! retrace-every-call

        def main(x):
            for _ in range(100):
                x = update(x)
            return x
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
