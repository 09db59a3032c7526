# hard-coded-axis: Pooling takes away the features and leaves the tokens.
import jax
import jax.numpy as jnp
import equinox as eqx


class Pool(eqx.Module):
    proj: eqx.nn.Linear
    head: eqx.nn.Linear

    def __init__(self, dim, key):
        k1, k2 = jax.random.split(key)
        self.proj = eqx.nn.Linear(dim, 32, key=k1)
        self.head = eqx.nn.Linear(32, 4, key=k2)

    def __call__(self, tokens):
        """tokens: (time, dim) of one sequence."""
        h = jax.vmap(self.proj)(tokens)
        pooled = jax.nn.relu(h).mean(axis=0)  #~ pooled = jax.nn.relu(h).mean(axis=1)  #! hard-coded-axis
        return self.head(pooled)


@eqx.filter_jit
def batched(model, batch):
    return jax.vmap(model)(batch)


def main():
    model = Pool(8, jax.random.key(0))
    batch = jax.random.normal(jax.random.key(1), (4, 10, 8))
    print(batched(model, batch).shape)


if __name__ == "__main__":
    main()
