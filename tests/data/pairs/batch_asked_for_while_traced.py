# iterator-in-traced-code: A compiled method asks an iterator for its batch.
import itertools

import jax
import jax.numpy as jnp
import numpy as np


def dataset(seed, n=100):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        x = rng.normal(size=(8, 4)).astype(np.float32)
        yield x, x.sum(axis=1)


class Runner:
    def __init__(self, data, lr):
        self.data = iter(data)
        self.lr = lr
        self._step = jax.jit(self._step_impl)

    def _step_impl(self, params, batch):  #~ def _step_impl(self, params):
        #~ x, y = next(self.data)  #! iterator-in-traced-code
        x, y = batch  #~
        grads = jax.grad(lambda p: jnp.mean((x @ p - y) ** 2))(params)
        return params - self.lr * grads

    def run(self, params, steps):
        for _ in range(steps):
            params = self._step(params, next(self.data))  #~ params = self._step(params)
        return params


def main():
    runner = Runner(dataset(0), 0.1)
    print(runner.run(jnp.zeros(4), 10))


if __name__ == "__main__":
    main()
