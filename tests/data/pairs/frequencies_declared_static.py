# array-in-static-field: An array that the constructor makes.
import equinox as eqx
import jax
import jax.numpy as jnp


class Embedding(eqx.Module):
    weight: jax.Array
    freqs: jax.Array  #~ freqs: jax.Array = eqx.field(static=True)  #! array-in-static-field
    size: int = eqx.field(static=True)

    def __init__(self, size, key):
        self.size = size
        self.freqs = 2.0 ** jnp.arange(size)
        self.weight = jax.random.normal(key, (size,))

    def __call__(self, t):
        return self.weight * jnp.sin(self.freqs * t)


@eqx.filter_jit
def run(model, t):
    return model(t)


def main():
    print(run(Embedding(4, jax.random.key(0)), 0.5))
    print(run(Embedding(4, jax.random.key(1)), 0.5))


main()
