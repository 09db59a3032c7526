# invalid-input-type: A batch holds the name of its split.
import jax
import jax.numpy as jnp


def load(split, key, n=32):
    x = jax.random.normal(key, (n, 6))
    return {"x": x, "y": (x[:, 0] > 0).astype(jnp.int32), "split": split}


@jax.jit
def metrics(params, batch):
    logits = batch["x"] @ params["w"] + params["b"]
    logp = jax.nn.log_softmax(logits)
    nll = -jnp.take_along_axis(logp, batch["y"][:, None], axis=1).mean()
    return {"nll": nll, "acc": (logits.argmax(-1) == batch["y"]).mean()}


def evaluate(params, splits):
    results = {}
    for i, split in enumerate(splits):
        batch = load(split, jax.random.PRNGKey(i))
        name = batch.pop("split")  #~ name = batch["split"]
        results[name] = metrics(params, batch)  #! invalid-input-type
    return results


def main():
    params = {"w": jnp.zeros((6, 2)), "b": jnp.zeros(2)}
    for split, m in evaluate(params, ["train", "valid"]).items():
        print(split, float(m["nll"]), float(m["acc"]))


if __name__ == "__main__":
    main()
