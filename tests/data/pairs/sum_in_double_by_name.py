# float64-without-x64: A sum asks for double precision by its name.
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)  #~


def kahan(values):
    def step(carry, v):
        total, comp = carry
        y = v - comp
        t = total + y
        return (t, (t - total) - y), None

    zero = jnp.zeros((), dtype="float64")  #! float64-without-x64
    (total, _), _ = jax.lax.scan(step, (zero, zero), values.astype(zero.dtype))
    return total


def main():
    print(kahan(jnp.full(1000, 0.1)))


if __name__ == "__main__":
    main()
