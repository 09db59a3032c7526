# `iter` over the rows of a split; `next` hands each row out once.
import jax


def main():
    keys = iter(jax.random.split(jax.random.key(0), 3))
    params = {
        "embed": jax.random.normal(next(keys), (4, 2)),
        "hidden": jax.random.normal(next(keys), (2, 2)),
        "head": jax.random.normal(next(keys), (2, 1)),
    }
    print(jax.tree.map(lambda leaf: leaf.shape, params))


if __name__ == "__main__":
    main()
