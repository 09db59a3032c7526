# The state of a loop is an equinox module made anew in each turn.
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr


class Search(eqx.Module):
    best: jax.Array
    tries: jax.Array
    key: jax.Array


def search(key, limit):
    def unfinished(state):
        return state.tries < limit

    def attempt(state):
        key, guess_key = jr.split(state.key)
        best = jnp.maximum(state.best, jr.normal(guess_key))
        return Search(best=best, tries=state.tries + 1, key=key)

    start = Search(best=jnp.float32(-10.0), tries=jnp.int32(0), key=key)
    return jax.lax.while_loop(unfinished, attempt, start).best


def main():
    print(search(jr.key(0), 5))


if __name__ == "__main__":
    main()
