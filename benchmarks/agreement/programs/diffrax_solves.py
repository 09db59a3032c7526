"""Ordinary and stochastic differential equations by diffrax."""

import diffrax
import jax
import jax.numpy as jnp

D, SAVES = 3, 5


def field(t, y, args):
    return -args * y


ts = jnp.linspace(0.0, 1.0, SAVES)
term, y0 = diffrax.ODETerm(field), jnp.ones(D)
for solver in (diffrax.Tsit5(), diffrax.Euler(), diffrax.Heun(), diffrax.Dopri5()):
    solution = diffrax.diffeqsolve(term, solver, 0.0, 1.0, 0.1, y0, args=0.5, saveat=diffrax.SaveAt(ts=ts))
    ys = solution.ys
adaptive = diffrax.diffeqsolve(
    term, diffrax.Tsit5(), 0.0, 1.0, None, y0, args=0.5, stepsize_controller=diffrax.PIDController(1e-3, 1e-6)
)
final = adaptive.ys
path = diffrax.VirtualBrownianTree(0.0, 1.0, tol=1e-2, shape=(D,), key=jax.random.key(0))
noise = diffrax.ControlTerm(lambda t, y, args: 0.1 * jnp.eye(D), path)
sde = diffrax.diffeqsolve(diffrax.MultiTerm(term, noise), diffrax.Euler(), 0.0, 1.0, 0.1, y0, args=0.5)
walk = sde.ys


@jax.jit
def loss(y0):
    solution = diffrax.diffeqsolve(term, diffrax.Tsit5(), 0.0, 1.0, 0.1, y0, args=0.5)
    return (solution.ys**2).sum()


grads = jax.grad(loss)(y0)
many = jax.vmap(loss)(jnp.ones((4, D)))
coeffs = diffrax.backward_hermite_coefficients(ts, jnp.ones((SAVES, D)))
spline = diffrax.CubicInterpolation(ts, coeffs)
value = spline.evaluate(0.3)
