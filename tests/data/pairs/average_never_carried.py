# stale-value: the EMA is computed in the loop but the initial one is returned
import jax
import jax.numpy as jnp
import optax
import equinox as eqx


def loss(model, x, y):
    pred = jax.vmap(model)(x)
    return jnp.mean((pred - y) ** 2)


def ema_update(avg, model, decay):
    return jax.tree_util.tree_map(lambda a, m: decay * a + (1 - decay) * m, avg, model)


@eqx.filter_jit
def make_step(model, opt_state, optim, x, y):
    value, grads = eqx.filter_value_and_grad(loss)(model, x, y)
    updates, opt_state = optim.update(grads, opt_state)
    return eqx.apply_updates(model, updates), opt_state, value


def fit(model, data, optim, steps, decay=0.99):
    opt_state = optim.init(eqx.filter(model, eqx.is_inexact_array))
    avg = eqx.filter(model, eqx.is_inexact_array)
    for step in range(steps):
        x, y = data(step)
        model, opt_state, value = make_step(model, opt_state, optim, x, y)
        avg = ema_update(avg, eqx.filter(model, eqx.is_inexact_array), decay)  #~ new_avg = ema_update(avg, eqx.filter(model, eqx.is_inexact_array), decay)  #! stale-value
        if step % 10 == 0:
            print(step, float(value))
    return model, avg


def data(step):
    x = jax.random.normal(jax.random.key(step), (32, 3))
    return x, jnp.sin(x.sum(-1, keepdims=True))


def main():
    model = eqx.nn.Linear(3, 1, key=jax.random.key(0))
    model, avg = fit(model, data, optax.adam(1e-2), 50)
    print(avg.weight)


if __name__ == "__main__":
    main()
