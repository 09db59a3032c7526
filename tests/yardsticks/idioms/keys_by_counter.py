# Row `i` of a split in turn `i` of a loop, in Python and inside `fori_loop`.
import jax


def main():
    first, second = jax.random.split(jax.random.key(0))
    keys = jax.random.split(first, 4)
    print([jax.random.normal(keys[i]) for i in range(4)])
    more = jax.random.split(second, 4)

    def add(i, total):
        return total + jax.random.uniform(more[i])

    print(jax.lax.fori_loop(0, 4, add, 0.0))


if __name__ == "__main__":
    main()
