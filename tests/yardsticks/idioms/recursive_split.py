# A recursive function that splits its key for each half.
import jax
import jax.numpy as jnp


def midpoint_displacement(key, left, right, depth):
    if depth == 0:
        return jnp.array([left, right])
    here, below_left, below_right = jax.random.split(key, 3)
    middle = 0.5 * (left + right) + jax.random.normal(here) * 2.0**-depth
    first = midpoint_displacement(below_left, left, middle, depth - 1)
    second = midpoint_displacement(below_right, middle, right, depth - 1)
    return jnp.concatenate([first[:-1], second])


def main():
    print(midpoint_displacement(jax.random.key(0), 0.0, 1.0, 3))


if __name__ == "__main__":
    main()
