# Noise and mask fold the same step into the same key.
import jax


def corrupt(key, step, x):
    noise_key = jax.random.fold_in(key, step)
    mask_key = jax.random.fold_in(key, step)
    noisy = x + jax.random.normal(noise_key, x.shape)
    return noisy * jax.random.bernoulli(mask_key, 0.9, x.shape)  #! key-reused


def main():
    data_key, key = jax.random.split(jax.random.key(0))
    x = jax.random.normal(data_key, (4,))
    for step in range(3):
        x = corrupt(key, step, x)
    print(x)


if __name__ == "__main__":
    main()
