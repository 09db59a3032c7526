# Row `i` of a split in turn `i` of a compiled loop: each row is drawn from once.
import jax


def main():
    keys = jax.random.split(jax.random.key(0), 4)

    def add(i, total):
        return total + jax.random.uniform(keys[i])

    print(jax.lax.fori_loop(0, 4, add, 0.0))


if __name__ == "__main__":
    main()
