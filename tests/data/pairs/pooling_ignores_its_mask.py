# unused-mask: A masked mean never reads its mask.
import haiku as hk
import jax
import jax.numpy as jnp

MAX_LEN, FEATS, CLASSES = 10, 5, 3


def masked_mean(x, mask):  #! unused-mask
    """Mean over time of (batch, time, feat), over valid steps only."""
    return jnp.sum(x * mask[..., None], axis=1) / jnp.maximum(mask.sum(axis=1, keepdims=True), 1)  #~ return jnp.mean(x, axis=1)


def classifier(seqs, lengths):
    h = hk.nets.MLP([32, 16])(seqs)
    mask = jnp.arange(MAX_LEN)[None, :] < lengths[:, None]
    pooled = masked_mean(h, mask)
    return hk.Linear(CLASSES)(pooled)


net = hk.without_apply_rng(hk.transform(classifier))


def loss_fn(params, batch):
    logits = net.apply(params, batch["seqs"], batch["lengths"])
    logp = jax.nn.log_softmax(logits)
    return -jnp.take_along_axis(logp, batch["label"][:, None], axis=1).mean()


def main():
    k1, k2, k3 = jax.random.split(jax.random.PRNGKey(0), 3)
    lengths = jax.random.randint(k1, (16,), 2, MAX_LEN)
    batch = {"seqs": jax.random.normal(k2, (16, MAX_LEN, FEATS)), "lengths": lengths, "label": lengths % CLASSES}
    params = net.init(k3, batch["seqs"], lengths)
    step = jax.jit(lambda p, b: jax.tree.map(lambda x, g: x - 0.1 * g, p, jax.grad(loss_fn)(p, b)))
    for _ in range(10):
        params = step(params, batch)
    print(float(loss_fn(params, batch)))


if __name__ == "__main__":
    main()
