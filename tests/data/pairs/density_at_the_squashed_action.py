# density-of-squashed-sample: A helper gets the squashed action for its density.
import flax.linen as nn
import jax
import jax.numpy as jnp

OBS, ACT = 11, 3
LOG_STD_MIN, LOG_STD_MAX = -5.0, 2.0


class Actor(nn.Module):
    @nn.compact
    def __call__(self, obs):
        h = nn.relu(nn.Dense(64)(obs))
        h = nn.relu(nn.Dense(64)(h))
        mean = nn.Dense(ACT)(h)
        log_std = jnp.clip(nn.Dense(ACT)(h), LOG_STD_MIN, LOG_STD_MAX)
        return mean, log_std


def gaussian_logp(x, mean, log_std):
    z = (x - mean) / jnp.exp(log_std)
    return (-0.5 * z**2 - log_std - 0.5 * jnp.log(2 * jnp.pi)).sum(-1)


def sample_action(actor, params, obs, key):
    mean, log_std = actor.apply(params, obs)
    raw = mean + jnp.exp(log_std) * jax.random.normal(key, mean.shape)
    action = jnp.tanh(raw)
    logp = gaussian_logp(raw, mean, log_std) - jnp.log(1.0 - action**2 + 1e-6).sum(-1)  #~ logp = gaussian_logp(action, mean, log_std) - jnp.log(1.0 - action**2 + 1e-6).sum(-1)  #! density-of-squashed-sample
    return action, logp


def actor_loss(params, actor, q_fn, alpha, obs, key):
    action, logp = sample_action(actor, params, obs, key)
    return jnp.mean(alpha * logp - q_fn(obs, action))


def main():
    actor = Actor()
    k0, k1, k2 = jax.random.split(jax.random.PRNGKey(0), 3)
    obs = jax.random.normal(k1, (32, OBS))
    params = actor.init(k0, obs)
    q_fn = lambda o, a: -(a**2).sum(-1) + o[:, 0]
    loss, grads = jax.value_and_grad(actor_loss)(params, actor, q_fn, 0.2, obs, k2)
    print(loss)


if __name__ == "__main__":
    main()
