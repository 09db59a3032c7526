# `key[None]` is a view: the key inside it is the one already drawn from.
import jax


def main():
    key = jax.random.key(0)
    row = key[None]
    alone = jax.random.bits(key)
    mapped = jax.vmap(jax.random.bits)(row)  #! key-reused
    print(alone + mapped)


if __name__ == "__main__":
    main()
