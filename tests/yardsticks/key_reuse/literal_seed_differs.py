# Two keys from two literal seeds.
import jax


def main():
    weights = jax.random.normal(jax.random.key(0), (4,))
    data = jax.random.normal(jax.random.key(1), (4,))
    print(weights @ data)


if __name__ == "__main__":
    main()
