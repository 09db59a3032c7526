"""What `reduction-over-wrong-axis` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "logarithms of weights": """
        from jax.scipy.special import logsumexp

        def mean(log_w, particles):
            log_z = logsumexp(log_w, axis=0)
            w = jnp.exp(log_w - log_z)  #! reduction-over-wrong-axis
            return (w[..., None] * particles).sum(1)

        def right(log_w, particles):
            w = jnp.exp(log_w - logsumexp(log_w, axis=1)[:, None])
            return (w[..., None] * particles).sum(1)

        mean(jnp.zeros((5, 64)), jnp.ones((5, 64, 3)))
        right(jnp.zeros((5, 64)), jnp.ones((5, 64, 3)))
        """,
    "through a map": """
        def ensemble(logits, guesses):
            w = jax.nn.softmax(logits, axis=0)  #! reduction-over-wrong-axis
            return jax.vmap(lambda a, b: a @ b)(w, guesses)

        def right(logits, guesses):
            w = jax.nn.softmax(logits, axis=1)
            return jax.vmap(lambda a, b: a @ b)(w, guesses)

        ensemble(jnp.ones((8, 5)), jnp.ones((8, 5, 3)))
        right(jnp.ones((8, 5)), jnp.ones((8, 5, 3)))
        """,
    "divided by a sum that was one already": """
        def update(logits, v):
            shares = jax.nn.softmax(logits, axis=1)
            w = shares / (shares.sum(axis=1, keepdims=True) + 1e-8)  #! reduction-over-wrong-axis
            return jnp.einsum("bsn,bnd->bsd", w, v)

        def slots(logits, v):
            shares = jax.nn.softmax(logits, axis=1)
            w = shares / (shares.sum(axis=-1, keepdims=True) + 1e-8)
            new = jnp.einsum("bsn,bnd->bsd", w, v)
            return new, jnp.einsum("bsn,bsd->bnd", shares, new)

        def means(x, scores):
            r = jnp.exp(scores - jax.nn.logsumexp(scores, axis=1, keepdims=True))
            return (r / r.sum(1, keepdims=True)).T @ x  #! reduction-over-wrong-axis

        def right(x, scores):
            r = jax.nn.softmax(scores, axis=1)
            n = r.sum(0)
            return (r.T @ x) / n[:, None]

        update(jnp.ones((2, 4, 9)), jnp.ones((2, 9, 8)))
        slots(jnp.ones((2, 4, 9)), jnp.ones((2, 9, 8)))
        means(jnp.ones((100, 2)), jnp.ones((100, 5)))
        right(jnp.ones((100, 2)), jnp.ones((100, 5)))
        """,
    "the mean of a support": """
        ATOMS = jnp.linspace(-10.0, 10.0, 51)

        def values(logits):
            probs = jax.nn.softmax(logits, axis=1)  #! reduction-over-wrong-axis
            return jnp.sum(probs * ATOMS, axis=-1)

        def right(logits):
            return jnp.sum(jax.nn.softmax(logits, axis=-1) * ATOMS, axis=-1)

        values(jnp.ones((32, 4, 51)))
        right(jnp.ones((32, 4, 51)))
        """,
    "an entropy": """
        def bonus(logits):
            p = jax.nn.softmax(logits, axis=-2)  #! reduction-over-wrong-axis
            return -(p * jnp.log(p + 1e-8)).sum(axis=-1).mean()

        def right(logits):
            p = jax.nn.softmax(logits, axis=-1)
            apart = -(p * jnp.log(p + 1e-8)).sum(axis=-1).mean()
            return apart, -(p * jnp.log(p + 1e-8)).sum(axis=0).sum(), -(p * jnp.log(p + 1e-8)).mean(axis=0).sum()

        bonus(jnp.ones((32, 4)))
        right(jnp.ones((32, 4)))
        """,
    "drawn along another axis": """
        def act(key, logits):
            logp = jax.nn.log_softmax(logits, axis=0)  #! reduction-over-wrong-axis
            return jax.random.categorical(key, logp)

        def right(key, logits):
            logp = jax.nn.log_softmax(logits.T, axis=0)
            return jax.random.categorical(key, logp, axis=0)

        act(jax.random.key(0), jnp.ones((32, 4)))
        right(jax.random.key(0), jnp.ones((32, 4)))
        """,
    "called for one example and for many": """
        def q_values(w, head, s):
            adv = jnp.tanh(s @ w) @ head
            return adv - jnp.mean(adv)  #! reduction-over-wrong-axis

        def act(w, head, s):
            return jnp.argmax(q_values(w, head, s))

        def loss(w, head, s):
            return jnp.square(q_values(w, head, s)).sum(axis=-1).mean()

        act(jnp.ones((4, 8)), jnp.ones((8, 3)), jnp.ones(4))
        loss(jnp.ones((4, 8)), jnp.ones((8, 3)), jnp.ones((16, 4)))
        """,
    "called for one example and mapped": """
        def q_values(w, head, s):
            adv = jnp.tanh(s @ w) @ head
            return adv - jnp.mean(adv)

        def stable(x):
            z = jnp.exp(x - jnp.max(x))
            return z / z.sum(axis=-1, keepdims=True)

        def clip(g):
            return g * jnp.minimum(1.0, 1.0 / jnp.linalg.norm(g))

        q_values(jnp.ones((4, 8)), jnp.ones((8, 3)), jnp.ones(4))
        jax.vmap(q_values, (None, None, 0))(jnp.ones((4, 8)), jnp.ones((8, 3)), jnp.ones((16, 4)))
        stable(jnp.ones((16, 4)) @ jnp.ones((4, 3)))
        stable(jnp.ones(4) @ jnp.ones((4, 3)))
        clip(jnp.ones(4))
        clip(jnp.ones((4, 3)))
        """,
    "weighted means that are written out": """
        def of_any_size(v, m):
            return jnp.sum(v * m, axis=-1) / (jnp.sum(m, axis=-2) + 1e-6)  #! reduction-over-wrong-axis

        def pooled(x, mask):
            n = jnp.maximum(mask.sum(0), 1.0)  #! reduction-over-wrong-axis
            return jnp.einsum("btd,bt->bd", x, mask) / n[:, None]

        def loss(err, valid):
            w = valid.astype(jnp.float32)
            return (jnp.sum(err * w, axis=1) / jnp.sum(w)).mean()  #? reduction-over-wrong-axis

        def right(x, logp, mask, onehot):
            means = (logp * mask).sum(axis=1) / mask.sum(axis=1), (logp * mask).sum() / mask.sum()
            pooled = (x * mask[..., None]).sum(1) / jnp.maximum(mask.sum(1), 1)[:, None]
            whole = (jnp.sum(logp * mask, axis=1) / jnp.sum(mask)).sum()
            return means, pooled, whole, (onehot.T @ logp) / onehot.sum(0)[:, None]

        loss(jnp.ones((8, 12)), jnp.ones((8, 12), bool))
        right(jnp.ones((8, 12, 3)), jnp.ones((8, 12)), jnp.ones((8, 12)), jnp.ones((8, 4)))
        """,
    "unit vectors that are compared": """
        def unit(x, axis=-1):
            return x / (jnp.linalg.norm(x, axis=axis, keepdims=True) + 1e-8)

        def loss(images, texts):
            images = images / jnp.linalg.norm(images, axis=0, keepdims=True)  #! reduction-over-wrong-axis
            return -jnp.diag(jax.nn.log_softmax(images @ unit(texts).T, axis=1)).mean()

        def other(images, texts):
            images = images * jax.lax.rsqrt(jnp.sum(images**2, 0, keepdims=True))  #! reduction-over-wrong-axis
            return jnp.argmax(jnp.einsum("id,td->it", images, unit(texts)), axis=1)

        def right(images, texts, w):
            columns = w / jnp.sqrt(jnp.sum(w * w, axis=0, keepdims=True))
            return jax.nn.softmax(unit(images) @ unit(texts).T), jax.nn.softmax(unit(images) @ columns)

        def factors(a, b):
            return unit(a, 0) @ unit(b, 0).T

        loss(jnp.ones((16, 8)), jnp.ones((16, 8)))
        other(jnp.ones((16, 8)), jnp.ones((16, 8)))
        right(jnp.ones((16, 8)), jnp.ones((16, 8)), jnp.ones((8, 4)))
        factors(jnp.ones((16, 8)), jnp.ones((16, 8)))
        """,
    "one answer for all examples": """
        def accuracy(logits, labels):
            guess = jnp.argmax(logits)  #! reduction-over-wrong-axis
            return jnp.mean(guess == labels)

        def right(logits, label):
            return jnp.argmax(logits) == label

        accuracy(jnp.ones((8, 3)), jnp.zeros(8, int))
        shares = jnp.mean(jax.vmap(right)(jnp.ones((8, 3)), jnp.zeros(8, int)))
        """,
    "shares that are meant to be summed over another axis": """
        from jax.scipy.special import logsumexp

        def overlap(logits, truth):
            p = jax.nn.softmax(logits, axis=-1)
            return (p * truth).sum(axis=(0, 1)) / (p.sum((0, 1)) + truth.sum((0, 1)))

        def balance(gates, mask):
            return (jax.nn.softmax(gates, axis=-1).mean(0) * mask.mean(0)).sum()

        def dispatched(x, logits):
            b, t, s, p = logits.shape
            d = jax.nn.softmax(logits, axis=1)
            c = jax.nn.softmax(logits.reshape(b, t, s * p), axis=-1).reshape(b, t, s, p)
            return jnp.einsum("bspd,btsp->btd", jnp.tanh(jnp.einsum("btd,btsp->bspd", x, d)), c)

        def where_it_is(feats):
            b, h, w, c = feats.shape
            p = jax.nn.softmax(feats.reshape(b, h * w, c), axis=1).reshape(b, h, w, c)
            return (p.sum(1) * jnp.linspace(-1, 1, w)[None, :, None]).sum(1)

        def plan(log_k, y):
            for _ in range(5):
                log_k = log_k - logsumexp(log_k, axis=0, keepdims=True)
                log_k = log_k - logsumexp(log_k, axis=1, keepdims=True)
            return jnp.exp(log_k) @ y

        def again(scores, mask, x):
            a = jax.nn.softmax(scores, axis=-1) * mask
            return (a / a.sum(-1, keepdims=True)) @ x

        overlap(jnp.ones((8, 9, 3)), jnp.ones((8, 9, 3)))
        balance(jnp.ones((9, 4)), jnp.ones((9, 4)))
        dispatched(jnp.ones((2, 6, 3)), jnp.ones((2, 6, 4, 2)))
        where_it_is(jnp.ones((2, 5, 6, 3)))
        plan(jnp.ones((5, 6)), jnp.ones((6, 2)))
        again(jnp.ones((5, 6)), jnp.ones((5, 6)) > 0, jnp.ones((6, 2)))
        """,
    "positions that are looked up along another axis": """
        def nearest(points, grid):
            cost = (points[:, None] - grid[None, :]) ** 2
            return grid[jnp.argmin(cost.sum(axis=1))]  #! reduction-over-wrong-axis

        def typical(x, kinds):
            alike = x @ kinds.T
            best = int(alike.mean(axis=1).argmax())  #! reduction-over-wrong-axis
            return kinds[best]

        def moved(a, b):
            apart = jnp.sum((a[:, None] - b[None]) ** 2, axis=-1)
            return a[jnp.argmin(apart, axis=1)] - a  #? reduction-over-wrong-axis

        nearest(jnp.ones(8), jnp.ones(8))
        typical(jnp.ones((8, 3)), jnp.ones((8, 3)))
        moved(jnp.ones((8, 3)), jnp.ones((8, 3)))
        """,
    "positions that are looked up along their own": """
        def nearest(points, grid, names):
            cost = (points[:, None] - grid[None, :]) ** 2
            best = jnp.argmin(cost.sum(axis=0))
            return grid[best], names[best], points[cost.min(axis=1).argmax()]

        def neighbours(a, labels):
            apart = jnp.sum((a[:, None] - a[None]) ** 2, axis=-1) + 1e9 * jnp.eye(a.shape[0])
            near = jnp.argmin(apart, axis=1)
            return a[near], labels[near]

        def fittest(population):
            fitness = jax.vmap(lambda x: (x ** 2).sum())(population)
            return population[jnp.argmin(fitness)]

        GRID = jnp.linspace(0.0, 1.0, 8)

        @jax.jit
        def promise(x, y):
            near = jnp.exp(-((GRID[:, None] - x[None, :]) ** 2))
            sure = 1.0 - jnp.sum(near * jnp.linalg.solve(near.T @ near, near.T).T, axis=1)
            return near @ y + sure

        print(GRID[jnp.argmax(promise(jnp.ones(8), jnp.ones(8)))])
        nearest(jnp.ones(8), jnp.ones(8), jnp.ones(8))
        neighbours(jnp.ones((8, 3)), jnp.ones(8))
        fittest(jnp.ones((8, 3)))
        """,
    "parts of one thing that are compared by a sum or a distance": """
        class Layer(eqx.Module):
            send: jax.Array
            receive: jax.Array

            def weights(self, h, adjacency):
                scores = jax.nn.leaky_relu((h @ self.send)[..., :, None] + (h @ self.receive)[..., None, :])
                return jax.nn.softmax(jnp.where(adjacency > 0, scores, -1e9), axis=1)  #! reduction-over-wrong-axis

            def __call__(self, nodes, adjacency):
                h = nodes @ jnp.ones((4, 4))
                return jnp.einsum("sr,sd->rd", self.weights(h, adjacency), h)

        def near(x, v):
            apart = jnp.sum((x[:, None] - x[None]) ** 2, axis=-1)
            return jax.nn.softmax(-apart, axis=0) @ (x @ v)  #! reduction-over-wrong-axis

        layer = Layer(jnp.ones(4), jnp.ones(4))
        jax.vmap(layer)(jnp.ones((3, 7, 4)), jnp.ones((3, 7, 7)))
        print(layer.weights(jnp.ones((7, 4)), jnp.ones((7, 7))).sum(axis=0))
        near(jnp.ones((7, 4)), jnp.ones((4, 2)))
        """,
    "parts of one thing that get shares of all others, and points that are shared out": """
        def attend(x, a, b):
            scores = jax.nn.leaky_relu((x @ a)[:, None] + (x @ b)[None, :])
            apart = jnp.sum((x[:, None] - x[None]) ** 2, axis=-1)
            return jnp.einsum("sr,sd->rd", jax.nn.softmax(scores, axis=0), x), jax.nn.softmax(-apart, axis=1) @ x

        def shared_out(x, centres):
            apart = jnp.sum((x[:, None] - centres[None]) ** 2, axis=-1)
            return jnp.einsum("nk,nd->kd", jax.nn.softmax(-apart, axis=1), x)

        attend(jnp.ones((7, 4)), jnp.ones(4), jnp.ones(4))
        shared_out(jnp.ones((7, 4)), jnp.ones((7, 4)))
        """,
    "a part of what adds up to one": """
        def near(logits, bins):
            logits = jax.nn.log_softmax(logits)
            return jax.nn.logsumexp(logits, where=bins < 8.0, axis=-1)

        def mass(scores, mask):
            shares = jax.nn.softmax(scores, axis=-1)
            return jnp.sum(shares, axis=-1, where=mask)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
