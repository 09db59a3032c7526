# out-of-bounds-index: The right neighbour of the last cell does not exist.
import jax
import jax.numpy as jnp

NX = 32


def laplacian(u, dx):
    idx = jnp.arange(NX)
    left = jnp.where(idx > 0, u[idx - 1], 0.0)  #~ left = u[idx - 1]
    right = jnp.where(idx < NX - 1, u[jnp.minimum(idx + 1, NX - 1)], 0.0)  #~ right = u[idx + 1]  #! out-of-bounds-index
    return (left - 2.0 * u + right) / dx**2


def make_solver(kappa, dt):
    dx = 1.0 / (NX + 1)

    def step(u, _):
        u = u + dt * kappa * laplacian(u, dx)
        return u, jnp.sum(u) * dx

    @jax.jit
    def solve(u0):
        return jax.lax.scan(step, u0, None, length=100)

    return solve


def main():
    x = jnp.linspace(0.0, 1.0, NX + 2)[1:-1]
    u, mass = make_solver(0.1, 1e-3)(jnp.sin(jnp.pi * x))
    print(float(u.max()), float(mass[-1]))


if __name__ == "__main__":
    main()
