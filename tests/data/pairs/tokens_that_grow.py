# retrace-every-call: The tokens so far are one longer in every call of a compiled function.
import jax
import jax.numpy as jnp

MAX_LEN = 32
VOCAB = 50


def init(key, dim=16):
    k1, k2 = jax.random.split(key)
    return {"emb": jax.random.normal(k1, (VOCAB, dim)), "out": jax.random.normal(k2, (dim, VOCAB))}


@jax.jit
def next_logits(params, tokens, length):
    h = params["emb"][tokens]
    mask = jnp.arange(tokens.shape[0]) < length
    pooled = jnp.sum(h * mask[:, None], axis=0) / length
    return pooled @ params["out"]


def generate(params, prompt, steps):
    #~ tokens = prompt
    tokens = jnp.zeros(MAX_LEN, jnp.int32).at[: prompt.shape[0]].set(prompt)  #~
    for i in range(steps):
        length = prompt.shape[0] + i
        logits = next_logits(params, tokens, length)  #! retrace-every-call
        nxt = jnp.argmax(logits).astype(jnp.int32)
        tokens = tokens.at[length].set(nxt)  #~ tokens = jnp.concatenate([tokens, nxt[None]])
    return tokens


def main():
    params = init(jax.random.PRNGKey(0))
    print(generate(params, jnp.array([1, 2, 3], jnp.int32), 10))


if __name__ == "__main__":
    main()
