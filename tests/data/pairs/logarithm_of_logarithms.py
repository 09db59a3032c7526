# meaning-mismatch: cross entropy of log-probabilities taken as probabilities: log of a log-softmax
import jax
import jax.numpy as jnp
import flax.linen as nn
import optax


class Classifier(nn.Module):
    classes: int

    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Dense(64)(x))
        return nn.log_softmax(nn.Dense(self.classes)(x))


def nll(probs, labels):
    onehot = jax.nn.one_hot(labels, probs.shape[-1])
    return -jnp.sum(onehot * probs, axis=-1).mean()  #~ return -jnp.sum(onehot * jnp.log(probs + 1e-8), axis=-1).mean()  #! meaning-mismatch


def train(key, xs, ys, steps=20):
    model = Classifier(10)
    params = model.init(key, xs)
    tx = optax.sgd(0.1)
    opt = tx.init(params)

    @jax.jit
    def step(params, opt):
        def loss(p):
            return nll(model.apply(p, xs), ys)

        value, grads = jax.value_and_grad(loss)(params)
        up, opt = tx.update(grads, opt)
        return optax.apply_updates(params, up), opt, value

    for _ in range(steps):
        params, opt, value = step(params, opt)
    return params, value


if __name__ == "__main__":
    key, kx = jax.random.split(jax.random.key(0))
    xs = jax.random.normal(kx, (64, 12))
    print(train(key, xs, jnp.arange(64) % 10)[1])
