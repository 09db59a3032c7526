# stale-value: Every turn trains the parameters of the first one.
import jax
import jax.numpy as jnp
from flax import nnx


class Model(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(3, 8, rngs=rngs)
        self.out = nnx.Linear(8, 1, rngs=rngs)

    def __call__(self, x):
        return self.out(nnx.relu(self.linear(x)))[..., 0]


def train(model, xs, ys, lr):
    graphdef, params = nnx.split(model)

    @jax.jit
    def step(params, x, y):
        def loss_fn(p):
            return jnp.mean((nnx.merge(graphdef, p)(x) - y) ** 2)

        loss, grads = jax.value_and_grad(loss_fn)(params)
        return jax.tree.map(lambda p, g: p - lr * g, params, grads), loss

    for x, y in zip(xs, ys):
        params, loss = step(params, x, y)  #~ new_params, loss = step(params, x, y)  #! stale-value
    return nnx.merge(graphdef, params), loss


def main():
    model = Model(nnx.Rngs(0))
    xs = jnp.ones((5, 4, 3))
    model, loss = train(model, xs, xs.sum(-1), 0.1)
    print(loss)


main()
