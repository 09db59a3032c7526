# Samplers written as lambdas, each called with a key of its own.
import jax


def main():
    priors = {
        "mean": lambda key: jax.random.normal(key),
        "scale": lambda key: jax.random.gamma(key, 2.0),
        "rate": lambda key: 3.0 * jax.random.exponential(key),
    }
    keys = jax.random.split(jax.random.key(0), len(priors))
    print({name: prior(key) for (name, prior), key in zip(priors.items(), keys)})


if __name__ == "__main__":
    main()
