# The key is drawn from and then split to go on: the draw may share bits with the rows.
import jax


def main():
    key = jax.random.key(0)
    order = jax.random.permutation(key, 8)
    key, noise_key = jax.random.split(key)  #! key-reused
    print(order, jax.random.normal(noise_key))


if __name__ == "__main__":
    main()
