# The body draws from the key in the carry and hands the same key on.
import jax


def unfinished(state):
    return state[1] < 5


def advance(state):
    key, count = state
    return key, count + jax.random.randint(key, (), 1, 3)  #! same-key-in-loop


def main():
    print(jax.lax.while_loop(unfinished, advance, (jax.random.key(0), 0))[1])  #! same-key-in-loop


if __name__ == "__main__":
    main()
