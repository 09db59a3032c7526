# Two keys that change places; each is split before it is used.
import jax


def main():
    key, other = jax.random.split(jax.random.key(0))
    for _ in range(4):
        key, other = other, key
        key, draw_key = jax.random.split(key)
        print(jax.random.normal(draw_key))


if __name__ == "__main__":
    main()
