# tree-transpose-wrong: The structures of tasks and metrics are exchanged.
import jax
import jax.numpy as jnp

TASKS = ("reach", "push", "slide")


def evaluate(params, key):
    noise = jax.random.normal(key, (32,))
    score = jnp.tanh(params["gain"] * noise + params["bias"])
    return {"mean": score.mean(), "std": score.std(), "best": score.max()}


def by_metric(per_task):
    """{task: {metric: value}} -> {metric: {task: value}}."""
    outer = jax.tree.structure({t: 0 for t in TASKS})
    inner = jax.tree.structure({"mean": 0, "std": 0, "best": 0})
    return jax.tree.transpose(outer, inner, per_task)  #~ return jax.tree.transpose(inner, outer, per_task)  #! tree-transpose-wrong


def main():
    params = {"gain": jnp.array(0.5), "bias": jnp.array(0.1)}
    keys = jax.random.split(jax.random.PRNGKey(0), len(TASKS))
    per_task = {t: evaluate(params, k) for t, k in zip(TASKS, keys)}
    table = by_metric(per_task)
    print({m: sum(v.values()) / len(v) for m, v in table.items()})


if __name__ == "__main__":
    main()
