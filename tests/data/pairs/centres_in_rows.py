# nested-vmap-order: A distance matrix has the centres in its rows.
import jax
import jax.numpy as jnp
from jax import vmap

POINTS = 12
CENTRES = 12


def distance(a, b):
    return jnp.sqrt(jnp.sum((a - b) ** 2) + 1e-9)


def cross_distance(points, centres):
    """D[i, j] is the distance from points[i] to centres[j]."""
    return vmap(lambda p: vmap(lambda c: distance(p, c))(centres))(points)  #~ return vmap(lambda c: vmap(lambda p: distance(p, c))(points))(centres)  #! nested-vmap-order


def assign(points, centres):
    d = cross_distance(points, centres)
    return jnp.argmin(d, axis=1)


def inertia(points, centres):
    labels = assign(points, centres)
    return jnp.sum((points - centres[labels]) ** 2)  #~ return jnp.sum((points - centres[labels]) ** 2)  #! nested-vmap-order


def main():
    k1, k2 = jax.random.split(jax.random.PRNGKey(0))
    points = jax.random.normal(k1, (POINTS, 2))
    centres = jax.random.normal(k2, (CENTRES, 2))
    print(inertia(points, centres))


if __name__ == "__main__":
    main()
