# Both branches draw from the key, and so does the line after them.
import jax


@jax.jit
def sample(flag, key):
    noise = jax.lax.cond(flag, jax.random.uniform, jax.random.normal, key)
    return noise + jax.random.uniform(key)  #! key-reused


def main():
    print(sample(True, jax.random.key(0)))


if __name__ == "__main__":
    main()
