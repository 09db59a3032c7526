# malformed-entropy: the policy entropy uses logits in place of log-probabilities
import jax
import jax.numpy as jnp


def forward(params, obs):
    h = jnp.tanh(obs @ params["w"] + params["b"])
    return h @ params["pi"], (h @ params["v"])[..., 0]


def actor_critic_loss(params, obs, actions, returns, ent_coef):
    logits, values = forward(params, obs)
    logp_all = jax.nn.log_softmax(logits)
    probs = jnp.exp(logp_all)
    logp = jnp.take_along_axis(logp_all, actions[:, None], axis=1)[:, 0]
    adv = jax.lax.stop_gradient(returns - values)
    entropy = -jnp.sum(probs * logp_all, axis=-1)  #~ entropy = -jnp.sum(probs * logits, axis=-1)  #! malformed-entropy
    pg = -(logp * adv).mean()
    vf = 0.5 * ((values - returns) ** 2).mean()
    return pg + 0.5 * vf - ent_coef * entropy.mean(), (pg, vf, entropy.mean())


def main():
    ks = jax.random.split(jax.random.key(0), 6)
    params = {"w": jax.random.normal(ks[0], (6, 32)), "b": jnp.zeros(32),
              "pi": jax.random.normal(ks[1], (32, 4)), "v": jax.random.normal(ks[2], (32, 1))}
    obs = jax.random.normal(ks[3], (64, 6))
    actions = jax.random.randint(ks[4], (64,), 0, 4)
    returns = jax.random.normal(ks[5], (64,))
    step = jax.jit(jax.value_and_grad(actor_critic_loss, has_aux=True))
    (loss, aux), grads = step(params, obs, actions, returns, 0.01)
    print(loss, aux)


if __name__ == "__main__":
    main()
