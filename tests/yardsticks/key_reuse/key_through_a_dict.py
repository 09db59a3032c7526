# The key is reached through a dictionary the second time.
import jax


def main():
    key = jax.random.key(0)
    streams = {"params": key, "dropout": key}
    print(jax.random.normal(streams["params"]))
    print(jax.random.bernoulli(streams["dropout"]))  #! key-reused


if __name__ == "__main__":
    main()
