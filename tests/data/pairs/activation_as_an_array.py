# invalid-input-type: Activations from a dict are ordinary arguments of a compiled function.
import jax
import jax.numpy as jnp


def init_mlp(key, sizes):
    keys = jax.random.split(key, len(sizes) - 1)
    return [
        {"w": jax.random.normal(k, (m, n)) / jnp.sqrt(m), "b": jnp.zeros(n)}
        for k, m, n in zip(keys, sizes[:-1], sizes[1:])
    ]


def mlp(params, x, activation):
    for layer in params[:-1]:
        x = activation(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


forward = jax.jit(mlp, static_argnames="activation")  #~ forward = jax.jit(mlp)


def compare(params, x, activations):
    table = {}
    for name, act in activations.items():
        out = forward(params, x, activation=act)  #! invalid-input-type
        table[name] = float(out.std())
    return table


def main():
    key = jax.random.PRNGKey(7)
    params = init_mlp(key, (4, 32, 32, 2))
    x = jax.random.normal(jax.random.PRNGKey(8), (128, 4))
    print(compare(params, x, {"relu": jax.nn.relu, "tanh": jnp.tanh}))


if __name__ == "__main__":
    main()
