# Splitting uses the parent up: drawing from it afterwards is reuse.
import jax


def main():
    key = jax.random.key(0)
    subkeys = jax.random.split(key)
    print(jax.random.uniform(key), subkeys.shape)  #! key-reused


if __name__ == "__main__":
    main()
