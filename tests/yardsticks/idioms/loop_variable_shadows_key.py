# The loop variable has the parameter's name: each turn has a key of its own.
import jax


def prior_sample(rng_key, bounds):
    keys = jax.random.split(rng_key, len(bounds))
    params = {}
    for rng_key, (name, (low, high)) in zip(keys, bounds.items()):
        params[name] = jax.random.uniform(rng_key, minval=low, maxval=high)
    return params


def main():
    print(prior_sample(jax.random.key(0), {"mass": (0.0, 1.0), "spin": (-1.0, 1.0)}))


if __name__ == "__main__":
    main()
