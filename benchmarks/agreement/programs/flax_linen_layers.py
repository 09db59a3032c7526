"""Layers of flax.linen, alone and together, by init and apply."""

import flax.linen as nn
import jax
import jax.numpy as jnp

B, T, D, H = 2, 6, 8, 4
key = jax.random.key(0)
image, sequence, ids = jnp.ones((B, 12, 12, 3)), jnp.ones((B, T, D)), jnp.zeros((B, T), jnp.int32)


def applied(module, x, **options):
    variables = module.init({"params": key, "dropout": key}, x, **options)
    return module.apply(variables, x, rngs={"dropout": key}, mutable=["batch_stats"], **options)


class Block(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x, train: bool = False):
        y = nn.LayerNorm()(x)
        y = nn.MultiHeadDotProductAttention(num_heads=H)(y, y)
        y = nn.Dropout(0.1, deterministic=not train)(y)
        x = x + y
        y = nn.Dense(self.width * 2)(nn.RMSNorm()(x))
        return x + nn.Dense(self.width)(nn.gelu(y))


class Conv(nn.Module):
    def setup(self):
        self.first = nn.Conv(16, (3, 3), strides=2)
        self.norm = nn.BatchNorm(use_running_average=False)
        self.second = nn.Conv(8, (3, 3), padding="VALID")
        self.head = nn.Dense(10)

    def __call__(self, x):
        x = nn.relu(self.norm(self.first(x)))
        x = nn.max_pool(x, (2, 2), strides=(2, 2))
        x = self.second(x).mean(axis=(1, 2))
        return self.head(x)


block = applied(Block(D), sequence, train=True)
conv = applied(Conv(), image)
dense = applied(nn.Dense(7), sequence)
general = applied(nn.DenseGeneral((H, 3), axis=-1), sequence)
einsum = applied(nn.Einsum((D, 5), "btd,de->bte"), sequence)
embed = applied(nn.Embed(20, D), ids)
group = applied(nn.GroupNorm(num_groups=4), sequence)
local = applied(nn.ConvLocal(4, (3,)), sequence)
transposed = applied(nn.ConvTranspose(4, (2, 2), strides=(2, 2)), image)
seq = applied(nn.Sequential([nn.Dense(4), nn.relu, nn.Dense(2)]), sequence)
mask = nn.make_causal_mask(ids)
pooled = nn.avg_pool(image, (3, 3), padding="SAME")
weight = applied(nn.WeightNorm(nn.Dense(3)), sequence)
spectral = applied(nn.InstanceNorm(), image)
