# Inputs and targets are shuffled with one key so that they stay aligned.
import jax


def main():
    x_key, y_key, shuffle_key = jax.random.split(jax.random.key(0), 3)
    inputs = jax.random.normal(x_key, (8, 3))
    targets = jax.random.normal(y_key, (8,))
    inputs = jax.random.permutation(shuffle_key, inputs)
    targets = jax.random.permutation(shuffle_key, targets)  # ? key-reused
    print(inputs.shape, targets.shape)


if __name__ == "__main__":
    main()
