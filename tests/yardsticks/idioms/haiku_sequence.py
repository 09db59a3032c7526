# A haiku sequence gives a new key at each `next`.
import haiku as hk
import jax
import jax.numpy as jnp


def forward(x):
    x = hk.Linear(8)(x)
    x = hk.dropout(hk.next_rng_key(), 0.5, jax.nn.relu(x))
    return hk.Linear(1)(x)


def main():
    keys = hk.PRNGSequence(42)
    model = hk.transform(forward)
    x = jax.random.normal(next(keys), (5, 3))
    params = model.init(next(keys), x)
    for _ in range(3):
        print(model.apply(params, next(keys), x).mean(), jnp.mean(x))


if __name__ == "__main__":
    main()
