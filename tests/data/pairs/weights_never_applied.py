# ignored-argument: importance weights of a replay sample are computed and not applied to the loss
import jax
import jax.numpy as jnp
import optax
import haiku as hk

net = hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP([64, 3])(x)))
tx = optax.adam(1e-3)


def sample(key, priorities, n, beta):
    probs = priorities / priorities.sum()
    idx = jax.random.choice(key, priorities.shape[0], (n,), p=probs)
    weights = (priorities.shape[0] * probs[idx]) ** -beta
    return idx, weights / weights.max()


def loss_fn(params, target_params, batch, weights):  #! ignored-argument
    q = net.apply(params, batch["obs"])
    chosen = jnp.take_along_axis(q, batch["action"][:, None], axis=1)[:, 0]
    nxt = net.apply(target_params, batch["next_obs"]).max(axis=-1)
    target = batch["reward"] + 0.99 * (1 - batch["done"]) * nxt
    td = chosen - jax.lax.stop_gradient(target)
    return jnp.mean(weights * td**2), jnp.abs(td)  #~ return jnp.mean(td**2), jnp.abs(td)


@jax.jit
def update(params, target_params, opt_state, buffer, priorities, key):
    idx, weights = sample(key, priorities, 32, 0.4)
    batch = {k: v[idx] for k, v in buffer.items()}
    (loss, td), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, target_params, batch, weights)
    up, opt_state = tx.update(grads, opt_state)
    return optax.apply_updates(params, up), opt_state, priorities.at[idx].set(td + 1e-6), loss


def main():
    k = jax.random.split(jax.random.key(0), 4)
    buffer = {"obs": jax.random.normal(k[0], (256, 5)), "next_obs": jax.random.normal(k[1], (256, 5)),
              "action": jnp.zeros(256, jnp.int32), "reward": jnp.ones(256), "done": jnp.zeros(256)}
    params = net.init(k[2], buffer["obs"])
    state, pri = tx.init(params), jnp.ones(256)
    for key in jax.random.split(k[3], 3):
        params, state, pri, loss = update(params, params, state, buffer, pri, key)
    print(loss)


if __name__ == "__main__":
    main()
