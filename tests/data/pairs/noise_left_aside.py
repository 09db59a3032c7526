# ignored-argument: exploration noise is drawn and clipped but the plain action is returned
import jax
import jax.numpy as jnp


def policy(params, obs):
    return jnp.tanh(jnp.tanh(obs @ params["w1"]) @ params["w2"])


def explore(params, obs, key, scale, low, high):
    action = policy(params, obs)
    noise = scale * jax.random.normal(key, action.shape)
    noisy = jnp.clip(action + noise, low, high)  #! ignored-argument
    return noisy  #~ return action


def env_step(state, action):
    vel = state[..., 1:] + 0.1 * action
    pos = state[..., :1] + 0.1 * vel
    return jnp.concatenate([pos, vel], -1), -(pos**2).sum(-1)


def rollout(params, state, key, steps):
    def body(carry, k):
        state = carry
        action = explore(params, state, k, 0.2, -1.0, 1.0)
        nxt, reward = env_step(state, action)
        return nxt, (state, action, reward)

    return jax.lax.scan(body, state, jax.random.split(key, steps))


def main():
    k1, k2, k3 = jax.random.split(jax.random.key(1), 3)
    params = {"w1": jax.random.normal(k1, (2, 8)), "w2": jax.random.normal(k2, (8, 1))}
    final, traj = jax.jit(rollout, static_argnums=3)(params, jnp.ones((5, 2)), k3, 20)
    print(final.shape, traj[2].mean())


if __name__ == "__main__":
    main()
