# The fall-back draws from a row of its own.
import jax
import jax.numpy as jnp


def draw(key, covariance):
    first, second = jax.random.split(key)
    try:
        factor = jnp.linalg.cholesky(covariance)
        return factor @ jax.random.normal(first, (covariance.shape[0],))
    except ValueError:
        return jax.random.normal(second, (1,))


def main():
    print(draw(jax.random.key(0), jnp.eye(3)))


if __name__ == "__main__":
    main()
