"""What `stale-value` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "two names for one value": """
        def locked(base, centre, kind):
            if kind == 0:
                frame = world = jnp.eye(4).at[0:3, 3].set(centre)
            else:
                frame = body = base.at[0:3, 3].set(centre)
            return jnp.linalg.inv(base) @ frame

        def wrong(base, centre):
            frame = body = base.at[0:3, 3].set(centre)  #! stale-value
            return jnp.linalg.inv(base)
        """,
    "a copy is no old version": """
        class Views(flax.struct.PyTreeNode):
            rays: jax.Array
            ids: jax.Array | None

        class Batch(flax.struct.PyTreeNode):
            view: Views

        def without_ids(batch: Batch):
            view = batch.view.replace(ids=None)
            return batch.replace(view=view)

        def forgotten(batch: Batch):
            view = batch.view.replace(ids=None)  #! stale-value
            return batch.replace(view=batch.view)  #! field-put-back
        """,
    "a new state with a name of its own": """
        def cell(params, h, x):
            out = jnp.tanh(h @ params["w"] + x @ params["u"])
            return out, out @ params["o"]

        def decode(params, h, x, steps):
            for _ in range(steps):
                h_next, y = cell(params, h, x)  #! stale-value
                x = jax.nn.softmax(y)
            return x
        """,
    "a scan that carries the old state": """
        def run(w, xs):
            def step(h, x):
                new_h = jnp.tanh(h @ w + x)  #! stale-value
                return h, h @ w
            return jax.lax.scan(step, jnp.zeros(4), xs)
        """,
    "running averages that never move": """
        import flax.linen as nn

        class Net(nn.Module):
            @nn.compact
            def __call__(self, x):
                return nn.BatchNorm(use_running_average=False)(x)

        def loss(params, stats, x):
            y, new = Net().apply({"params": params, "batch_stats": stats}, x, mutable=["batch_stats"])
            return y.mean(), new["batch_stats"]

        def train(params, stats, x):
            (value, moved), grads = jax.value_and_grad(loss, has_aux=True)(params, stats, x)  #! stale-value
            return jax.tree.map(lambda p, g: p - g, params, grads), stats, value
        """,
    "a step of an optimizer in order": """
        tx = optax.adamw(1e-3)
        def start(key):
            return {"w": jax.random.normal(key, (4, 8)), "b": jnp.zeros(8)}
        def loss(p, x):
            return jnp.sum((x @ p["w"] + p["b"]) ** 2)
        def step(p, s, x):
            g = jax.grad(loss)(p, x)
            u, t = tx.update(g, s, p)
            n = optax.apply_updates(p, u)
            return n, t
        p = start(jax.random.key(0))
        s = tx.init(p)
        for _ in range(3):
            p, s = step(p, s, jnp.ones((16, 4)))
        print(p)
        """,
    "the new state of an optimizer is never read": """
        tx = optax.adamw(1e-3)
        def start(key):
            return {"w": jax.random.normal(key, (4, 8)), "b": jnp.zeros(8)}
        def loss(p, x):
            return jnp.sum((x @ p["w"] + p["b"]) ** 2)
        def step(p, s, x):
            g = jax.grad(loss)(p, x)
            u, t = tx.update(g, s, p)  #! stale-value
            n = optax.apply_updates(p, u)
            return n, s
        p = start(jax.random.key(0))
        s = tx.init(p)
        for _ in range(3):
            p, s = step(p, s, jnp.ones((16, 4)))
        print(p)
        """,
    "the new parameters are never read": """
        tx = optax.adamw(1e-3)
        def start(key):
            return {"w": jax.random.normal(key, (4, 8)), "b": jnp.zeros(8)}
        def loss(p, x):
            return jnp.sum((x @ p["w"] + p["b"]) ** 2)
        def step(p, s, x):
            g = jax.grad(loss)(p, x)
            u, t = tx.update(g, s, p)
            n = optax.apply_updates(p, u)  #! stale-value
            return p, t
        p = start(jax.random.key(0))
        s = tx.init(p)
        for _ in range(3):
            p, s = step(p, s, jnp.ones((16, 4)))
        print(p)
        """,
    "the updates are never read": """
        tx = optax.adamw(1e-3)
        def start(key):
            return {"w": jax.random.normal(key, (4, 8)), "b": jnp.zeros(8)}
        def loss(p, x):
            return jnp.sum((x @ p["w"] + p["b"]) ** 2)
        def step(p, s, x):
            g = jax.grad(loss)(p, x)
            u, t = tx.update(g, s, p)  #! stale-value
            n = optax.apply_updates(p, g)
            return n, t
        p = start(jax.random.key(0))
        s = tx.init(p)
        for _ in range(3):
            p, s = step(p, s, jnp.ones((16, 4)))
        print(p)
        """,
    "a new value that is deleted": """
        def f(x):
            y = x.at[0].set(1)
            del y
            return x
        """,
    "a new value for a function that is returned": """
        def f(x):
            y = x.at[0].set(1)
            return x, lambda: y
        """,
    "a new value of the module": """
        def f(x):
            global y
            y = x.at[0].set(1)
            return x
        """,
    "a new value among the locals that are shown": """
        def f(x):
            y = x.at[0].set(1)
            print(locals())
            return x
        """,
    "a new value whose name says that nobody reads it": """
        def f(x):
            _y = x.at[0].set(1)
            return x
        """,
    "a new value for the next turn": """
        def f(x):
            for i in range(3):
                if i: print(y)
                y = x.at[i].set(1)
            return x
        """,
    "each input is scored from the same state": """
        def cell(h, x):
            h = h + x
            return h, h * 2

        def f(h, xs):
            out = []
            for x in xs:
                h_new, y = cell(h, x)  #? stale-value
                out.append(y)
            return out
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
