# Only one of two branches runs, so each may draw from the key.
import jax


@jax.jit
def sample(flag, key):
    return jax.lax.cond(flag, jax.random.uniform, jax.random.normal, key)


def main():
    print(sample(True, jax.random.key(0)))


if __name__ == "__main__":
    main()
