# The key lives in the training state and is folded with the step count, so it never has to change.
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training import train_state


class Model(nn.Module):
    @nn.compact
    def __call__(self, x, training):
        x = nn.Dense(8)(x)
        x = nn.Dropout(0.5, deterministic=not training)(x)
        return nn.Dense(1)(x)


class TrainState(train_state.TrainState):
    key: jax.Array


@jax.jit
def train_step(state, x, y):
    dropout_key = jax.random.fold_in(key=state.key, data=state.step)

    def loss(params):
        prediction = state.apply_fn({"params": params}, x, training=True, rngs={"dropout": dropout_key})
        return jnp.mean((prediction - y) ** 2)

    return state.apply_gradients(grads=jax.grad(loss)(state.params))


def main():
    main_key, params_key, dropout_key = jax.random.split(jax.random.key(0), 3)
    x_key, y_key = jax.random.split(main_key)
    x, y = jax.random.normal(x_key, (6, 4)), jax.random.normal(y_key, (6, 1))
    model = Model()
    params = model.init(params_key, x, training=False)["params"]
    state = TrainState.create(apply_fn=model.apply, params=params, key=dropout_key, tx=optax.sgd(0.1))
    for _ in range(3):
        state = train_step(state, x, y)
    print(state.step)


if __name__ == "__main__":
    main()
