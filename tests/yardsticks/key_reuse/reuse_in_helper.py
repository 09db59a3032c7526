# The key is drawn from in one helper and then in another.
import jax


def propose(key, x):
    return x + jax.random.normal(key)


def accept(key):
    return jax.random.uniform(key) < 0.5


def main():
    key = jax.random.key(0)
    print(propose(key, 1.0), accept(key))  #! key-reused


if __name__ == "__main__":
    main()
