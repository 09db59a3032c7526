# Many chains at once, each a scan that splits the key in its carry: nothing is used twice.
import jax


def chain(key):
    def step(key, _):
        key, draw_key = jax.random.split(key)
        return key, jax.random.normal(draw_key)

    return jax.lax.scan(step, key, length=6)[1]


def main():
    keys = jax.random.split(jax.random.key(0), 3)
    print(jax.vmap(chain)(keys))


if __name__ == "__main__":
    main()
