"""Actor and critic on advantages that are computed inside the loss, and stopped there."""

import jax
import jax.numpy as jnp


def network(params, obs):
    h = jnp.tanh(obs @ params["torso"])
    return h @ params["policy"], (h @ params["value"])[..., 0]


def gae(rewards, values, last):
    def back(carry, step):
        ahead, following = carry
        reward, value = step
        delta = reward + 0.99 * following - value
        ahead = delta + 0.95 * ahead
        return (ahead, value), ahead

    return jax.lax.scan(back, (jnp.zeros_like(last), last), (rewards, values), reverse=True)[1]


def loss(params, obs, actions, rewards):
    logits, values = network(params, obs)
    adv = jax.lax.stop_gradient(gae(rewards, values, values[-1]))
    targets = adv + values
    logp = jax.nn.log_softmax(logits)
    lp = jnp.take_along_axis(logp, actions[..., None], axis=-1)[..., 0]
    return -jnp.mean(lp * adv) + 0.5 * jnp.mean((values - jax.lax.stop_gradient(targets)) ** 2)


@jax.jit
def step(params, obs, actions, rewards):
    return jax.grad(loss)(params, obs, actions, rewards)


def main():
    ks = jax.random.split(jax.random.key(0), 4)
    shapes = {"torso": (4, 8), "policy": (8, 3), "value": (8, 1)}
    params = {name: jax.random.normal(key, shape) for key, (name, shape) in zip(ks, shapes.items())}
    obs = jax.random.normal(ks[3], (6, 5, 4))
    print(step(params, obs, jnp.zeros((6, 5), jnp.int32), jnp.ones((6, 5)))["value"].sum())


if __name__ == "__main__":
    main()
