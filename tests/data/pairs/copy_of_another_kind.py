# tree-structure-mismatch: The target is a tuple of layers and the network a list.
import jax
import jax.numpy as jnp


def init_mlp(key, sizes):
    keys = jax.random.split(key, len(sizes) - 1)
    return [(jax.random.normal(k, (m, n)) / m**0.5, jnp.zeros(n)) for k, m, n in zip(keys, sizes[:-1], sizes[1:])]


def copy_params(layers):
    return [(w.copy(), b.copy()) for w, b in layers]  #~ return tuple((w.copy(), b.copy()) for w, b in layers)


def soft_update(target, online, tau=0.005):
    return jax.tree.map(lambda t, o: t + tau * (o - t), target, online)  #! tree-structure-mismatch


def main():
    online = init_mlp(jax.random.key(1), (4, 16, 2))
    target = copy_params(online)
    target = soft_update(target, online)
    print(jax.tree.map(jnp.shape, target))


main()
