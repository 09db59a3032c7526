# A used key is printed from inside a mapped function: looking is not drawing.
import jax


def sample(key):
    left, right = jax.random.split(key)
    jax.debug.print("key {}", key)
    return jax.random.normal(left) + jax.random.normal(right)


def main():
    keys = jax.random.split(jax.random.key(0), 3)
    print(jax.vmap(sample)(keys))


if __name__ == "__main__":
    main()
