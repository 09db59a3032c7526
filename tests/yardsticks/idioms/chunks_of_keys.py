# A long array of keys is worked off in chunks that do not overlap.
import jax
import jax.numpy as jnp


def log_weights(key, num_particles, chunk_size):
    keys = jax.random.split(key, num_particles)
    chunks = []
    for start in range(0, num_particles, chunk_size):
        chunk = keys[start : start + chunk_size]
        chunks.append(jax.vmap(jax.random.normal)(chunk))
    return jnp.concatenate(chunks)


def main():
    print(log_weights(jax.random.key(0), 10, 4))


if __name__ == "__main__":
    main()
