# module-state-mishandled: The gradient is taken of the part without arrays.
import equinox as eqx
import jax
import jax.numpy as jnp


class Net(eqx.Module):
    first: eqx.nn.Linear
    second: eqx.nn.Linear
    act: callable

    def __init__(self, key):
        k1, k2 = jax.random.split(key)
        self.first = eqx.nn.Linear(3, 8, key=k1)
        self.second = eqx.nn.Linear(8, "scalar", key=k2)
        self.act = jax.nn.gelu

    def __call__(self, x):
        return self.second(self.act(self.first(x)))


def main():
    net = Net(jax.random.key(0))
    params, static = eqx.partition(net, eqx.is_inexact_array)  #~ static, params = eqx.partition(net, eqx.is_inexact_array)
    x = jnp.ones((5, 3))

    @jax.jit
    def loss(p):
        model = eqx.combine(p, static)
        return jnp.mean(jax.vmap(model)(x) ** 2)

    grads = jax.grad(loss)(params)  #! module-state-mishandled
    print(jax.tree.map(jnp.shape, grads))


main()
