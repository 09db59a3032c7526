"""What `wrong-argnums` finds in programs, and what it leaves alone."""

import pytest
from rules.programs import marked, said

PROGRAMS = {
    "a step by hand in a compiled loop": """
        def energy(data, theta):
            return jnp.sum((data - theta) ** 2)
        force = jax.grad(energy)

        def fit(data, theta):
            def body(i, theta):
                return theta - 0.1 * force(data, theta)  #! wrong-argnums
            return jax.lax.fori_loop(0, 50, body, theta)
        fit(jnp.ones(3), jnp.zeros(3))
        """,
    "a method adds a gradient and noise": """
        class Sampler:
            def __init__(self, density, rate):
                self.score = jax.grad(density, argnums=0)
                self.rate = rate
            def step(self, z, x, key):
                noise = jax.random.normal(key, z.shape)
                return z + self.rate * self.score(x, z) + jnp.sqrt(2 * self.rate) * noise  #! wrong-argnums

        def density(x, z):
            return -0.5 * jnp.sum((x - z) ** 2) - 0.5 * jnp.sum(z**2)

        def chain(key, x):
            sampler = Sampler(density, 0.01)
            def body(carry, k):
                z, n = carry
                return (sampler.step(z, x, k), n + 1), None
            return jax.lax.scan(body, (jnp.zeros(3), 0), jax.random.split(key, 10))
        chain(jax.random.key(0), jnp.ones(3))
        """,
    "a compiled step that a Python loop calls": """
        def energy(data, theta):
            return jnp.sum((data - theta) ** 2)

        @jax.jit
        def step(theta, data):
            return theta - 0.1 * jax.grad(energy)(data, theta)  #! wrong-argnums

        def fit(data, theta):
            for _ in range(50):
                theta = step(theta, data)
            return theta
        fit(jnp.ones(3), jnp.zeros(3))
        """,
    "a tree is changed leaf by leaf": """
        def loss(x, params):
            return jnp.mean((x["w"] - params["w"]) ** 2)

        def fit(x, params):
            def body(params, _):
                grads = jax.grad(loss)(x, params)  #! wrong-argnums
                return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), None
            return jax.lax.scan(body, params, None, length=9)
        fit({"w": jnp.ones(3)}, {"w": jnp.zeros(3)})
        """,
    "two modules of one class": """
        import equinox as eqx
        import optax

        class Net(eqx.Module):
            weight: jax.Array
            bias: jax.Array

            def __call__(self, x):
                return x @ self.weight + self.bias

        tx = optax.sgd(1e-3)

        def cost(critic, actor, x):
            return -jnp.mean(critic(jnp.tanh(actor(x))))

        @jax.jit
        def step(critic, actor, state, x):
            grads = jax.grad(cost)(critic, actor, x)  #! wrong-argnums
            updates, state = tx.update(grads, state)
            return optax.apply_updates(actor, updates), state

        nets = [Net(jnp.ones((3, 3)), jnp.zeros(3)), Net(jnp.ones((3, 3)), jnp.zeros(3))]
        actor, state = step(nets[0], nets[1], tx.init(nets[1]), jnp.ones((5, 3)))
        """,
    "in mechanics each of two moves along the gradient of the other": """
        def hamiltonian(q, p):
            return 0.5 * jnp.sum(p**2) + jnp.sum(jnp.cos(q))

        def move(q, p, dt):
            def body(carry, _):
                q, p = carry
                p = p - dt * jax.grad(hamiltonian, 0)(q, p)
                q = q + dt * jax.grad(hamiltonian, 1)(q, p)
                return (q, p), None
            return jax.lax.scan(body, (q, p), None, length=9)
        move(jnp.ones(3), jnp.zeros(3), 0.1)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_findings_are_the_marked_ones(program: str) -> None:
    assert said(program) == marked(program)
