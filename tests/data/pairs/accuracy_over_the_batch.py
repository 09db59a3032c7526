# reduction-over-wrong-axis: The best example of each class is compared with the labels.
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

BATCH_SIZE = 10
NUM_CLASSES = 10


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Dense(32)(x))
        return nn.Dense(NUM_CLASSES)(x)


model = Net()


def metrics(logits, labels):
    loss = optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
    accuracy = jnp.mean(jnp.argmax(logits, axis=1) == labels)  #~ accuracy = jnp.mean(jnp.argmax(logits, axis=0) == labels)  #! reduction-over-wrong-axis
    return {"loss": loss, "accuracy": accuracy}


@jax.jit
def train_step(params, x, labels):
    def loss_fn(p):
        logits = model.apply(p, x)
        out = metrics(logits, labels)
        return out["loss"], out

    (_, out), grads = jax.value_and_grad(loss_fn, has_aux=True)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), out


def main():
    k1, k2, k3 = jax.random.split(jax.random.PRNGKey(0), 3)
    x = jax.random.normal(k1, (BATCH_SIZE, 20))
    labels = jax.random.randint(k2, (BATCH_SIZE,), 0, NUM_CLASSES)
    params = model.init(k3, x)
    for _ in range(10):
        params, out = train_step(params, x, labels)
    print({k: float(v) for k, v in out.items()})


if __name__ == "__main__":
    main()
