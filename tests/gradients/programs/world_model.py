"""A recurrent world model with balanced KL terms, imagined rollouts and an actor trained through them."""

import jax
import jax.numpy as jnp


def kl(mean_a, std_a, mean_b, std_b):
    terms = jnp.log(std_b / std_a) + (std_a**2 + (mean_a - mean_b) ** 2) / (2 * std_b**2) - 0.5
    return jnp.mean(jnp.sum(terms, axis=-1))


def stats(x):
    mean, raw = jnp.split(x, 2, axis=-1)
    return mean, jax.nn.softplus(raw) + 0.1


def transition(params, h, z, action):
    return jnp.tanh(h @ params["hh"] + z @ params["zh"] + action @ params["ah"])


def model_loss(params, obs, actions, rewards, key):
    def step(carry, data):
        h, z = carry
        o, a, k = data
        h = transition(params, h, z, a)
        prior = stats(h @ params["prior"])
        posterior = stats(jnp.concatenate([h, o], -1) @ params["posterior"])
        z = posterior[0] + posterior[1] * jax.random.normal(k, posterior[0].shape)
        return (h, z), (h, z, prior, posterior)

    start = (jnp.zeros((obs.shape[1], 8)), jnp.zeros((obs.shape[1], 4)))
    keys = jax.random.split(key, obs.shape[0])
    _, (h, z, prior, posterior) = jax.lax.scan(step, start, (obs, actions, keys))
    features = jnp.concatenate([h, z], -1)
    fixed = jax.lax.stop_gradient
    dynamics = kl(*map(fixed, posterior), *prior)
    representation = kl(*posterior, *map(fixed, prior))
    image = jnp.mean((features @ params["decoder"] - obs) ** 2)
    reward = jnp.mean(((features @ params["reward"])[..., 0] - rewards) ** 2)
    return image + reward + 0.8 * dynamics + 0.2 * representation, (h, z)


def actor_loss(actor, critic, params, h, z):
    def step(carry, _):
        h, z = carry
        action = jnp.tanh(jnp.concatenate([h, z], -1) @ actor["w"])
        h = transition(params, h, z, action)
        z = stats(h @ params["prior"])[0]
        return (h, z), (h, z)

    _, (hs, zs) = jax.lax.scan(step, (h, z), None, length=3)
    features = jnp.concatenate([hs, zs], -1)
    rewards, values = (features @ params["reward"])[..., 0], (features @ critic["v"])[..., 0]
    returns = rewards[:-1] + 0.99 * values[1:]
    return -jnp.mean(returns), (features, returns)


def critic_loss(critic, features, returns):
    values = (features @ critic["v"])[..., 0]
    return jnp.mean((values[:-1] - jax.lax.stop_gradient(returns)) ** 2)


@jax.jit
def train(params, actor, critic, obs, actions, rewards, key):
    (_, (h, z)), grads = jax.value_and_grad(model_loss, has_aux=True)(params, obs, actions, rewards, key)
    params = jax.tree.map(lambda p, g: p - 0.01 * g, params, grads)
    start = jax.lax.stop_gradient((h[-1], z[-1]))
    (_, (features, returns)), grads = jax.value_and_grad(actor_loss, has_aux=True)(actor, critic, params, *start)
    actor = jax.tree.map(lambda p, g: p - 0.01 * g, actor, grads)
    grads = jax.grad(critic_loss)(critic, features, returns)
    return params, actor, jax.tree.map(lambda p, g: p - 0.01 * g, critic, grads)


def main():
    shapes = {
        "hh": (8, 8),
        "zh": (4, 8),
        "ah": (2, 8),
        "prior": (8, 8),
        "posterior": (13, 8),
        "decoder": (12, 5),
        "reward": (12, 1),
    }
    keys = jax.random.split(jax.random.key(0), 10)
    params = {name: 0.1 * jax.random.normal(key, shape) for key, (name, shape) in zip(keys, shapes.items())}
    actor, critic = {"w": jnp.zeros((12, 2))}, {"v": jnp.zeros((12, 1))}
    obs = jax.random.normal(keys[8], (4, 3, 5))
    out = train(params, actor, critic, obs, jnp.zeros((4, 3, 2)), jnp.ones((4, 3)), keys[9])
    print(out[2]["v"].sum())


if __name__ == "__main__":
    main()
