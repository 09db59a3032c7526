# Two keys moved together, and the first one drawn from in both places.
import jax


def main():
    left, right = jax.random.split(jax.random.key(0))
    left_moved, right_moved = jax.device_put((left, right))
    print(jax.random.normal(left), jax.random.normal(right_moved))
    print(jax.random.normal(left_moved))  #! key-reused


if __name__ == "__main__":
    main()
