# Training loop: every step drops the same units.
import flax.linen as nn
import jax
import jax.numpy as jnp


class Model(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dropout(0.5, deterministic=False)(nn.Dense(4)(x))


def main():
    init_rng, drop_rng = jax.random.split(jax.random.key(0))
    model = Model()
    x = jnp.ones((2, 3))
    params = model.init({"params": init_rng, "dropout": jax.random.key(1)}, x)["params"]
    for step in range(5):
        out = model.apply({"params": params}, x, rngs={"dropout": drop_rng})  #! same-key-in-loop
        print(step, out.sum())


if __name__ == "__main__":
    main()
