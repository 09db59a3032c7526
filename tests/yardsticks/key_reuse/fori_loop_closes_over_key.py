# The body of a `fori_loop` draws from a key outside it.
import jax


def main():
    key = jax.random.key(0)

    def add(_, total):
        return total + jax.random.normal(key)  #! same-key-in-loop

    print(jax.lax.fori_loop(0, 5, add, 0.0))  #! same-key-in-loop


if __name__ == "__main__":
    main()
