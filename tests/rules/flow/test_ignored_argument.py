"""What `ignored-argument` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a newer version of an argument that nothing needs": """
        def features(p, g, m):
            size = jnp.mean(p**2)
            g = g * size  #? ignored-argument
            p = p * size
            m = m * size
            return p + m

        def run(p):
            return features(p, jnp.ones(3), p)
        """,
    "parameters that an interface asks for": """
        def grow(x, scale, chance, limit):
            return x * 2

        def shrink(x, scale, chance, limit):
            return x / 2

        def keep(x, scale, chance, limit):
            return x

        def run(x, scale, chance):
            scale, chance = jnp.exp(scale), jnp.exp(chance)
            return grow(x, scale, chance, chance) + shrink(x, scale, chance, chance) + keep(x, scale, chance, chance)
        """,
    "a setting of the function around goes into what nobody reads": """
        @jax.jit
        def sample(x, labels, strength):
            def body(x, t):
                told = jnp.tanh(x * t + labels)
                free = jnp.tanh(x * t)
                mixed = free + strength * (told - free)  #! ignored-argument
                return x - 0.1 * told, None

            return jax.lax.scan(body, x, jnp.arange(9.0))[0]

        def used(x, labels, strength):
            def body(x, t):
                told = jnp.tanh(x * t + labels)
                free = jnp.tanh(x * t)
                mixed = free + strength * (told - free)  #? value-never-read
                return x - 0.1 * told * strength, None

            return jax.lax.scan(body, x, jnp.arange(9.0))[0]

        def shown(x, labels, strength):
            def body(x, t):
                told = jnp.tanh(x * t + labels)
                mixed = told * strength
                jax.debug.print("{}", mixed)
                return x - 0.1 * told, None

            return jax.lax.scan(body, x, jnp.arange(9.0))[0]
        """,
    "a setting of an object goes into what nobody reads": """
        class Sampler:
            def __init__(self, w, heat, floor):
                self.w = w
                self.heat = heat
                self.floor = floor

            def draw(self, key, h):
                logits = h @ self.w
                scaled = logits / self.heat  #! ignored-argument
                return jax.random.categorical(key, logits)

            def least(self, h):
                logits = h @ self.w
                low = logits - self.floor  #? value-never-read
                return logits

            def rest(self, x):
                return x.max(), self.floor
        """,
    "what a helper makes of parameters goes nowhere": """
        def cosine(step, total, base):
            return 0.5 * base * (1 + jnp.cos(jnp.pi * step / total))

        @jax.jit
        def descend(params, grads, step, base, total):
            rate = cosine(step, total, base)  #! ignored-argument
            return jax.tree.map(lambda p, g: p - base * g, params, grads)

        @jax.jit
        def slower(params, grads, step, base, total):
            rate = cosine(step, total, base)
            return jax.tree.map(lambda p, g: p - rate * g, params, grads)

        class Block(nn.Module):
            width: int
            rate: float = 0.1

            @nn.compact
            def __call__(self, x, train):
                h = nn.gelu(nn.Dense(4 * self.width)(x))
                dropped = nn.Dropout(self.rate, deterministic=not train)(h)  #! ignored-argument
                return x + nn.Dense(self.width)(h)
        """,
    "a value for later that is said to be unwanted": """
        class Sampler:
            def __init__(self, w, heat):
                self.w = w
                self.heat = heat

            def draw(self, key, h):
                logits = h @ self.w
                _scaled = logits / self.heat
                return jax.random.categorical(key, logits)
        """,
    "the time of a step is left from an earlier version": """
        @jax.jit
        def step(i, state):
            t = i * 0.1
            return state + 1.0

        def main(state):
            return jax.lax.fori_loop(0, 3, step, state)
        """,
    "computed for one call alone, beyond records, maps and scans": """
        class Batch(NamedTuple):
            x: jax.Array
            valid: jax.Array

        def make(x, lengths):
            return Batch(x, jnp.arange(5)[None] < lengths[:, None])

        def encode(x, valid, w):  #! ignored-argument
            return jnp.tanh(x * w)

        @jax.jit
        def loss(w, batch):
            return jnp.sum(encode(batch.x, batch.valid, w) ** 2)

        def main(x, lengths):
            return loss(jnp.ones(5), make(x, lengths))

        def cell(h, x, alive):  #! ignored-argument
            return jnp.tanh(h + x)

        def rollout(h, xs, dones):
            data = {"x": xs, "alive": 1.0 - dones}

            def body(h, one):
                h = cell(h, one["x"], one["alive"])
                return h, h

            return jax.lax.scan(body, h, data)

        def squared(p, x, y, weight):  #! ignored-argument
            return (x @ p - y) ** 2

        def mean(p, xs, ys, counts):
            weights = jnp.maximum(counts, 1) / 10
            return jnp.mean(jax.vmap(lambda x, y, w: squared(p, x, y, w))(xs, ys, weights))
        """,
    "read elsewhere: a warning": """
        def layer(x, mask, w):  #? ignored-argument
            return jnp.tanh(x * w)

        def loss(w, x, lengths):
            mask = jnp.arange(5)[None] < lengths[:, None]
            return jnp.sum(layer(x, mask, w) * mask) / jnp.maximum(jnp.sum(mask), 1)
        """,
    "a variable is left, and what it was made of is returned or says what is": """
        def act(knowledge, state):
            own = state.index
            other = 1 - own
            return jnp.argmax(knowledge[own])

        def scaled(x, by):
            inverse = 1 / by
            return x * by
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
