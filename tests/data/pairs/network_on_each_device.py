# device-axis-missing: Parameters go to the devices as they were made.
import haiku as hk
import jax
import jax.numpy as jnp

net = hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP([16, 2])(x)))


def loss(params, x, y):
    return jnp.mean((net.apply(params, x) - y) ** 2)


def main():
    n = jax.local_device_count()
    x = jax.random.normal(jax.random.PRNGKey(0), (n, 8, 3))
    params = net.init(jax.random.PRNGKey(1), x[0])
    values = jax.pmap(loss, in_axes=(None, 0, 0))(params, x, x[..., :2])  #~ values = jax.pmap(loss)(params, x, x[..., :2])  #! device-axis-missing
    print(values.mean())


if __name__ == "__main__":
    main()
