# out-of-bounds-index: random windows are drawn with starts past the last full window
import jax
import jax.numpy as jnp

CONTEXT = 16


def load_tokens(n=1000, vocab=32):
    return jax.random.randint(jax.random.key(7), (n,), 0, vocab)


def sample_batch(key, data, batch_size):
    starts = jax.random.randint(key, (batch_size,), 0, data.shape[0] - CONTEXT)  #~ starts = jax.random.randint(key, (batch_size,), 0, data.shape[0])
    idx = starts[:, None] + jnp.arange(CONTEXT + 1)[None, :]
    window = data[idx]  #! out-of-bounds-index
    return window[:, :-1], window[:, 1:]


def loss(params, x, y):
    logits = params["emb"][x] @ params["out"]
    logp = jax.nn.log_softmax(logits)
    return -jnp.take_along_axis(logp, y[..., None], axis=-1).mean()


def main():
    data = load_tokens()
    k = jax.random.split(jax.random.key(0), 3)
    params = {"emb": jax.random.normal(k[0], (32, 8)), "out": jax.random.normal(k[1], (8, 32))}
    step = jax.jit(jax.value_and_grad(loss))
    for i in range(5):
        x, y = sample_batch(jax.random.fold_in(k[2], i), data, 8)
        value, g = step(params, x, y)
        params = jax.tree_util.tree_map(lambda p, d: p - 0.1 * d, params, g)
    print(value)


if __name__ == "__main__":
    main()
