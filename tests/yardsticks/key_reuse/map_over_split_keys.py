# A loop over the rows of a split gives each step its own key.
import jax


def main():
    keys = jax.random.split(jax.random.key(0), 5)
    print(jax.lax.map(jax.random.bits, keys))


if __name__ == "__main__":
    main()
