# updates-as-parameters: The body hands on its two carries in the other order.
import haiku as hk
import jax
import jax.numpy as jnp
import optax

net = hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP([16, 1])(x)[..., 0]))
tx = optax.adam(1e-2)


def fit(params, xs, ys):
    def body(carry, batch):
        params, opt_state = carry
        x, y = batch
        loss, grads = jax.value_and_grad(lambda p: jnp.mean((net.apply(p, x) - y) ** 2))(params)
        updates, opt_state = tx.update(grads, opt_state, params)
        params = optax.apply_updates(params, updates)
        return (params, opt_state), loss  #~ return (opt_state, params), loss  #! updates-as-parameters

    (params, _), losses = jax.lax.scan(body, (params, tx.init(params)), (xs, ys))  #~ (params, _), losses = jax.lax.scan(body, (params, tx.init(params)), (xs, ys))  #? swapped-results
    return params, losses


def main():
    xs = jnp.ones((10, 4, 3))
    params = net.init(jax.random.key(0), xs[0])
    print(fit(params, xs, xs.sum(-1))[1])


main()
