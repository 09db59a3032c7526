# Language models: a key for each generated token.
import jax
import jax.numpy as jnp


def generate(logits_fn, prompt, length, key, temperature=1.0):
    def step(carry, step_key):
        tokens, position = carry
        logits = logits_fn(tokens) / temperature
        token = jax.random.categorical(step_key, logits)
        tokens = tokens.at[position].set(token)
        return (tokens, position + 1), token

    start = (jnp.zeros(length, jnp.int32).at[: prompt.size].set(prompt), prompt.size)
    return jax.lax.scan(step, start, jax.random.split(key, length - prompt.size))[1]


def main():
    table_key, sample_key = jax.random.split(jax.random.key(0))
    table = jax.random.normal(table_key, (10,))
    print(generate(lambda tokens: table + 0.0 * tokens.sum(), jnp.array([1, 2]), 8, sample_key))


if __name__ == "__main__":
    main()
