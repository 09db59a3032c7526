# The key is drawn from in a branch that always raises, and then on the only way past it.
import jax


def choose(key, population, count):
    if count > population:
        example = jax.random.randint(key, (), 0, population)
        raise ValueError(f"only {population} to choose from, for example {example}")
    return jax.random.choice(key, population, (count,), replace=False)


def main():
    print(choose(jax.random.key(0), 10, 3))


if __name__ == "__main__":
    main()
