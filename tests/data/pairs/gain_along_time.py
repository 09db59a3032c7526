# silent-broadcast: One gain for each channel is broadcast along time, layer by layer.
import jax
import jax.numpy as jnp

TIME = 8
CHANNELS = 8
BATCH = 3


def positional(time, channels):
    pos = jnp.arange(time)[:, None]
    freq = 1.0 / 100.0 ** (jnp.arange(channels) / channels)
    return jnp.sin(pos * freq)


def layer_scale(x, gamma):
    """x is channels-first: (batch, channels, time); gamma holds one gain for each channel."""
    return x * gamma[:, None]  #~ return x * gamma  #! silent-broadcast


def block(params, x):
    h = jnp.einsum("oc,bct->bot", params["mix"], x)
    return x + layer_scale(jax.nn.gelu(h), params["gamma"])


def forward(params, x):
    x = x + positional(TIME, CHANNELS).T
    for p in params["blocks"]:
        x = block(p, x)
    return x.mean(axis=2) @ params["head"]


def main():
    ks = jax.random.split(jax.random.PRNGKey(0), 4)
    blocks = [{"mix": jax.random.normal(k, (CHANNELS, CHANNELS)), "gamma": jnp.linspace(0.1, 1.0, CHANNELS)} for k in ks[:2]]
    params = {"blocks": blocks, "head": jax.random.normal(ks[2], (CHANNELS, 5))}
    x = jax.random.normal(ks[3], (BATCH, CHANNELS, TIME))
    print(jax.jit(forward)(params, x).shape)


if __name__ == "__main__":
    main()
