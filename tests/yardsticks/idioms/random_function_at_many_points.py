# A random function is fixed by the key it holds; asking it at many points must not change it.
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr


class RandomWave(eqx.Module):
    key: jax.Array

    def evaluate(self, time):
        phase_key, pitch_key = jr.split(self.key)
        phase = jr.uniform(phase_key, (5,))
        pitch = jr.normal(pitch_key, (5,))
        return jnp.sum(jnp.sin(pitch * time + phase))


def main():
    wave = RandomWave(jr.key(0))
    times = jnp.linspace(0.0, 1.0, 7)
    print(jax.vmap(lambda time: wave.evaluate(time))(times))  # ? same-key-across-vmap


if __name__ == "__main__":
    main()
