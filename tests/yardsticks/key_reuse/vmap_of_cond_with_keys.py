# A branch chosen for each row; each row has a key of its own.
import jax
import jax.numpy as jnp


def sample(flag, key):
    return jax.lax.cond(flag, jax.random.normal, jax.random.uniform, key)


def main():
    keys = jax.random.split(jax.random.key(0), 3)
    print(jax.vmap(sample)(jnp.array([True, False, True]), keys))


if __name__ == "__main__":
    main()
