# broadcast-argument-mapped: Parameters are mapped with the examples.
import jax
import jax.numpy as jnp

BATCH = 16
HIDDEN = 16


def init(key, dim):
    k1, k2 = jax.random.split(key)
    return {"w1": jax.random.normal(k1, (HIDDEN, dim)), "w2": jax.random.normal(k2, (HIDDEN,))}


def predict_one(params, x):
    return jnp.sum(params["w2"] * jnp.tanh(params["w1"] @ x))


predict = jax.vmap(predict_one, in_axes=(None, 0))  #~ predict = jax.vmap(predict_one)


def mse(params, xs, ys):
    return jnp.mean((predict(params, xs) - ys) ** 2)  #! broadcast-argument-mapped


def main():
    k1, k2 = jax.random.split(jax.random.PRNGKey(0))
    params = init(k1, 3)
    xs = jax.random.normal(k2, (BATCH, 3))
    grads = jax.grad(mse)(params, xs, xs.sum(1))
    print(jax.tree.map(jnp.shape, grads))


if __name__ == "__main__":
    main()
