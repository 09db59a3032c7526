# Rejection sampling for a whole batch: each row's loop splits the key that it carries.
import jax


def positive_normal(key):
    def rejected(state):
        return state[1] < 0

    def draw(state):
        key, draw_key = jax.random.split(state[0])
        return key, jax.random.normal(draw_key)

    return jax.lax.while_loop(rejected, draw, (key, -1.0))[1]


def main():
    keys = jax.random.split(jax.random.key(0), 3)
    print(jax.vmap(positive_normal)(keys))


if __name__ == "__main__":
    main()
