# Epoch and batch folded in one after the other.
import jax


def main():
    key = jax.random.key(0)
    for epoch in range(2):
        epoch_key = jax.random.fold_in(key, epoch)
        for batch in range(3):
            batch_key = jax.random.fold_in(epoch_key, batch)
            print(jax.random.normal(batch_key))


if __name__ == "__main__":
    main()
