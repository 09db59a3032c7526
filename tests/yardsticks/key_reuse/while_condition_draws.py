# The condition draws from the key in the carry, and the body hands that key on.
import jax


def unfinished(state):
    count, key = state
    return count < jax.random.uniform(key)  #! same-key-in-loop


def advance(state):
    count, key = state
    return count + 1, key


def main():
    print(jax.lax.while_loop(unfinished, advance, (0, jax.random.key(0)))[0])  #! same-key-in-loop


if __name__ == "__main__":
    main()
