# The model is initialised with the key that made the data; flax folds more into it, so the numbers differ today.
import flax.linen as nn
import jax


def main():
    rng = jax.random.PRNGKey(0)
    x = jax.random.normal(rng, (8, 4))
    model = nn.Dense(2)
    params = model.init(rng, x)  # ? key-reused
    print(model.apply(params, x).shape)


if __name__ == "__main__":
    main()
