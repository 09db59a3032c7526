# stale-value: A trainer keeps the state of its optimizer in an attribute and never renews it.
import equinox as eqx
import jax
import jax.numpy as jnp
import optax


class Net(eqx.Module):
    layers: list

    def __init__(self, key):
        k1, k2 = jax.random.split(key)
        self.layers = [eqx.nn.Linear(5, 16, key=k1), eqx.nn.Linear(16, 1, key=k2)]

    def __call__(self, x):
        for layer in self.layers[:-1]:
            x = jax.nn.gelu(layer(x))
        return self.layers[-1](x)[0]


class Trainer:
    def __init__(self, model, optim):
        self.optim = optim
        self.params, self.static = eqx.partition(model, eqx.is_array)
        self.opt_state = optim.init(self.params)

    def objective(self, params, x, y):
        model = eqx.combine(params, self.static)
        return jnp.mean((jax.vmap(model)(x) - y) ** 2)

    def fit(self, x, y, epochs):
        objective = jax.jit(jax.value_and_grad(self.objective))
        history = []
        for _ in range(epochs):
            loss, grads = objective(self.params, x, y)
            updates, self.opt_state = self.optim.update(grads, self.opt_state, self.params)  #~ updates, opt_state = self.optim.update(grads, self.opt_state, self.params)  #! stale-value
            self.params = optax.apply_updates(self.params, updates)
            history.append(float(loss))
        return history


def main():
    k_model, k_data = jax.random.split(jax.random.PRNGKey(4))
    x = jax.random.normal(k_data, (64, 5))
    y = jnp.sin(x).sum(axis=1)
    schedule = optax.cosine_decay_schedule(1e-2, 100)
    trainer = Trainer(Net(k_model), optax.adamw(schedule))
    history = trainer.fit(x, y, 30)
    print(history[0], history[-1])


if __name__ == "__main__":
    main()
