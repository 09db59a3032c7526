"""What `python-branch-on-traced` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a traced index makes a traced item, whatever it is an item of": """
        def best(state, fitness, n):
            def one(i):
                return fitness if state.members[i] == 0 else 0.0  #! python-branch-on-traced

            return jax.vmap(one)(jnp.arange(n))
        """,
    "what a model is put together from may be structure": """
        import pickle
        from dataclasses import dataclass
        from flax import nnx

        @dataclass
        class Config:
            tie: bool = True

        class Model(nnx.Module):
            def __init__(self, config: Config, *, rngs):
                self.tie = config.tie
                self.head = nnx.Linear(4, 8, rngs=rngs)

            def __call__(self, x):
                if self.tie:
                    return x
                return self.head(x)

        graph, state = nnx.split(Model(Config(**pickle.load(open("x"))), rngs=nnx.Rngs(0)))

        def predict(ids):
            return nnx.merge(graph, state)(ids)

        compiled = jax.jit(predict)
        """,
    "versions are compared as tuples": """
        def version(text):
            parts = tuple(int(part) for part in text.split("."))[:3]
            while len(parts) < 3:
                parts = parts + (0,)
            return parts

        @jax.jit
        def cast(x):
            if version(jax.__version__) < (0, 8, 2):
                return x * 2
            return x
        """,
    "numbers are checked, tracers are not": """
        def checked(mean):
            if isinstance(mean, (int, float)):
                if mean < 0:
                    raise ValueError("negative")
            return mean * 2

        @jax.jit
        def flux(mean):
            return checked(mean)

        @jax.jit
        def wrong(mean):
            if isinstance(mean, (int, jax.Array)):
                if jnp.sum(mean) < 0:  #! python-branch-on-traced
                    raise ValueError("negative")
            return mean * 2
        """,
    "a longer tuple is no array": """
        def patches(x, size):
            window = (1,) + size + (1,)
            if window[0] != 1 or window[3] != 1:
                raise ValueError(window)
            return x

        def step(x, config):
            return patches(x, config.size)

        def main(x, config):
            return jax.pmap(functools.partial(step, config=config))(x)
        """,
    "text is no array": """
        def scaled(x):
            if x == "none":
                return None
            return x * 2

        def sized(x):
            if x == 1:  #! python-branch-on-traced
                return None
            return x * 2

        def main(xs):
            return jax.vmap(lambda x: scaled(jnp.exp(x)))(xs), jax.vmap(lambda x: sized(jnp.exp(x)))(xs)
        """,
    "compared with None": """
        def scaled(x, scale):
            if scale == None:
                return x
            return x * scale

        @jax.jit
        def run(x, scale):
            return scaled(x, scale * 2.0)

        @jax.jit
        def wrong(x, scale):
            if scale * 2.0 == 1.0:  #! python-branch-on-traced
                return x
            return x * scale
        """,
    "a function that a test expects to fail": """
        def test_branch():
            @jax.jit
            def clip(x):
                if x > 0:
                    return x
                return -x

            with pytest.raises(jax.errors.TracerBoolConversionError):
                clip(1.0)
        """,
    "an argument that pmap may leave alone, behind others of which nobody knows how many there are": """
        @partial(jax.pmap, in_axes=(0, None, None), static_broadcasted_argnums=(2,))
        def push(field, rate, mode):
            return field * rate if mode == 2 else field

        def run(field, settings, mode):
            return push(field, *settings, mode)
        """,
    "an argument that pmap leaves alone": """
        def batches(x, n):
            return jnp.stack([x + i for i in range(n)])

        def main(x, n):
            return jax.pmap(batches, static_broadcasted_argnums=1)(x, n)
        """,
    "a value kept by a cached property": """
        class Env:
            @cached_property
            def size(self):
                limit = jnp.asarray(4.0)
                if jnp.any(limit > 3):
                    raise ValueError
                return 4

            @partial(jax.jit, static_argnums=0)
            def step(self, x):
                return x * self.size

        def main(x):
            env = Env()
            env.size
            return env.step(x)
        """,
    "Python values that eval_shape of Equinox leaves alone": """
        def init(key, wide):
            return jax.random.normal(key, (8,)) if wide else jax.random.normal(key, (4,))

        def main(key):
            return eqx.filter_eval_shape(init, key, False)
        """,
    "a list that grows in a loop": """
        @jax.jit
        def joined(x, parts):
            found = []
            for part in parts:
                if part.extra is not None:
                    found += [jnp.reshape(part.extra, (-1,))]
            return jnp.concatenate(found) if found else x
        """,
    "rows of an array and one more": """
        @jax.jit
        def f(x, y):
            rows = tuple(x) + (y,)
            if rows:
                return jnp.stack(rows)
            return y
        def main(n):
            return f(jnp.ones((3, 4)), jnp.ones(4))
        """,
    "a row decides": """
        @jax.jit
        def f(x):
            for row in list(x):
                if row.sum() > 0:  #! python-branch-on-traced
                    x = x + 1
            return x
        def main():
            return f(jnp.ones((3, 4)))
        """,
    "the type of a tuple": """
        @jax.jit
        def f(x, parts):
            parts = tuple(parts)
            if isinstance(parts, tuple):
                return x
            return x + 1
        """,
    "a static receiver, its helpers and heirs": """
        class Net:
            def __init__(self, w, n):
                self.w = w
                self.n = n

            @partial(jax.jit, static_argnums=0)
            def go(self, x):
                return self.helper(x)
            def helper(self, x):
                if self.n > 2:
                    return x
                return x.reshape(self.n, 3)
        class Sub(Net):
            @partial(jax.jit, static_argnames="self")
            def more(self, x):
                y = self.helper(x)
                for i in range(self.n):
                    y = y + i
                return super().go(y)
        def main(x, n):
            return Net(1.0, n).go(x), Sub(2.0, n).more(x), Sub(2.0, n).go(x)
        """,
    "a child decides": """
        @register_pytree_node_class
        class Net:
            def __init__(self, w, n):
                self.w = w
                self.n = n
            def tree_flatten(self):
                return (self.w,), (self.n,)

            @classmethod
            def tree_unflatten(cls, aux, children):
                return cls(*children, *aux)

            @jax.jit
            def go(self, x):
                if self.w > 2:  #! python-branch-on-traced
                    return x
                return x.reshape(self.n, 3)
        def main(x, n):
            return Net(jnp.ones(()), n).go(x)
        """,
    "nothing but structure": """
        @jax.tree_util.register_static
        @dataclass(frozen=True)
        class Config:
            n: int
            lr: float
        @jax.jit
        def run(cfg, x):
            if cfg.n > 3:
                return x
            return x.reshape(cfg.n, -1) * cfg.lr
        def main(n, x):
            return run(Config(n, 0.1), x)
        """,
    "static by number in a method": """
        class Agent:
            @partial(jax.jit, static_argnums=(0, 2))
            def act(self, x, greedy):
                if greedy:
                    return x * 2
                return x

        def main(x):
            return Agent().act(x, True)
        """,
    "bound by partial": """
        def forward(train, x):
            return x * 2 if train else x

        def main(x):
            return jax.jit(partial(forward, True))(x)
        """,
    "a default that nobody overrides": """
        @jax.jit
        def forward(x, mode="mean"):
            if mode == "mean":
                return x.mean()
            return x.sum()

        def main(x):
            return forward(x)
        """,
    "not mapped by vmap": """
        def forward(x, flag):
            return x * 2 if flag else x

        def main(x):
            return jax.vmap(forward, in_axes=(0, None))(jnp.abs(x), True)
        """,
    "without a spec for shard_map": """
        MESH = jax.make_mesh((1,), ("x",))

        @partial(jax.shard_map, mesh=MESH, in_specs=(jax.P("x"), None), out_specs=jax.P("x"))
        def forward(x, size):
            return x * 2 if size > 1 else x

        def main(x):
            return forward(x, 2)
        """,
    "grad leaves values at hand": """
        def loss(x):
            if x > 0:
                return x**2
            return x

        def main():
            return jax.grad(loss)(3.0)
        """,
    "flags that grad passes on": """
        def loss(w, x, train):
            return jnp.sum(w * x) if train else 0.0

        @jax.jit
        def step(w, x):
            return jax.grad(loss)(w, x, True)
        """,
    "config in a closure": """
        def make(config):
            config = {"layers": 3, "norm": True}

            @jax.jit
            def forward(x):
                for _ in range(config["layers"]):
                    x = x * 2
                return x / x.max() if config["norm"] else x

            return forward
        """,
    "tracers take another path": """
        def check(x):
            if isinstance(x, jax.core.Tracer):
                return
            if np.any(np.isnan(x)):
                raise ValueError

        @jax.jit
        def forward(x):
            y = x * 2
            check(y)
            return y
        """,
    "fields of a NamedTuple that are not traced": """
        class Config(NamedTuple):
            depth: int
            bias: bool

        @partial(jax.jit, static_argnames="config")
        def forward(x, config):
            for _ in range(config.depth):
                x = x + 1 if config.bias else x
            return x

        def main(x):
            return forward(x, config=Config(2, True))
        """,
    "containers have a length": """
        @jax.jit
        def forward(params, x):
            if params:
                for w in params:
                    x = x @ w
            if "bias" in {"bias": 1}:
                x = x + 1
            return x

        def main(x):
            return forward([x, x], x)
        """,
    "with a spec for shard_map": """
        MESH = jax.make_mesh((1,), ("x",))

        @partial(jax.shard_map, mesh=MESH, in_specs=(jax.P("x"), jax.P()), out_specs=jax.P("x"))
        def forward(x, size):
            return x * 2 if size > 1 else x  #! python-branch-on-traced

        def main(x):
            return forward(x, x.sum())
        """,
    "through a helper and a container": """
        def clip(pair):
            x, limit = pair
            if x > limit:  #! python-branch-on-traced
                return limit
            return x

        @jax.jit
        def forward(x):
            return clip((x * 2, 1.0))
        """,
    "in a method of an object": """
        class Model:
            def __init__(self, dim):
                self.dim = dim

            def forward(self, x):
                y = x * self.dim
                while y.sum() > 1:  #! python-branch-on-traced
                    y = y / 2
                return y

        def main(x):
            model = Model(3)
            return jax.jit(model.forward)(x)
        """,
    "mapped by vmap": """
        def step(x):
            y = x + 1
            return y if y > 0 else -y  #! python-branch-on-traced

        def main(x):
            return jax.vmap(step)(jnp.abs(x))
        """,
    "a loop that becomes traced": """
        @jax.jit
        def solve(x):
            error = 1.0
            while error > 1e-3:  #! python-branch-on-traced
                x = x / 2
                error = jnp.max(jnp.abs(x))
            return x
        """,
    "the counter of fori_loop": """
        def body(i, x):
            if i % 2 == 0:  #! python-branch-on-traced
                return x * 2
            return x

        def main(x):
            return lax.fori_loop(0, 10, body, x)
        """,
    "max and chained comparisons": """
        @jax.jit
        def clip(x):
            total = x.sum()
            big = max(total, 0.0)  #! python-branch-on-traced
            return big if 0 < total < 1 else total  #! python-branch-on-traced
        """,
    "fields of a struct dataclass": """
        @struct.dataclass
        class State:
            x: jax.Array
            t: int
            limit: int = struct.field(pytree_node=False)

        def step(state, action):
            if state.limit > 3:
                state = state.replace(x=state.x + action)
            if state.t >= state.limit:  #! python-branch-on-traced
                state = state.replace(t=0)
            return state.replace(t=state.t + 1), state.x

        def main(actions):
            return lax.scan(step, State(jnp.zeros(()), 0, 10), actions)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
