# The joined batch is drawn from, and then so is one of its parts.
import jax
import jax.numpy as jnp


def main():
    train_keys = jax.random.split(jax.random.key(0), 3)
    eval_keys = jax.random.split(jax.random.key(1), 2)
    every = jnp.concatenate([train_keys, eval_keys])
    print(jax.vmap(jax.random.normal)(every))
    print(jax.vmap(jax.random.normal)(eval_keys))  #! key-reused


if __name__ == "__main__":
    main()
