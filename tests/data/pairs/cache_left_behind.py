# stale-value: the decoding cache that attention returns is dropped in the scan carry
import jax
import jax.numpy as jnp
from typing import NamedTuple


class Cache(NamedTuple):
    k: jnp.ndarray
    v: jnp.ndarray
    pos: jnp.ndarray


def attend(params, x, cache):
    q, k, v = x @ params["q"], x @ params["k"], x @ params["v"]
    ks = jax.lax.dynamic_update_slice_in_dim(cache.k, k[:, None], cache.pos, axis=1)
    vs = jax.lax.dynamic_update_slice_in_dim(cache.v, v[:, None], cache.pos, axis=1)
    seen = jnp.arange(ks.shape[1]) <= cache.pos
    scores = jnp.where(seen, jnp.einsum("bd,btd->bt", q, ks), -1e30)
    out = jnp.einsum("bt,btd->bd", jax.nn.softmax(scores), vs)
    return out, Cache(ks, vs, cache.pos + 1)


def generate(params, token, cache, length):
    def step(carry, _):
        token, cache = carry
        x = params["embed"][token]
        out, new_cache = attend(params, x, cache)  #! stale-value
        logits = (x + out) @ params["embed"].T
        token = jnp.argmax(logits, axis=-1)
        return (token, new_cache), token  #~ return (token, cache), token

    (_, cache), tokens = jax.lax.scan(step, (token, cache), None, length=length)
    return tokens.T, cache


def main():
    ks = jax.random.split(jax.random.key(2), 4)
    d, vocab, batch, n = 8, 17, 3, 6
    params = {name: jax.random.normal(k, (d, d)) for name, k in zip("qkv", ks)}
    params["embed"] = jax.random.normal(ks[3], (vocab, d))
    cache = Cache(jnp.zeros((batch, n, d)), jnp.zeros((batch, n, d)), jnp.array(0))
    tokens, _ = jax.jit(generate, static_argnums=3)(params, jnp.zeros(batch, jnp.int32), cache, n)
    print(tokens)


if __name__ == "__main__":
    main()
