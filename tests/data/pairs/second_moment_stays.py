# average-not-returned: An optimizer gives its second moment back as it was.
from typing import NamedTuple

import jax
import jax.numpy as jnp


class AdamState(NamedTuple):
    step: jax.Array
    mu: jax.Array
    nu: jax.Array


class Adam:
    def __init__(self, lr=1e-3, b1=0.9, b2=0.999, eps=1e-8):
        self.lr, self.b1, self.b2, self.eps = lr, b1, b2, eps

    def init(self, params):
        return AdamState(jnp.zeros((), jnp.int32), jnp.zeros_like(params), jnp.zeros_like(params))

    def update(self, grads, state, params):
        step = state.step + 1
        mu = self.b1 * state.mu + (1 - self.b1) * grads
        nu = self.b2 * state.nu + (1 - self.b2) * grads**2
        mu_hat = mu / (1 - self.b1**step)
        nu_hat = nu / (1 - self.b2**step)
        params = params - self.lr * mu_hat / (jnp.sqrt(nu_hat) + self.eps)
        return params, AdamState(step, mu, nu)  #~ return params, AdamState(step, mu, state.nu)  #! average-not-returned


def loss(w, x, y):
    return jnp.mean((x @ w - y) ** 2)


def main():
    opt = Adam(1e-2)
    x = jax.random.normal(jax.random.PRNGKey(0), (64, 4))
    y = x.sum(1)
    w = jnp.zeros(4)
    state = opt.init(w)

    @jax.jit
    def step(w, state):
        return opt.update(jax.grad(loss)(w, x, y), state, w)

    for _ in range(50):
        w, state = step(w, state)
    print(w, state.step)


if __name__ == "__main__":
    main()
