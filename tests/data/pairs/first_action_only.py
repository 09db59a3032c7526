# assumes-batch-position: A policy under vmap takes off a batch axis that is not there.
import flax.linen as nn
import jax
import jax.numpy as jnp


class Policy(nn.Module):
    n_actions: int

    @nn.compact
    def __call__(self, obs):
        h = nn.tanh(nn.Dense(24)(obs))
        mean = nn.Dense(self.n_actions)(h)
        log_std = self.param("log_std", nn.initializers.zeros, (self.n_actions,))
        return mean, log_std


def make_act(net, params):
    def act(obs, key):
        mean, log_std = net.apply(params, obs)
        #~ mean = mean[0]  #! assumes-batch-position
        return jnp.tanh(mean + jnp.exp(log_std) * jax.random.normal(key, log_std.shape))

    return act


def evaluate(net, params, key, n_envs, n_steps):
    act = make_act(net, params)
    obs = jnp.ones((n_envs, 5))

    def step(obs, key):
        keys = jax.random.split(key, n_envs)
        action = jax.vmap(act)(obs, keys)
        obs = 0.9 * obs + 0.1 * jnp.pad(action, ((0, 0), (0, 2)))
        return obs, -jnp.sum(obs**2, axis=-1)

    _, rewards = jax.lax.scan(step, obs, jax.random.split(key, n_steps))
    return rewards.sum(0)


def main():
    k_init, k_eval = jax.random.split(jax.random.PRNGKey(0))
    net = Policy(3)
    params = net.init(k_init, jnp.zeros(5))
    print(evaluate(net, params, k_eval, 4, 10))


if __name__ == "__main__":
    main()
