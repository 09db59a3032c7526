# The dropout key is closed over by the mapped function: one mask for all examples.
import jax
import jax.numpy as jnp


def apply(weights, batch, key):
    def one(x):
        hidden = jax.nn.relu(weights @ x)
        mask = jax.random.bernoulli(key, 0.9, hidden.shape)  #! same-key-across-vmap
        return jnp.where(mask, hidden, 0.0).sum()

    return jax.vmap(one)(batch)  #! same-key-across-vmap


def main():
    weight_key, data_key, mask_key = jax.random.split(jax.random.key(0), 3)
    weights = jax.random.normal(weight_key, (5, 3))
    print(apply(weights, jax.random.normal(data_key, (7, 3)), mask_key))


if __name__ == "__main__":
    main()
