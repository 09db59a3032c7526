"""A GAN with two losses: the discriminator sees samples as data, the generator is trained through it."""

import jax
import jax.numpy as jnp
import optax


def generate(generator, noise):
    return jax.nn.relu(noise @ generator["w1"]) @ generator["w2"]


def score(discriminator, x):
    return (jax.nn.leaky_relu(x @ discriminator["w1"]) @ discriminator["w2"])[:, 0]


def discriminator_loss(discriminator, generator, real, noise):
    fake = jax.lax.stop_gradient(generate(generator, noise))
    right = optax.sigmoid_binary_cross_entropy(score(discriminator, real), jnp.ones(real.shape[0]))
    wrong = optax.sigmoid_binary_cross_entropy(score(discriminator, fake), jnp.zeros(fake.shape[0]))
    slope = jax.vmap(jax.grad(lambda x: score(discriminator, x[None])[0]))(real)
    return right.mean() + wrong.mean() + 5.0 * jnp.mean(jnp.sum(slope**2, axis=-1))


def generator_loss(generator, discriminator, noise):
    fooled = score(discriminator, generate(generator, noise))
    return jnp.mean(jax.nn.softplus(-fooled))


@jax.jit
def step(generator, discriminator, real, noise):
    grads = jax.grad(discriminator_loss)(discriminator, generator, real, noise)
    discriminator = jax.tree.map(lambda p, g: p - 0.01 * g, discriminator, grads)
    grads = jax.grad(generator_loss)(generator, discriminator, noise)
    return jax.tree.map(lambda p, g: p - 0.01 * g, generator, grads), discriminator


def main():
    keys = jax.random.split(jax.random.key(0), 6)
    generator = {"w1": jax.random.normal(keys[0], (2, 8)), "w2": jax.random.normal(keys[1], (8, 3))}
    discriminator = {"w1": jax.random.normal(keys[2], (3, 8)), "w2": jax.random.normal(keys[3], (8, 1))}
    real, noise = jax.random.normal(keys[4], (5, 3)), jax.random.normal(keys[5], (5, 2))
    generator, discriminator = step(generator, discriminator, real, noise)
    print(generator["w2"].sum())


if __name__ == "__main__":
    main()
