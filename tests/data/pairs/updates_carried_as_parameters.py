# updates-as-parameters: The scan carries the updates on where the parameters were.
import jax
import jax.numpy as jnp
import optax


def init_params(key):
    k1, k2 = jax.random.split(key)
    return {"hidden": 0.1 * jax.random.normal(k1, (3, 16)), "out": 0.1 * jax.random.normal(k2, (16,))}


def predict(params, x):
    return jnp.tanh(x @ params["hidden"]) @ params["out"]


def make_train(tx):
    def loss_fn(params, x, y):
        return jnp.mean((predict(params, x) - y) ** 2)

    def step(carry, batch):
        params, opt_state = carry
        x, y = batch
        loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
        updates, opt_state = tx.update(grads, opt_state, params)
        return (optax.apply_updates(params, updates), opt_state), loss  #~ return (updates, opt_state), loss  #! updates-as-parameters

    return step


def main():
    tx = optax.adamw(1e-2)
    params = init_params(jax.random.key(3))
    xs = jax.random.normal(jax.random.key(4), (20, 8, 3))
    ys = xs.sum(-1)
    (params, _), losses = jax.lax.scan(make_train(tx), (params, tx.init(params)), (xs, ys))
    print(losses[0], losses[-1])


main()
