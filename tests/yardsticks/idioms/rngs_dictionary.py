# Named streams in a dictionary, each read once.
import flax.linen as nn
import jax
import jax.numpy as jnp


class Noisy(nn.Module):
    @nn.compact
    def __call__(self, x):
        noise = jax.random.normal(self.make_rng("noise"), x.shape)
        return nn.Dropout(0.1, deterministic=False)(nn.Dense(4)(x + noise))


def main():
    names = ("params", "dropout", "noise")
    init_key, apply_key = jax.random.split(jax.random.key(0))
    rngs = dict(zip(names, jax.random.split(init_key, len(names))))
    model = Noisy()
    variables = model.init(rngs, jnp.ones((2, 3)))
    dropout_key, noise_key = jax.random.split(apply_key)
    print(model.apply(variables, jnp.ones((2, 3)), rngs={"dropout": dropout_key, "noise": noise_key}))


if __name__ == "__main__":
    main()
