# reshape-mixes-axes: Attention heads are taken apart by a reshape without a transpose.
import flax.linen as nn
import jax
import jax.numpy as jnp


class SelfAttention(nn.Module):
    num_heads: int
    head_dim: int

    def setup(self):
        self.qkv = nn.Dense(3 * self.num_heads * self.head_dim, use_bias=False)
        self.out = nn.Dense(self.num_heads * self.head_dim)

    def split_heads(self, x):
        batch, seq_len, _ = x.shape
        return x.reshape(batch, seq_len, self.num_heads, self.head_dim).transpose(0, 2, 1, 3)  #~ return x.reshape(batch, self.num_heads, seq_len, self.head_dim)  #! reshape-mixes-axes

    def __call__(self, x):
        batch, seq_len, _ = x.shape
        q, k, v = map(self.split_heads, jnp.split(self.qkv(x), 3, axis=-1))
        att = jnp.einsum("bhqd,bhkd->bhqk", q, k) * self.head_dim**-0.5
        att = jax.nn.softmax(att, axis=-1)
        y = jnp.einsum("bhqk,bhkd->bqhd", att, v)
        return self.out(y.reshape(batch, seq_len, self.num_heads * self.head_dim))


class Block(nn.Module):
    num_heads: int
    head_dim: int

    @nn.compact
    def __call__(self, x):
        x = x + SelfAttention(self.num_heads, self.head_dim)(nn.LayerNorm()(x))
        h = nn.gelu(nn.Dense(4 * x.shape[-1])(nn.LayerNorm()(x)))
        return x + nn.Dense(x.shape[-1])(h)


def main():
    k1, k2 = jax.random.split(jax.random.PRNGKey(3))
    block = Block(num_heads=4, head_dim=8)
    x = jax.random.normal(k1, (2, 10, 32))
    params = block.init(k2, x)
    y = jax.jit(block.apply)(params, x)
    print(y.shape, float(jnp.abs(y).mean()))


if __name__ == "__main__":
    main()
