# The first attempt runs in Python; the compiled loop goes on from the state that it left.
import jax
import jax.numpy as jnp


def find_start(key, eager):
    def unfinished(state):
        count, _, value = state
        return (count < 100) & (value < 0)

    def attempt(state):
        count, key, _ = state
        key, subkey = jax.random.split(key)
        return count + 1, key, jax.random.normal(subkey)

    state = (0, key, jnp.float32(-1.0))
    if eager:
        _, _, value = state = attempt(state)
        if value > 0:
            return value
    _, _, value = jax.lax.while_loop(unfinished, attempt, state)
    return value


def main():
    first, second = jax.random.split(jax.random.key(0))
    print(find_start(first, True), find_start(second, False))


if __name__ == "__main__":
    main()
