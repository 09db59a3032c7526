# Each process folds its own number into the common seed before it draws.
import jax


def local_key(seed):
    return jax.random.fold_in(jax.random.key(seed), jax.process_index())


def main():
    key = local_key(7)
    order_key, noise_key = jax.random.split(key)
    print(jax.random.permutation(order_key, 5), jax.random.normal(noise_key))


if __name__ == "__main__":
    main()
