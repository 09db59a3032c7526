# Neither branch draws from the key, so the line after them may.
import jax


@jax.jit
def sample(flag, key):
    offset = jax.lax.cond(flag, lambda unused: 0.0, lambda unused: 1.0, key)
    return offset + jax.random.uniform(key)


def main():
    print(sample(True, jax.random.key(0)))


if __name__ == "__main__":
    main()
