# out-of-bounds-index: A network with three layers gets two keys.
import jax
import jax.numpy as jnp

LAYERS = [4, 32, 32, 2]


def init_layer(key, n_in, n_out):
    wk, bk = jax.random.split(key)
    return {"w": jax.random.normal(wk, (n_in, n_out)) / jnp.sqrt(n_in), "b": 0.1 * jax.random.normal(bk, (n_out,))}


def init_mlp(key, sizes):
    keys = jax.random.split(key, len(sizes) - 1)  #~ keys = jax.random.split(key, len(sizes) - 2)
    return [init_layer(keys[i], sizes[i], sizes[i + 1]) for i in range(len(sizes) - 1)]  #! out-of-bounds-index


def forward(params, x):
    for p in params[:-1]:
        x = jax.nn.relu(x @ p["w"] + p["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def main():
    params = init_mlp(jax.random.PRNGKey(0), LAYERS)
    out = jax.jit(forward)(params, jnp.ones((3, 4)))
    print(out, [float(p["w"].std()) for p in params])


if __name__ == "__main__":
    main()
