# mixed-ratio: A rollout stores probabilities where its loss reads logarithms.
import jax
import jax.numpy as jnp
from typing import NamedTuple


class Step(NamedTuple):
    obs: jax.Array
    action: jax.Array
    logp: jax.Array
    reward: jax.Array


def logits_fn(params, obs):
    return jax.nn.relu(obs @ params["w1"]) @ params["w2"]


def act(params, obs, key):
    logp = jax.nn.log_softmax(logits_fn(params, obs))
    action = jax.random.categorical(key, logp)
    chosen = jnp.take_along_axis(logp, action[..., None], axis=-1)[..., 0]
    return action, chosen  #~ return action, jnp.exp(chosen)


def rollout(params, obs, key, length):
    def body(obs, key):
        action, logp = act(params, obs, key)
        nxt = 0.9 * obs + 0.1 * jax.nn.one_hot(action, obs.shape[-1])
        return nxt, Step(obs, action, logp, -jnp.abs(nxt).sum(-1))

    return jax.lax.scan(body, obs, jax.random.split(key, length))


def surrogate(params, traj, adv):
    new = jax.nn.log_softmax(logits_fn(params, traj.obs))
    new = jnp.take_along_axis(new, traj.action[..., None], axis=-1)[..., 0]
    ratio = jnp.exp(new - traj.logp)  #! mixed-ratio
    return -jnp.mean(ratio * adv)


def main():
    k1, k2, k3 = jax.random.split(jax.random.PRNGKey(0), 3)
    params = {"w1": jax.random.normal(k1, (4, 16)), "w2": jax.random.normal(k2, (16, 4))}
    _, traj = rollout(params, jnp.ones((8, 4)), k3, 12)
    adv = traj.reward - traj.reward.mean()
    print(jax.value_and_grad(surrogate)(params, traj, adv)[0])


if __name__ == "__main__":
    main()
