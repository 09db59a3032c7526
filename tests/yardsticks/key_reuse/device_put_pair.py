# Two keys moved together: drawing from one says nothing about the other.
import jax


def main():
    left, right = jax.random.split(jax.random.key(0))
    left_moved, right_moved = jax.device_put((left, right))
    print(jax.random.normal(left_moved), jax.random.normal(right_moved))


if __name__ == "__main__":
    main()
