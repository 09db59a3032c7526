# none-leaf: Missing gradients become zeros, but None is no leaf.
import jax
import jax.numpy as jnp


def split_trainable(params, names):
    train = {k: (v if k in names else None) for k, v in params.items()}
    frozen = {k: (None if k in names else v) for k, v in params.items()}
    return train, frozen


def merge(train, frozen):
    return {k: (train[k] if train[k] is not None else frozen[k]) for k in train}


def none_to_zero(grads, params):
    pick = lambda g, p: jnp.zeros_like(p) if g is None else g
    return jax.tree_util.tree_map(pick, grads, params, is_leaf=lambda g: g is None)  #~ return jax.tree_util.tree_map(pick, grads, params)  #! none-leaf


def loss(params, x):
    return jnp.mean((x * params["scale"] + params["shift"]) ** 2)


def main():
    params = {"scale": jnp.ones(3), "shift": jnp.zeros(3)}
    train, frozen = split_trainable(params, {"scale"})
    x = jnp.arange(6.0).reshape(2, 3)
    grads = jax.grad(lambda t: loss(merge(t, frozen), x))(train)
    full = none_to_zero(grads, params)
    params = jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, full)  #! tree-structure-mismatch
    print(params)


if __name__ == "__main__":
    main()
