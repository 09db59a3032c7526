# A while loop that splits the key in its carry.
import jax


def unfinished(state):
    return state[1] < 10


def advance(state):
    key, draw_key = jax.random.split(state[0])
    return key, state[1] + jax.random.uniform(draw_key)


def main():
    print(jax.lax.while_loop(unfinished, advance, (jax.random.key(0), 0.0))[1])


if __name__ == "__main__":
    main()
