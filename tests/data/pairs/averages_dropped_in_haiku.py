# module-state-mishandled: The running averages that training makes are dropped.
import haiku as hk
import jax
import jax.numpy as jnp
import optax


def network(x, is_training):
    x = hk.Linear(16)(x)
    x = hk.BatchNorm(True, True, 0.9)(x, is_training)
    return hk.Linear(1)(jax.nn.relu(x))[..., 0]


model = hk.transform_with_state(network)
tx = optax.sgd(0.05)


def loss_fn(params, state, x, y):
    pred, state = model.apply(params, state, None, x, True)
    return jnp.mean((pred - y) ** 2), state


@jax.jit
def train_step(params, state, opt_state, x, y):
    (loss, state), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, state, x, y)  #~ (loss, _), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, state, x, y)  #! module-state-mishandled
    updates, opt_state = tx.update(grads, opt_state)
    return optax.apply_updates(params, updates), state, opt_state, loss


def main():
    x = jnp.ones((8, 4))
    params, state = model.init(jax.random.key(0), x, True)
    opt_state = tx.init(params)
    for _ in range(3):
        params, state, opt_state, loss = train_step(params, state, opt_state, x, jnp.zeros(8))
    pred, _ = model.apply(params, state, None, x, False)
    print(loss, pred.shape)


main()
