"""V-trace: corrected targets and advantages from values that are stopped."""

import jax
import jax.numpy as jnp


def corrected(values, last, rewards, discounts, rhos):
    clipped = jnp.minimum(1.0, rhos)
    ahead = jnp.concatenate([values[1:], last[None]], axis=0)
    deltas = clipped * (rewards + discounts * ahead - values)

    def back(error, x):
        delta, discount, c = x
        error = delta + discount * c * error
        return error, error

    _, errors = jax.lax.scan(back, jnp.zeros_like(last), (deltas, discounts, clipped), reverse=True)
    targets = values + errors
    following = jnp.concatenate([targets[1:], last[None]], axis=0)
    return targets, clipped * (rewards + discounts * following - values)


def loss(params, obs, actions, behaviour, rewards, discounts):
    h = jnp.tanh(obs @ params["torso"])
    logits, values = h @ params["policy"], (h @ params["value"])[..., 0]
    logp = jax.nn.log_softmax(logits)[:-1]
    chosen = jnp.take_along_axis(logp, actions[..., None], axis=-1)[..., 0]
    rhos = jnp.exp(jax.lax.stop_gradient(chosen) - behaviour)
    fixed = jax.lax.stop_gradient(values)
    targets, advantages = corrected(fixed[:-1], fixed[-1], rewards, discounts, rhos)
    critic = 0.5 * jnp.mean((targets - values[:-1]) ** 2)
    entropy = -jnp.mean(jnp.sum(jnp.exp(logp) * logp, axis=-1))
    return -jnp.mean(chosen * advantages) + critic - 0.01 * entropy


@jax.jit
def step(params, obs, actions, behaviour, rewards, discounts):
    value, grads = jax.value_and_grad(loss)(params, obs, actions, behaviour, rewards, discounts)
    return jax.tree.map(lambda p, g: p - 0.01 * g, params, grads), value


def main():
    keys = jax.random.split(jax.random.key(0), 4)
    params = {
        "torso": jax.random.normal(keys[0], (3, 8)),
        "policy": jax.random.normal(keys[1], (8, 4)),
        "value": jax.random.normal(keys[2], (8, 1)),
    }
    obs = jax.random.normal(keys[3], (7, 5, 3))
    ones = jnp.ones((6, 5))
    print(step(params, obs, jnp.zeros((6, 5), jnp.int32), -ones, ones, 0.9 * ones)[1])


if __name__ == "__main__":
    main()
