# Two results of a jitted function are the same key.
import jax


@jax.jit
def duplicate(key):
    return key, key


def main():
    noise_key, mask_key = duplicate(jax.random.key(0))
    print(jax.random.normal(noise_key))
    print(jax.random.bernoulli(mask_key))  #! key-reused


if __name__ == "__main__":
    main()
