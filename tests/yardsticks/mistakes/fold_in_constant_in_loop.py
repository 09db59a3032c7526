# The loop folds in a constant where the counter was meant.
import jax


def main():
    key = jax.random.key(0)
    for epoch in range(3):
        epoch_key = jax.random.fold_in(key, 1)
        print(epoch, jax.random.permutation(epoch_key, 6))  #! same-key-in-loop


if __name__ == "__main__":
    main()
