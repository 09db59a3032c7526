# silent-broadcast: bare squeeze of a (B, A) policy mean drops the action axis for one-dimensional actions
import jax
import jax.numpy as jnp
import equinox as eqx


class Policy(eqx.Module):
    l1: eqx.nn.Linear
    l2: eqx.nn.Linear
    log_std: jax.Array

    def __init__(self, obs_dim, act_dim, key):
        k1, k2 = jax.random.split(key)
        self.l1 = eqx.nn.Linear(obs_dim, 32, key=k1)
        self.l2 = eqx.nn.Linear(32, act_dim, key=k2)
        self.log_std = jnp.zeros(act_dim)

    def __call__(self, obs):
        return self.l2(jax.nn.tanh(self.l1(obs)))


def log_prob(policy, obs, actions):
    mean = jax.vmap(policy)(obs)  #~ mean = jnp.squeeze(jax.vmap(policy)(obs))  #! silent-broadcast
    std = jnp.exp(policy.log_std)
    z = (actions - mean) / std
    return jnp.sum(-0.5 * z**2 - policy.log_std - 0.5 * jnp.log(2 * jnp.pi), axis=-1)


def surrogate(policy, obs, actions, adv):
    return -jnp.mean(log_prob(policy, obs, actions) * adv)


def main():
    k1, k2, k3 = jax.random.split(jax.random.key(0), 3)
    policy = Policy(3, 1, k1)
    obs, actions = jax.random.normal(k2, (64, 3)), jax.random.normal(k3, (64, 1))
    print(eqx.filter_grad(surrogate)(policy, obs, actions, jnp.ones(64)).log_std)


if __name__ == "__main__":
    main()
