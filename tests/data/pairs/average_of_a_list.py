# tree-structure-mismatch: A moving average starts as a list and follows a dict.
import jax
import jax.numpy as jnp


def init(key):
    k1, k2 = jax.random.split(key)
    return {"enc": {"w": jax.random.normal(k1, (3, 8))}, "dec": {"w": jax.random.normal(k2, (8, 3))}}


def ema_init(params):
    return jax.tree.map(jnp.zeros_like, params)  #~ return [jnp.zeros_like(p) for p in jax.tree.leaves(params)]


def ema_update(ema, params, decay=0.99):
    return jax.tree.map(lambda e, p: decay * e + (1 - decay) * p, ema, params)  #! tree-structure-mismatch


def loss(params, x):
    h = jnp.tanh(x @ params["enc"]["w"])
    return jnp.mean((h @ params["dec"]["w"] - x) ** 2)


def main():
    k1, k2 = jax.random.split(jax.random.PRNGKey(0))
    params = init(k1)
    ema = ema_init(params)
    x = jax.random.normal(k2, (32, 3))
    for _ in range(10):
        grads = jax.grad(loss)(params, x)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
        ema = ema_update(ema, params)
    print(loss(ema, x))


if __name__ == "__main__":
    main()
