# tracer-leak: A compiled method appends its loss to a list that a loop calls it beside.
import jax
import jax.numpy as jnp
from functools import partial


class Trainer:
    def __init__(self, dim, lr=0.1):
        self.lr = lr
        self.w = jnp.zeros(dim)
        self.losses = []

    def loss(self, w, x, y):
        return jnp.mean((x @ w - y) ** 2)

    @partial(jax.jit, static_argnums=0)
    def step(self, w, x, y):
        loss, g = jax.value_and_grad(self.loss)(w, x, y)
        #~ self.losses.append(loss)  #! tracer-leak
        return w - self.lr * g, loss

    def fit(self, x, y, steps):
        for _ in range(steps):
            self.w, loss = self.step(self.w, x, y)
            self.losses.append(loss)  #~
        return self.losses


def main():
    key = jax.random.PRNGKey(0)
    x = jax.random.normal(key, (64, 3))
    y = x @ jnp.array([1.0, 2.0, 3.0])
    trainer = Trainer(3)
    history = trainer.fit(x, y, 25)
    print(len(history), history[-1])


if __name__ == "__main__":
    main()
