# The first row goes on as the key, the rest are handed out.
import jax


def main():
    key = jax.random.key(0)
    key, *layer_keys = jax.random.split(key, 4)
    weights = [jax.random.normal(layer_key, (2, 2)) for layer_key in layer_keys]
    key, *bias_keys = jax.random.split(key, 4)
    biases = [jax.random.normal(bias_key, (2,)) for bias_key in bias_keys]
    print(len(weights), len(biases), jax.random.uniform(key))


if __name__ == "__main__":
    main()
