# A set-up function hands back keys that the loop replaces before it draws from any of them.
import jax


def set_up(key, count):
    key, *keys = jax.random.split(key, count + 1)
    return len(keys), keys


def main():
    key = jax.random.key(0)
    count, keys = set_up(key, 2)
    for _ in range(3):
        key, *keys = jax.random.split(key, count + 1)  # ? key-reused
        print([jax.random.normal(one) for one in keys])


if __name__ == "__main__":
    main()
