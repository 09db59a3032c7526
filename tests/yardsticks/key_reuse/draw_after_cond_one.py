# One branch draws from the key: on that path the line after it reuses the key.
import jax


@jax.jit
def sample(flag, key):
    noise = jax.lax.cond(flag, jax.random.uniform, lambda unused: 1.0, key)
    return noise + jax.random.uniform(key)  #! key-reused


def main():
    print(sample(True, jax.random.key(0)))


if __name__ == "__main__":
    main()
