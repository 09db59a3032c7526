# out-of-bounds-index: a table of NUM_BINS rows is indexed with digitize's 0..NUM_BINS
import jax
import jax.numpy as jnp

NUM_BINS = 20


def init(key):
    return {"table": jax.random.normal(key, (NUM_BINS, 4)), "w": jnp.ones(4)}


def embed_scalar(params, x):
    edges = jnp.linspace(-1.0, 1.0, NUM_BINS - 1)  #~ edges = jnp.linspace(-1.0, 1.0, NUM_BINS)
    idx = jnp.digitize(x, edges)
    return params["table"][idx]  #! out-of-bounds-index


def loss(params, x, y):
    pred = embed_scalar(params, x) @ params["w"]
    return jnp.mean((pred - y) ** 2)


def main():
    k1, k2 = jax.random.split(jax.random.key(0))
    params = init(k1)
    x = jax.random.normal(k2, (64,))
    step = jax.jit(jax.grad(loss))
    for _ in range(5):
        g = step(params, x, jnp.sin(x))
        params = jax.tree_util.tree_map(lambda p, d: p - 0.1 * d, params, g)
    print(loss(params, x, jnp.sin(x)))


if __name__ == "__main__":
    main()
