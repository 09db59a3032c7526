# Slices of a key array that do not overlap.
import jax


def main():
    keys = jax.random.split(jax.random.key(0), 6)
    noise = jax.vmap(jax.random.normal)(keys[:3])
    masks = jax.vmap(jax.random.uniform)(keys[3:])
    print(noise, masks)


if __name__ == "__main__":
    main()
