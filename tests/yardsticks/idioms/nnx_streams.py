# `nnx.Rngs` counts its own draws: the same object goes to every layer.
import jax.numpy as jnp
from flax import nnx


class Network(nnx.Module):
    def __init__(self, width, rngs):
        self.first = nnx.Linear(3, width, rngs=rngs)
        self.dropout = nnx.Dropout(0.2, rngs=rngs)
        self.second = nnx.Linear(width, 1, rngs=rngs)

    def __call__(self, x):
        return self.second(self.dropout(nnx.relu(self.first(x))))


def main():
    rngs = nnx.Rngs(0, dropout=1)
    left, right = Network(8, rngs), Network(8, rngs)
    x = jnp.ones((2, 3))
    print(left(x) + right(x), rngs.params())


if __name__ == "__main__":
    main()
