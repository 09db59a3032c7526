# A list of layers from one key: all layers have the same weights.
import jax


def init(rng, sizes):
    return [jax.random.normal(rng, (size, size)) for size in sizes]  #! same-key-in-loop


def main():
    print(init(jax.random.key(0), (3, 3, 3)))


if __name__ == "__main__":
    main()
