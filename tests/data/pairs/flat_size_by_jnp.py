# dynamic-shape: The size of a flat layer is a product that JAX traces.
import math

import flax.linen as nn
import jax
import jax.numpy as jnp


class Encoder(nn.Module):
    latent: int = 8

    @nn.compact
    def __call__(self, img):
        h = nn.relu(nn.Conv(8, (3, 3), strides=(2, 2))(img))
        h = nn.relu(nn.Conv(16, (3, 3), strides=(2, 2))(h))
        size = math.prod(h.shape[1:])  #~ size = jnp.prod(jnp.array(h.shape[1:]))
        h = h.reshape((h.shape[0], size))  #! dynamic-shape
        return nn.Dense(self.latent)(h)


@jax.jit
def embed(params, images):
    return Encoder().apply(params, images)


def main():
    key = jax.random.PRNGKey(0)
    images = jax.random.uniform(jax.random.PRNGKey(1), (4, 16, 16, 3))
    params = Encoder().init(key, images)
    print(embed(params, images).shape)


if __name__ == "__main__":
    main()
