# A list of layers, one key each, and the last key for the readout.
import equinox as eqx
import jax
import jax.random as jr


class Perceptron(eqx.Module):
    hidden: list[eqx.nn.Linear]
    readout: eqx.nn.Linear

    def __init__(self, width, depth, *, key):
        *hidden_keys, readout_key = jr.split(key, depth + 1)
        self.hidden = [eqx.nn.Linear(width, width, key=hidden_key) for hidden_key in hidden_keys]
        self.readout = eqx.nn.Linear(width, 1, key=readout_key)

    def __call__(self, x):
        for layer in self.hidden:
            x = jax.nn.tanh(layer(x))
        return self.readout(x)


def main():
    model_key, data_key = jr.split(jr.key(0), 2)
    model = Perceptron(4, 3, key=model_key)
    print(jax.vmap(model)(jr.normal(data_key, (5, 4))))


if __name__ == "__main__":
    main()
