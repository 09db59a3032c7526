# wrong-axis-mapped: A batch is split with the devices behind the rows.
import jax
import jax.numpy as jnp
import optax


def loss(params, x, y):
    return jnp.mean((x @ params - y) ** 2)


tx = optax.adam(1e-3)


def step(params, opt_state, x, y):
    grads = jax.lax.pmean(jax.grad(loss)(params, x, y), "i")
    updates, opt_state = tx.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state


p_step = jax.pmap(step, axis_name="i")


def split(a, n):
    return a.reshape(n, a.shape[0] // n, *a.shape[1:])  #~ return a.reshape(a.shape[0] // n, n, *a.shape[1:])


def main():
    n = jax.local_device_count()
    params = jax.device_put_replicated(jnp.zeros(5), jax.local_devices())
    opt_state = jax.device_put_replicated(tx.init(jnp.zeros(5)), jax.local_devices())
    x = jax.random.normal(jax.random.PRNGKey(0), (64 * n, 5))
    y = x.sum(-1)
    params, opt_state = p_step(params, opt_state, split(x, n), split(y, n))  #! wrong-axis-mapped
    print(params.shape)


if __name__ == "__main__":
    main()
