"""More code of users whose repositories nobody had looked at; lines that end in `#!` give an error, no others do."""

import pytest
from rules.test_unseen_user_code import expected_and_found

PROGRAMS = {
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
            view = batch.view.replace(ids=None)  #!
            return batch.replace(view=batch.view)  #!
        """,
    "a script that gives a library's name to another": """
        import jax.numpy as xp

        def size(x):
            return xp.abs(x)

        def later(x):
            return jax.pmap(lambda x: size(x))(x)

        before = later(xp.ones((8, 3)))

        def never_called_here(x):
            return jax.pmap(lambda x: size(x))(x)

        import numpy as xp

        after = xp.array(before)
        """,
    "index functions give tuples": """
        def scaled(x, factor):
            return x.at[jnp.diag_indices(x.shape[0]) + (Ellipsis,)].mul(factor)

        def joined(x):
            return jnp.diag(x) + (1, 2)  #!
        """,
    "ends of a range of numbers are no sizes": """
        @jax.jit
        def half_lives(steps):
            return jnp.logspace(1, jnp.log10(steps), 10)

        @jax.jit
        def spaced(steps):
            return jnp.linspace(0, 1, steps)  #!
        """,
    "a condition asks what the other tree is": """
        def is_scalar(x):
            try:
                jnp.asarray(x)
                return True
            except Exception:
                return False

        def scaled(tree, factor):
            if is_scalar(factor):
                return jax.tree_util.tree_map(lambda x: x * factor, tree)
            return jax.tree_util.tree_map(lambda x, y: x * y, tree, factor)

        def main():
            return scaled({"a": jnp.ones(3)}, jnp.ones(()))

        def mixed():
            return jax.tree_util.tree_map(lambda x, y: x * y, {"a": jnp.ones(3)}, jnp.ones(()))  #!
        """,
    "names of static arguments behind a wrapper": """
        class Step:
            def __init__(self, rate):
                self.rate = rate

        def summarised(function, numbers=()):
            @functools.wraps(function)
            def wrapper(*args, **kwargs):
                return function(*args, **kwargs), {}

            return wrapper

        @functools.partial(jax.jit, static_argnames=("step",))
        @functools.partial(summarised, numbers=(0,))
        def unroll(step, theta):
            return theta * step.rate

        @jax.jit
        def plain(step, theta):
            return theta * step.rate

        def main(theta):
            return unroll(Step(0.1), theta)

        def refused(theta):
            return plain(Step(0.1), theta)  #!
        """,
    "scores that are normalised under another temperature": """
        def loss_of(q, chosen, target, temperature, alpha):
            error = jnp.square(chosen - target)
            penalty = jax.scipy.special.logsumexp(q / temperature, axis=-1) - chosen / temperature
            return (error + alpha * penalty).mean(), distrax.Categorical(logits=q / temperature).entropy()

        def update(params, batch, config):
            def loss(params):
                q = batch["observations"] @ params["w"]
                chosen = q[jnp.arange(len(batch["actions"])), batch["actions"]]
                return loss_of(q, chosen, batch["targets"], config["temperature"], config["alpha"])

            return jax.grad(loss, has_aux=True)(params)
        """,
    "a comment says that nothing is learned here": """
        def hard(params, x):
            def loss(params):
                density = jax.nn.sigmoid(x @ params["density"])
                solid = (density > 0.5).astype(density.dtype)  # no gradient to the density
                return (solid * (x @ params["colour"])).sum()

            return jax.grad(loss)(params)

        def dead(params, x):
            def loss(params):
                density = jax.nn.sigmoid(x @ params["density"])
                solid = (density > 0.5).astype(density.dtype)  #!
                return (solid * (x @ params["colour"])).sum()

            return jax.grad(loss)(params)
        """,
    "parameters that a run reads by itself": """
        class Model:
            def forward(self, inputs):
                return inputs * jax.random.normal(hk.next_rng_key(), (3,))

            def __call__(self, params, key, inputs):
                return hk.transform(hk.vmap(self.forward, split_rng=True)).apply(params, key, inputs)

        def loss(params, model, key, x):
            return (model(params, key, x) ** 2).mean()

        def main(params, key, x):
            return jax.grad(loss)(params, Model(), key, x)
        """,
    "axes of static arguments, and lists of axes": """
        @functools.partial(jax.pmap, in_axes=(None, 0), static_broadcasted_argnums=(2,))
        def collect(agent, key, size):
            return agent * key * size

        @functools.partial(jax.pmap, in_axes=(None, 0), static_broadcasted_argnums=(0,))  #!
        def short(size, agent, key):
            return agent * key * size

        def main(agent, keys):
            return collect(agent, keys, 3), short(3, agent, keys)

        def interleaved(x, block):
            x = jnp.reshape(x, x.shape[:-1] + tuple(block) + (-1,))
            axes = (np.arange(2 * len(block)) + 1).reshape(2, -1).ravel(order="F")
            return jnp.transpose(x, (0,) + tuple(axes) + (len(axes) + 1,))
        """,
    "text is no array": """
        def scaled(x):
            if x == "none":
                return None
            return x * 2

        def sized(x):
            if x == 1:  #!
                return None
            return x * 2

        def main(xs):
            return jax.vmap(lambda x: scaled(jnp.exp(x)))(xs), jax.vmap(lambda x: sized(jnp.exp(x)))(xs)
        """,
    "one element, one key for two on request, objects with keys": """
        def start(rng, x):
            model = hk.transform(lambda y: hk.Linear(3)(y))
            return jax.vmap(model.init, in_axes=None, axis_size=1)(rng, x)

        def interpolated(key, x, same):
            first, second = jax.random.split(key)
            noise = jax.random.normal(first, x.shape)
            if same:
                second = first
            return noise, jax.random.normal(second, x.shape)

        def forgetful(key, x, again):
            noise = jax.random.normal(key, x.shape)
            if again:
                key, _ = jax.random.split(key)  #!
            return noise, jax.random.normal(key, x.shape)  #!

        def drawn(rng, shape):
            for _ in range(10):
                print(jax.random.normal(rng.split(), shape))

        def repeated(rng, shape):
            for _ in range(10):
                print(jax.random.normal(rng, shape))  #!
        """,
    "a network that is run at several points of a batch": """
        def analysed(forward, params, rng, data):
            model = hk.transform(forward)
            predict = lambda z: model.apply(params, rng, z[None])[0, -1]
            return jax.vmap(jax.grad(predict))(data)

        def noisy(rng, data):
            return jax.vmap(lambda z: z + jax.random.normal(rng, z.shape))(data)  #!
        """,
    "a name of its own for fields that are structure": """
        fixed = functools.partial(flax.struct.field, pytree_node=False)

        class Agent(flax.struct.PyTreeNode):
            rate: jax.Array
            config: dict = fixed()

            @jax.jit
            def update(agent, batch):
                return batch * int(1.0 / agent.config["rate"])

            @jax.jit
            def refused(agent, batch):
                return batch * int(1.0 / agent.rate)  #!

        def main(batch, rate):
            agent = Agent(jnp.ones(()), config={"rate": rate})
            return agent.update(batch), agent.refused(batch)
        """,
    "an append of another class": """
        class Runner:
            def __init__(self, storage):
                self.storage = storage

            @functools.partial(jax.jit, static_argnums=0)
            def step(self, rollout, *parts):
                return self.storage.append(rollout, *parts)

            @functools.partial(jax.jit, static_argnums=0)
            def leak(self, loss):
                self.storage.append(loss)  #!
                return loss

        def main(storage, rollout, observation):
            return Runner(storage).step(rollout, observation), Runner([]).leak(observation)
        """,
    "a type that does not say whether there is a key": """
        class Networks(NamedTuple):
            policy: hk.Transformed
            model: hk.Transformed

        def rolled_out(networks: Networks, params, z):
            action = networks.policy.apply(params, z)
            return networks.model.apply(params, z, action)

        def drawn(forward, params, key, x, y):
            network = hk.transform(forward)
            return network.apply(params, key, x), network.apply(params, key, y)  #!
        """,
    "updates with a form of their own": """
        import optax

        def averaged(decay):
            def init(params):
                return jax.tree.map(jnp.zeros_like, params)

            def update(updates, state, params=None):
                state = jax.tree.map(lambda g, t: decay * t + g, updates["variables"], state)
                updates["moments"] = state
                return updates, state

            return optax.GradientTransformation(init, update)
        """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_errors_stand_where_they_are_marked(program: str) -> None:
    marked, found = expected_and_found(program)
    assert found == marked
