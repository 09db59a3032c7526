# Two batches of keys joined into one and each row used once.
import jax
import jax.numpy as jnp


def main():
    train_keys = jax.random.split(jax.random.key(0), 3)
    eval_keys = jax.random.split(jax.random.key(1), 2)
    every = jnp.concatenate([train_keys, eval_keys])
    print(jax.vmap(jax.random.normal)(every))


if __name__ == "__main__":
    main()
