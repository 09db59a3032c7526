# retrace-every-call: jit of a fresh lambda in each iteration
import jax
import jax.numpy as jnp


def energy(params, x):
    return jnp.sum(params["k"] * x**2) + params["c"] * jnp.sum(x**4)


def leapfrog(grad_fn, x, p, dt, n):
    for _ in range(n):
        p = p - 0.5 * dt * grad_fn(x)
        x = x + dt * p
        p = p - 0.5 * dt * grad_fn(x)
    return x, p


def hmc(key, params, x, samples):
    out = []
    grad_fn = jax.jit(jax.grad(lambda q: energy(params, q)))  #~
    for k in jax.random.split(key, samples):
        #~ grad_fn = jax.jit(jax.grad(lambda q: energy(params, q)))  #! retrace-every-call
        kp, ku = jax.random.split(k)
        p = jax.random.normal(kp, x.shape)
        xn, pn = leapfrog(grad_fn, x, p, 0.1, 5)
        h0 = energy(params, x) + 0.5 * jnp.sum(p**2)
        h1 = energy(params, xn) + 0.5 * jnp.sum(pn**2)
        accept = jnp.log(jax.random.uniform(ku)) < h0 - h1
        x = jnp.where(accept, xn, x)
        out.append(x)
    return jnp.stack(out)


def main():
    params = {"k": jnp.array([1.0, 2.0]), "c": 0.1}
    print(hmc(jax.random.key(0), params, jnp.zeros(2), 20).mean(0))


if __name__ == "__main__":
    main()
