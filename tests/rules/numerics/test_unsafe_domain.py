"""What `unsafe-domain` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, messages, said

PROGRAMS = {
    "how many are like one of them": """
        def weights(ids):
            return jnp.stack([1.0 / (one == ids).sum() for one in ids])

        def by_place(ids):
            return jnp.stack([1.0 / jnp.sum(ids == ids[i]) for i in range(ids.shape[0])])

        def of_others(ids, others):
            return jnp.stack([1.0 / (one == others).sum() for one in ids])  #? unsafe-domain
        """,
    "infinities that a helper takes away": """
        def weights(helper, values):
            return (helper.xnp.nan_to_num(1 / (values[:, None] - values[None, :])) * values).sum()

        def spread(values):
            return (1 / (values[:, None] - values[None, :])).sum()  #! unsafe-domain
        """,
    "read where it was just written": """
        def passes(s, m, n):
            def body(carry, i):
                d, m = carry
                d = d.at[i].set((s[i].T @ m[i]).squeeze())
                return (d, m.at[i].set(m[i] / d[i] @ m[i].T)), None
            return jax.lax.scan(body, (jnp.zeros((n, 1)), m), jnp.arange(n))

        def wrong(s, n):
            def body(d, i):
                share = s[i] / d  #! unsafe-domain
                return d + 1.0, share @ share
            return jax.lax.scan(body, jnp.zeros(()), jnp.arange(n))
        """,
    "rows of a table": """
        def table(n):
            el = np.arange(n)
            out = np.zeros((2, n))
            out[0] = 2.0 / np.sqrt(2 * el)
            return out

        def wrong(x, n):
            return jnp.sum(x / jnp.arange(n))  #! unsafe-domain
        """,
    "a norm that is zero for nothing": """
        def safe_norm(x):
            total = jnp.sum(x * x, axis=-1, keepdims=True)
            safe = jnp.where(total == 0.0, 1.0, total)
            return jnp.where(total == 0.0, 0.0, jnp.sqrt(safe))

        def harmonics(x):
            return x / safe_norm(x)

        def wrong(x, mask):
            return x / jnp.where(mask, x.sum(), 0.0)  #! unsafe-domain
        """,
    "a floor at zero under a root, in one arm of a choice": """
        def damped(q, t):
            def over(t):
                f = jnp.sqrt(jnp.maximum(1 - 4 * jnp.square(q), 0))  #? where-nan-gradient
                return jnp.sinh(f * t) / f
            return jax.lax.cond(q > 0.5, jnp.sin, over, t)

        def kernel(x):
            return jnp.where(x > 0.0, jnp.exp(-1.0 / jnp.where(x > 0.0, x, 1.0)), 0.0)

        def scaled(x, factor):
            return kernel(x) / kernel(factor)

        def certain(x):
            return 1.0 / jax.nn.relu(x)  #! unsafe-domain
        """,
    "a division that the caller masks": """
        def safe_mask(mask, function, operand):
            return jnp.where(mask, function(jnp.where(mask, operand, 0.0)), 0.0)

        def lengths(x):
            squares = jnp.sum(x * x, axis=-1)
            return safe_mask(squares > 0.0, jnp.sqrt, squares)

        def unit(x):
            d = lengths(x)
            return safe_mask(d > 0.0, lambda y: y / d, x)
        """,
    "how often an index is among the indices": """
        def shared(values, indices):
            counts = jnp.bincount(indices, length=8)
            return values / counts.at[indices].get(mode="drop", fill_value=1)
        """,
    "values outside of the domain of a function": """
        def b1(x, y): return (y * jnp.log(jnp.maximum(x, 0.0))).mean()  #! unsafe-domain
        def b2(x): return 1.0 / jnp.arange(x.shape[0])  #! unsafe-domain
        def b3(labels): return jnp.mean(jnp.log(jax.nn.one_hot(labels, 10)))  #! unsafe-domain
        def b4(x): return x / (x - x.max())  #! unsafe-domain
        def b5(x): return jnp.sqrt(-jax.nn.softplus(x) - 1.0)  #! unsafe-domain
        def b6(x, m): return jnp.sum(x * m) / jnp.where(m, x, 0.0)  #! unsafe-domain
        def b7(x, t): return x.sum() / (t > 0).sum()  #? unsafe-domain
        def b8(a, b): return jnp.arccos(a / jnp.linalg.norm(a) @ (b / jnp.linalg.norm(b)))  #? unsafe-domain
        def b9(x): return jnp.log(jax.nn.softmax(x)).sum()  #? unsafe-domain
        def c1(x): return jnp.exp(jnp.clip(x, -100.0, 100.0)).sum()  #? unsafe-domain
        def c2(x): return jnp.exp(jnp.clip(x, -20.0, 20.0)), jnp.exp(x - x.max()), jnp.exp(x)
        def o0(x): valid = jnp.arange(16) > 4; return jnp.sum(x * valid) / valid.sum()
        def d2(r): t = (r / jax.nn.relu(r)) * r; return jnp.where(r > 0, t * r, 0.0)
        def d1(x): return (1 / jnp.arange(8)).at[0].set(0.0), (1 / jnp.arange(8))[1:]
        def o1(x, y): return (y * jnp.log(jnp.maximum(x, 1e-6))).mean()
        def o2(x): return 1.0 / (1 + jnp.arange(x.shape[0]))
        def o3(x): return jax.nn.softmax(x + jnp.log((x > 0).astype(jnp.float32)))
        def o4(x): return jnp.where(x > 0, 1 / jax.nn.relu(x), 0.0)
        def o5(x): return (x - x.mean()) / (x.std() + 1e-8), x / x.std()
        def o6(x): p = jax.nn.softmax(x); return -jnp.sum(p * jnp.log(p + 1e-9))
        def o7(x): return jnp.sqrt(jax.nn.relu(x)), 10000.0 ** (jnp.arange(4) / 4)
        def o8(x): n = (x > 0).sum(); return jax.lax.cond(n > 0, lambda: x.sum() / n, lambda: 0.0)
        def o9(x): best = x == x.max(); return best / best.sum(), jnp.log(jnp.diag(jnp.tril(x))).sum()
        """,
    "identities of one row": """
        def inverse(blocks):
            if blocks.shape[-1] == 1:
                return 1.0 / blocks
            return jnp.linalg.inv(blocks)

        def damped(v, rate):
            size = v.shape[-1]
            return inverse(jnp.square(v) + jnp.maximum(rate, 1e-10) * jnp.eye(size))

        def known(x):
            return x / jnp.eye(1), x / jnp.eye(3)  #! unsafe-domain
        """,
    "data that are prepared once": """
        def prepared(x):
            return (x - x.mean(axis=0)) / x.std(axis=0)

        @jax.jit
        def step(x):
            return (x - x.mean(axis=0)) / x.std(axis=0)  #? unsafe-domain
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)


def test_messages_name_the_reason():
    found = messages(PROGRAMS["values outside of the domain of a function"], "unsafe-domain")
    assert found[0] == "log of its argument, which is 0: `max(x, 0)` is 0 for every negative input"
    assert found[4] == "sqrt of a value, which is <= -1, is NaN"
    assert found[6] == "division by its argument, which may be 0: no element of the mask is 1"
