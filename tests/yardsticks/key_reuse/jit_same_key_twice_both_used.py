# One key goes into a jitted function twice and both parameters are drawn from.
import jax


@jax.jit
def sample(noise_key, mask_key):
    return jax.random.normal(noise_key) * jax.random.bernoulli(mask_key)  #! key-reused


def main():
    key = jax.random.key(0)
    print(sample(key, key))  #! key-reused


if __name__ == "__main__":
    main()
