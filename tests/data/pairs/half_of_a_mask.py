# unused-mask: the causal mask is combined but the padding mask alone is applied
import jax
import jax.numpy as jnp


def attention(q, k, v, mask):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(q.shape[-1])
    scores = jnp.where(mask, scores, -1e9)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, axis=-1), v)


def block(params, x, pad):
    B, T, D = x.shape
    q, k, v = jnp.split(x @ params["qkv"], 3, axis=-1)
    q, k, v = (t.reshape(B, T, 4, D // 4) for t in (q, k, v))
    causal = jnp.tril(jnp.ones((T, T), bool))[None, None]
    keep = pad[:, None, None, :]
    mask = causal & keep  #! unused-mask
    out = attention(q, k, v, mask)  #~ out = attention(q, k, v, keep)
    return x + out.reshape(B, T, D) @ params["out"]


@jax.jit
def loss_fn(params, tokens):
    pad = tokens > 0
    x = params["embed"][tokens]
    for layer in params["layers"]:
        x = block(layer, x, pad)
    logp = jax.nn.log_softmax(x @ params["embed"].T)
    nll = -jnp.take_along_axis(logp[:, :-1], tokens[:, 1:, None], axis=-1)[..., 0]
    weight = pad[:, 1:]
    return jnp.sum(nll * weight) / jnp.sum(weight)  #? unsafe-domain


def main():
    k = jax.random.split(jax.random.key(0), 6)
    layers = [{"qkv": jax.random.normal(k[i], (16, 48)) * 0.1, "out": jax.random.normal(k[i + 2], (16, 16)) * 0.1} for i in range(2)]
    params = {"embed": jax.random.normal(k[4], (20, 16)), "layers": layers}
    tokens = jax.random.randint(k[5], (3, 9), 0, 20)
    print(loss_fn(params, tokens))


if __name__ == "__main__":
    main()
