# The condition of a while loop draws from a key outside it.
import jax


def simulate(key):
    def unfinished(count):
        return count < 10 * jax.random.uniform(key)  #! same-key-in-loop

    def advance(count):
        return count + 1

    return jax.lax.while_loop(unfinished, advance, 0)  #! same-key-in-loop


def main():
    print(simulate(jax.random.key(0)))


if __name__ == "__main__":
    main()
