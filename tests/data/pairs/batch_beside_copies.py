# device-axis-missing: A batch of 64 goes to the devices as it is.
import jax
import jax.numpy as jnp
from flax import jax_utils

BATCH = 64


def forward(params, x):
    return jnp.tanh(x @ params["w"] + params["b"])


p_forward = jax.pmap(forward)


def shard(x):
    return x.reshape(jax.local_device_count(), -1, x.shape[-1])


def evaluate(params, x):
    params = jax_utils.replicate(params)
    out = p_forward(params, shard(x))  #~ out = p_forward(params, x)  #! device-axis-missing
    return out.reshape(-1, out.shape[-1])


def main():
    params = {"w": jnp.ones((4, 2)), "b": jnp.zeros(2)}
    x = jax.random.normal(jax.random.PRNGKey(0), (BATCH, 4))
    print(evaluate(params, x).shape)


if __name__ == "__main__":
    main()
