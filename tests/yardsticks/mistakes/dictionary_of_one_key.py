# Two named streams that are one key: inside one flax module they give the same numbers.
import flax.linen as nn
import jax
import jax.numpy as jnp


class Corrupt(nn.Module):
    @nn.compact
    def __call__(self, x):
        noise = jax.random.normal(self.make_rng("noise"), x.shape)
        gain = jax.random.normal(self.make_rng("gain"), x.shape)
        return gain * x + noise


def main():
    key = jax.random.key(0)
    print(Corrupt().apply({}, jnp.ones(3), rngs={"noise": key, "gain": key}))  # ? key-reused


if __name__ == "__main__":
    main()
