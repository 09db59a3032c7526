# A decoding loop in Python that never takes a new key.
import jax
import jax.numpy as jnp


def decode(logits_fn, tokens, steps, key):
    for _ in range(steps):
        logits = logits_fn(tokens)
        token = jax.random.categorical(key, logits)  #! same-key-in-loop
        tokens = jnp.append(tokens, token)
    return tokens


def main():
    print(decode(lambda tokens: jnp.zeros(5) + tokens.size, jnp.array([1]), 4, jax.random.key(0)))


if __name__ == "__main__":
    main()
