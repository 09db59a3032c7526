# Stochastic differential equations: the same path is wanted whenever the same time is asked for.
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr


class Noise(eqx.Module):
    key: jax.Array
    shape: tuple[int, ...] = eqx.field(static=True)

    def increment(self, step, dt):
        return jnp.sqrt(dt) * jr.normal(jr.fold_in(self.key, step), self.shape)


def simulate(noise, y0, steps, dt):
    def euler(y, step):
        y = y - y * dt + noise.increment(step, dt)
        return y, y

    return jax.lax.scan(euler, y0, jnp.arange(steps))[1]


def main():
    noise = Noise(jr.key(0), (2,))
    print(simulate(noise, jnp.zeros(2), 20, 0.1)[-1])


if __name__ == "__main__":
    main()
