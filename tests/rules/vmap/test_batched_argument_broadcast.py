"""What `batched-argument-broadcast` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

_DATA = """
        N, D, K = 24, 5, 3
        keys = jax.random.split(jax.random.key(0), 8)
        xs = jax.random.normal(keys[0], (N, D))
        w = jax.random.normal(keys[1], (D, D))
"""

PROGRAMS = {
    "labels that pick": """
        def nll(w, x, label):
            return -jax.nn.log_softmax(x @ w)[label]

        labels = jax.random.randint(keys[2], (N,), 0, D)
        loss = jax.vmap(nll, in_axes=(None, 0, None))(w, xs, labels).mean()  #! batched-argument-broadcast
        right = jax.vmap(nll, in_axes=(None, 0, 0))(w, xs, labels).mean()
        """,
    "captured by the function": """
        ys = jnp.tanh(xs @ w)[:, 0]

        def loss(v):
            return jax.vmap(lambda x: (x @ v - ys) ** 2)(xs).mean()  #! batched-argument-broadcast

        slope = jax.grad(loss)(w[0])
        """,
    "captured by what `lax.map` runs": """
        ys = jnp.tanh(xs @ w)[:, 0]
        found = jax.lax.map(lambda x: jnp.sum((x @ w[0] - ys) ** 2), xs)  #! batched-argument-broadcast
        """,
    "the means that samples were drawn around": """
        means = xs @ w
        z = means + jax.random.normal(keys[2], (N, D))
        log_q = jax.vmap(lambda z, m: -0.5 * jnp.sum((z - m) ** 2), in_axes=(0, None))(z, means)  #! batched-argument-broadcast
        right = jax.vmap(lambda z, m: -0.5 * jnp.sum((z - m) ** 2))(z, means)
        """,
    "lists that were drawn for each": """
        users = jax.random.randint(keys[2], (N,), 0, 9)
        lists = jax.random.categorical(keys[3], jnp.ones((9, D))[users], axis=-1, shape=(K, N)).T
        table = jax.random.normal(keys[4], (9, D))
        scores = jax.vmap(lambda u, items: items @ u, in_axes=(0, None))(table[users], table[lists])  #! batched-argument-broadcast
        loss = -jax.nn.log_softmax(scores, axis=-1)[..., 0].mean()
        """,
    "as many by plain numbers": """
        obs, actions = jax.random.normal(keys[2], (256, 5)), jax.random.normal(keys[3], (256, 5))
        found = jax.vmap(lambda o, a: jnp.sum((o @ w - a) ** 2), in_axes=(0, None))(obs, actions)  #? batched-argument-broadcast
        """,
    "distances to all goals at once": """
        goals = jax.random.normal(keys[2], (N, D))
        far = jax.vmap(lambda x, g: jnp.linalg.norm(x - g), in_axes=(0, None))(xs, goals)  #? batched-argument-broadcast
        """,
    "attention": """
        q, k, v = xs @ w, xs @ w.T, xs @ (w * 2)
        out = jax.vmap(lambda one: jax.nn.softmax(k @ one) @ v)(q)
        """,
    "pairs of which the diagonal is right": """
        a, b = xs @ w, xs @ w.T
        scores = jax.vmap(lambda one, all_: all_ @ one, in_axes=(0, None))(a, b)
        loss = -jnp.mean(jax.nn.log_softmax(scores, axis=-1)[jnp.arange(N), jnp.arange(N)])
        """,
    "pairs without the diagonal": """
        a, b = xs @ w, xs @ w.T
        scores = jax.vmap(lambda one: b @ one)(a)
        loss = jnp.mean(scores * (1 - jnp.eye(N)))
        """,
    "a kernel regression": """
        ys = jnp.sin(xs[:, 0])
        queries = jax.random.normal(keys[2], (N, D))

        def predict(x):
            weights = jnp.exp(-jnp.sum((x - xs) ** 2, axis=-1))
            return jnp.sum(weights * ys) / jnp.sum(weights)

        out = jax.vmap(predict)(queries)
        """,
    "how far two samples are from one another": """
        other = jax.random.normal(keys[2], (N, D))
        kernel = lambda x, y: jnp.exp(-jnp.sum((x - y) ** 2, axis=-1))
        across = jax.vmap(lambda x: kernel(x, other))(xs).mean()
        """,
    "forces of all on each": """
        mass = jax.random.uniform(keys[2], (N,))

        def force(x, all_x, mass):
            gap = all_x - x
            return jnp.sum(mass[:, None] * gap / (jnp.sum(gap**2, -1, keepdims=True) + 1e-3), axis=0)

        out = jax.vmap(force, in_axes=(0, None, None))(xs, xs, mass)
        """,
    "the density of a mixture": """
        means = xs @ w
        z = means + jax.random.normal(keys[2], (N, D))
        log_q = jax.vmap(lambda z: jax.nn.logsumexp(jnp.sum(-0.5 * (z - means) ** 2, axis=-1)))(z)
        """,
    "members that share the data": """
        ys = jnp.sin(xs[:, 0])
        members = jax.random.normal(keys[2], (7, D))
        out = jax.vmap(lambda m: jnp.mean((xs @ m - ys) ** 2))(members)
        """,
    "rows by their numbers": """
        ys = jnp.sin(xs[:, 0])
        out = jax.vmap(lambda i: (xs[i] @ w[0] - ys[i]) ** 2)(jnp.arange(N)).mean()
        """,
    "rates that generations hand on": """
        MEMBERS = 5

        def fit(key, rates):
            def one(key):
                v = jax.random.normal(key, (D,))
                for _ in range(3):
                    v = v - rates * jax.grad(lambda v: jnp.mean((xs @ v) ** 2))(v)
                return jnp.mean((xs @ v) ** 2)
            return jax.vmap(one)(jax.random.split(key, MEMBERS))  #! batched-argument-broadcast

        rates = jnp.linspace(0.1, 0.5, MEMBERS)
        for key in keys:
            order = jnp.argsort(fit(key, rates))
            rates = jnp.concatenate([rates[order[:3]], 0.8 * rates[order[:2]]])
        """,
    "widths of filters that a scan renews": """
        FILTERS = 5

        def respond(widths, key):
            inputs = jax.random.normal(key, (FILTERS, D))
            seen = jax.lax.map(lambda x: jnp.exp(-((x @ w) / widths) ** 2).sum(), inputs)  #! batched-argument-broadcast
            return jnp.concatenate([widths[1:], widths[:1]]), seen

        _, seen = jax.lax.scan(respond, jnp.ones(FILTERS), keys)
        """,
    "rates that go along": """
        MEMBERS = 5

        def fit(key, rates):
            def one(key, rate):
                v = jax.random.normal(key, (D,))
                return v - rate * jax.grad(lambda v: jnp.mean((xs @ v) ** 2))(v)
            return jax.vmap(one)(jax.random.split(key, MEMBERS), rates)

        rates = jnp.linspace(0.1, 0.5, MEMBERS)
        for key in keys:
            rates = jnp.concatenate([rates[:3], fit(key, rates).mean(1)[:2]])
        """,
    "standardised by all": """
        ys = xs @ w
        out = jax.vmap(lambda x: (x - ys.mean(axis=0)) / ys.std(axis=0))(xs)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert [one for one in said(_DATA + program) if "batched" in one[1]] == marked(_DATA + program)
