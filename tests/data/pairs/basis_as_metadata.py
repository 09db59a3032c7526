# array-in-static-field: The basis of a projection is metadata of its class.
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp


@partial(jax.tree_util.register_dataclass, data_fields=["mean", "basis"], meta_fields=["k"])  #~ @partial(jax.tree_util.register_dataclass, data_fields=["mean"], meta_fields=["basis", "k"])  #! array-in-static-field
@dataclass
class Pca:
    mean: jax.Array
    basis: jax.Array
    k: int


def fit(x, k):
    mean = x.mean(axis=0)
    _, _, vt = jnp.linalg.svd(x - mean, full_matrices=False)
    return Pca(mean, vt[:k], k)


@jax.jit
def project(pca, x):
    return (x - pca.mean) @ pca.basis.T


def main():
    x = jax.random.normal(jax.random.PRNGKey(0), (100, 6))
    pca = fit(x, 2)
    print(project(pca, x).std(axis=0))


if __name__ == "__main__":
    main()
