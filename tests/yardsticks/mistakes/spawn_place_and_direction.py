# Multi-agent reset: place, direction and coin are all drawn with the same subkey.
import jax
import jax.numpy as jnp

SPAWNS = jnp.array([[0, 0], [0, 4], [4, 0], [4, 4]])


def reset_state(key):
    key, subkey = jax.random.split(key)
    place = jax.random.choice(subkey, SPAWNS, shape=(), replace=False)
    direction = jax.random.randint(subkey, (2,), 0, 3)  #! key-reused
    return {"place": place, "direction": direction, "key": key}


def main():
    print(reset_state(jax.random.PRNGKey(0)))


if __name__ == "__main__":
    main()
