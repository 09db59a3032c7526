# axis-conflict: The leaves of a dict come in the order of its keys.
import jax
import jax.numpy as jnp

D_IN, D_OUT = 5, 3


def layer(key):
    return {"weight": jax.random.normal(key, (D_IN, D_OUT)) / jnp.sqrt(D_IN), "bias": jnp.zeros(D_OUT)}


def forward(params, x):
    bias, weight = jax.tree.leaves(params)  #~ weight, bias = jax.tree.leaves(params)
    return jnp.tanh(x @ weight + bias)  #! axis-conflict


def main():
    params = layer(jax.random.key(0))
    print(forward(params, jnp.ones((7, D_IN))).shape)


main()
