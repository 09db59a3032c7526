# Text generation: every token is sampled with the same key.
import jax
import jax.numpy as jnp


def generate(table, first, length, rng):
    def step(token, _):
        token = jax.random.categorical(rng, table[token])  #! same-key-in-loop
        return token, token

    return jax.lax.scan(step, first, None, length=length)[1]  #! same-key-in-loop


def main():
    table_rng, sample_rng = jax.random.split(jax.random.key(0))
    table = jax.random.normal(table_rng, (16, 16))
    print(generate(table, jnp.int32(0), 12, sample_rng))


if __name__ == "__main__":
    main()
