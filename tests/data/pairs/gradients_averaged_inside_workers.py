# tree-structure-mismatch: Leaves are averaged inside each worker, not over workers.
import jax
import jax.numpy as jnp


def worker_grads(params, shards):
    def loss(p, x):
        return jnp.mean((x * p["a"] + p["b"] - p["c"]) ** 2)

    return [jax.grad(loss)(params, x) for x in shards]


def average(grads):
    flat = [jax.tree_util.tree_flatten(g)[0] for g in grads]
    treedef = jax.tree_util.tree_structure(grads[0])
    mean = [sum(group) / len(group) for group in zip(*flat)]  #~ mean = [sum(group) / len(group) for group in flat]
    return jax.tree_util.tree_unflatten(treedef, mean)  #! tree-structure-mismatch


def main():
    params = {"a": jnp.array(1.0), "b": jnp.array(0.5), "c": jnp.array(2.0)}
    shards = [jnp.arange(4.0), jnp.arange(4.0) + 1, jnp.arange(4.0) - 1]
    grads = average(worker_grads(params, shards))
    params = jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads)
    print(params)


if __name__ == "__main__":
    main()
