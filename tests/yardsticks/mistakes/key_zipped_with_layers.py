# The layers are paired with the key itself, not with the subkeys that were split from it.
import jax
import jax.numpy as jnp


def dense(size):
    def run(x, key):
        keep = jax.random.bernoulli(key, 0.9, (size,))
        return jnp.where(keep, 2.0 * x, 0.0)

    return run


def forward(key, layers, x):
    keys = jax.random.split(key, len(layers))
    for layer, k in zip(layers, key):  #! one-key-as-many
        x = layer(x, k)  #! key-reused
    return x, keys


def main():
    print(forward(jax.random.key(0), [dense(3), dense(3)], jnp.ones(3)))


if __name__ == "__main__":
    main()
