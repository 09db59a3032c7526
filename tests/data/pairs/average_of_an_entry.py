# tree-structure-mismatch: The average starts as an entry of what it is averaged with.
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(1)(nn.tanh(nn.Dense(8)(x)))[..., 0]


def main():
    net, tx = Net(), optax.sgd(0.1)
    x = jnp.ones((4, 3))
    params = net.init(jax.random.key(0), x)
    ema = params  #~ ema = params["params"]
    opt_state = tx.init(params)
    for _ in range(3):
        grads = jax.grad(lambda p: jnp.mean(net.apply(p, x) ** 2))(params)
        updates, opt_state = tx.update(grads, opt_state)
        params = optax.apply_updates(params, updates)
        ema = optax.incremental_update(params, ema, 0.01)  #! tree-structure-mismatch
    print(jax.tree.map(jnp.shape, ema))


main()
