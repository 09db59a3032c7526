# broken-straight-through: the stop is on the wrong part of the quantised vector
import jax
import jax.numpy as jnp


def quantize(codebook, z):
    d = jnp.sum((z[:, None] - codebook[None]) ** 2, axis=-1)
    idx = jnp.argmin(d, axis=-1)
    q = codebook[idx]
    commit = jnp.mean((z - jax.lax.stop_gradient(q)) ** 2)
    embed = jnp.mean((q - jax.lax.stop_gradient(z)) ** 2)
    q = z + jax.lax.stop_gradient(q - z)  #~ q = q + jax.lax.stop_gradient(z - q)  #! broken-straight-through
    return q, embed + 0.25 * commit


def loss(params, x):
    z = jnp.tanh(x @ params["enc"])
    q, aux = quantize(params["codebook"], z)
    recon = q @ params["dec"]
    return jnp.mean((recon - x) ** 2) + aux


def main():
    k = jax.random.split(jax.random.key(0), 4)
    params = {"enc": jax.random.normal(k[0], (8, 3)), "dec": jax.random.normal(k[1], (3, 8)),
              "codebook": jax.random.normal(k[2], (16, 3))}
    x = jax.random.normal(k[3], (64, 8))
    print(jax.jit(jax.grad(loss))(params, x)["enc"])


if __name__ == "__main__":
    main()
