# tree-structure-mismatch: The decoder is trained with a state that was made for the encoder.
import haiku as hk
import jax
import jax.numpy as jnp
import optax

encoder = hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP([32, 8], name="enc")(x)))
decoder = hk.without_apply_rng(hk.transform(lambda z: hk.nets.MLP([16, 32, 3], name="dec")(z)))
tx = optax.adam(1e-3)


def main():
    x = jnp.ones((4, 3))
    enc = encoder.init(jax.random.key(0), x)
    dec = decoder.init(jax.random.key(1), encoder.apply(enc, x))
    dec_opt = tx.init(dec)  #~ dec_opt = tx.init(enc)

    def loss(p):
        return jnp.mean((decoder.apply(p, encoder.apply(enc, x)) - x) ** 2)

    grads = jax.grad(loss)(dec)
    updates, dec_opt = tx.update(grads, dec_opt, dec)  #! tree-structure-mismatch
    dec = optax.apply_updates(dec, updates)
    print(jax.tree.map(jnp.shape, dec))


main()
