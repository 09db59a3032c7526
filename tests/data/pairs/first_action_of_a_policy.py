# assumes-batch-position: An index takes the batch off that vmap has taken off already.
import flax.linen as nn
import jax
import jax.numpy as jnp

NUM_ENVS = 8
ACT = 3


class Policy(nn.Module):
    @nn.compact
    def __call__(self, obs):
        h = nn.tanh(nn.Dense(32)(obs))
        return nn.tanh(nn.Dense(ACT)(h))


def env_step(state, action):
    state = 0.9 * state + jnp.concatenate([action, jnp.zeros(1)])
    return state, -jnp.sum(state**2)


def act_and_step(model, params, state):
    action = model.apply(params, state)  #~ action = model.apply(params, state)[0]  #! assumes-batch-position
    return env_step(state, jnp.broadcast_to(action, (ACT,)))


def rollout(model, params, states, steps):
    def body(states, _):
        states, reward = jax.vmap(lambda s: act_and_step(model, params, s))(states)
        return states, reward

    return jax.lax.scan(body, states, None, length=steps)


def main():
    model = Policy()
    k1, k2 = jax.random.split(jax.random.PRNGKey(0))
    states = jax.random.normal(k1, (NUM_ENVS, ACT + 1))
    params = model.init(k2, states[0])
    _, rewards = rollout(model, params, states, 20)
    print(rewards.sum(0))


if __name__ == "__main__":
    main()
