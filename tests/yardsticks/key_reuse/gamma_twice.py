# Gamma has a sampler of its own; it uses its key up like the others.
import jax


def main():
    key = jax.random.key(0)
    rate = jax.random.gamma(key, 2.0)
    shape = jax.random.gamma(key, 5.0)  #! key-reused
    print(rate, shape)


if __name__ == "__main__":
    main()
