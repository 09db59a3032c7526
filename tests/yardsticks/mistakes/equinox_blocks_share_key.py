# All blocks of a transformer are made in a loop with one key.
import equinox as eqx
import jax.random as jr


class Encoder(eqx.Module):
    blocks: list[eqx.nn.MLP]

    def __init__(self, width, depth, *, key):
        self.blocks = []
        for _ in range(depth):
            self.blocks.append(eqx.nn.MLP(width, width, 8, 1, key=key))  #! same-key-in-loop

    def __call__(self, x):
        for block in self.blocks:
            x = x + block(x)
        return x


def main():
    model_key, data_key = jr.split(jr.key(0))
    print(Encoder(4, 3, key=model_key)(jr.normal(data_key, (4,))))


if __name__ == "__main__":
    main()
