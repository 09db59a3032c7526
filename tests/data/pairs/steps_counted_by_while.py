# unrolled-loop: A compiled solver counts its steps in Python.
import jax
import jax.numpy as jnp

NUM_STEPS = 500


def rhs(y, params):
    return jnp.tanh(params["a"] @ y) - params["k"] * y


def rk2(y, params, dt):
    half = y + 0.5 * dt * rhs(y, params)
    return y + dt * rhs(half, params)


@jax.jit
def solve(params, y0):
    dt = 1.0 / NUM_STEPS
    #~ y, i = y0, 0
    #~ while i < NUM_STEPS:  #! unrolled-loop
    #~     y = rk2(y, params, dt)
    #~     i += 1
    #~ return y
    return jax.lax.fori_loop(0, NUM_STEPS, lambda _, y: rk2(y, params, dt), y0)  #~


def loss(params, y0, target):
    return jnp.sum((solve(params, y0) - target) ** 2)


def main():
    params = {"a": jnp.eye(3), "k": jnp.array(0.5)}
    print(loss(params, jnp.ones(3), jnp.zeros(3)))


if __name__ == "__main__":
    main()
