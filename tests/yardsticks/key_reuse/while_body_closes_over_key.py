# The body of a while loop draws from a key outside it.
import jax


def simulate(key):
    def unfinished(count):
        return count < 5

    def advance(count):
        return count + jax.random.randint(key, (), 1, 3)  #! same-key-in-loop

    return jax.lax.while_loop(unfinished, advance, 0)  #! same-key-in-loop


def main():
    print(simulate(jax.random.key(0)))


if __name__ == "__main__":
    main()
