# module-state-mishandled: The optimizer is started with a model whose activation is a leaf.
import equinox as eqx
import jax
import jax.numpy as jnp
import optax


def make_step(optim):
    @eqx.filter_jit
    def step(model, opt_state, x, y):
        loss, grads = eqx.filter_value_and_grad(lambda m: jnp.mean((jax.vmap(m)(x)[:, 0] - y) ** 2))(model)
        updates, opt_state = optim.update(grads, opt_state, eqx.filter(model, eqx.is_array))
        return eqx.apply_updates(model, updates), opt_state, loss

    return step


def main():
    model = eqx.nn.MLP(3, 1, 16, 2, key=jax.random.key(0))
    optim = optax.adam(1e-3)
    opt_state = optim.init(eqx.filter(model, eqx.is_array))  #~ opt_state = optim.init(model)  #! module-state-mishandled
    step = make_step(optim)
    x = jnp.ones((8, 3))
    for _ in range(2):
        model, opt_state, loss = step(model, opt_state, x, x.sum(-1))
    print(loss)


main()
