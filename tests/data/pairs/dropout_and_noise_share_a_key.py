# key-reused: Input noise and dropout are drawn from one key.
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax


class Encoder(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        h = nn.relu(nn.Dense(32)(x))
        h = nn.Dropout(0.2, deterministic=not train)(h)
        return nn.Dense(8)(h)


model = Encoder()


def make_step(tx):
    @jax.jit
    def step(params, opt_state, key, x):
        key, k_noise = jax.random.split(key)  #~
        noisy = x + 0.1 * jax.random.normal(k_noise, x.shape)  #~ noisy = x + 0.1 * jax.random.normal(key, x.shape)

        def loss_fn(p):
            z = model.apply(p, noisy, train=True, rngs={"dropout": key})  #? key-reused
            return jnp.mean((z - x[:, :8]) ** 2)

        loss, grads = jax.value_and_grad(loss_fn)(params)
        updates, opt_state = tx.update(grads, opt_state)
        return optax.apply_updates(params, updates), opt_state, loss

    return step


def main():
    k0, k1, key = jax.random.split(jax.random.PRNGKey(0), 3)
    x = jax.random.normal(k0, (16, 10))
    params = model.init(k1, x, train=False)
    tx = optax.adam(1e-3)
    opt_state = tx.init(params)
    step = make_step(tx)
    for i in range(5):
        params, opt_state, loss = step(params, opt_state, jax.random.fold_in(key, i), x)
    print(float(loss))


if __name__ == "__main__":
    main()
