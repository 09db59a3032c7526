# One key outside the loop, made different in each turn by the loop counter.
import jax


def main():
    key = jax.random.key(0)

    def add(i, total):
        return total + jax.random.normal(jax.random.fold_in(key, i))

    print(jax.lax.fori_loop(0, 5, add, 0.0))


if __name__ == "__main__":
    main()
