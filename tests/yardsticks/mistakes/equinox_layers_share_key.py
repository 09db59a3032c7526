# Two equinox layers get the same key.
import equinox as eqx
import jax
import jax.random as jr


class Head(eqx.Module):
    mean: eqx.nn.Linear
    scale: eqx.nn.Linear

    def __init__(self, width, *, key):
        self.mean = eqx.nn.Linear(width, 1, key=key)
        self.scale = eqx.nn.Linear(width, 1, key=key)  #! key-reused

    def __call__(self, x):
        return self.mean(x), jax.nn.softplus(self.scale(x))


def main():
    model_key, data_key = jr.split(jr.key(0))
    print(Head(3, key=model_key)(jr.normal(data_key, (3,))))


if __name__ == "__main__":
    main()
