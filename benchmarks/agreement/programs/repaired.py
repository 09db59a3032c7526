"""What source once said wrongly, each found by the oracle."""

import jax
import jax.numpy as jnp

x, n, truths = jnp.linspace(-1.0, 1.0, 6).reshape(2, 3), jnp.arange(6).reshape(2, 3), jnp.array([True, False])

# dtypes of integers and truth values
kept = jnp.nan_to_num(n)
squared = jnp.square(truths)
leaky = jax.nn.leaky_relu(n)
chosen = jnp.select([n > 1, n < 0], [n, -n], 0.5)
power = jnp.linalg.matrix_power(truths[:, None] & truths, 2)

# the axis of an associative scan, whose function is called with arrays that are at hand
products = jax.lax.associative_scan(lambda p, q: p * q, x, axis=1)

# numbers are leaves of a tree, and so is whatever `is_leaf` says
halves = jax.tree.map(lambda leaf: leaf / 2, {"n": 10, "x": x, "none": None})
stacked = jax.tree.map(jnp.stack, {"rows": [x, x]}, is_leaf=lambda node: isinstance(node, list))

# lists and tuples that are made of arrays
first, *others = jax.random.split(jax.random.key(0), 4)
pair = list(zip(x, n, strict=True))[0]

# what has only the shape of what `vmap` maps is at hand; `abs` is an operator
ones = jax.vmap(lambda row: (jnp.ones_like(row), abs(row)))(x)

# a dict whose keys are no constants has entries
inverses = {jnp.exp: jnp.log, jnp.sinh: jnp.arcsinh}
known = [1 if inverses else 0]

# numbers that are differentiated are traced, and a mean over the mapped axis is not mapped
slope = jax.grad(lambda k: jnp.sin(k) * 2)(4.0)
centred = jax.vmap(lambda row: row - jax.lax.pmean(row, axis_name="rows"), axis_name="rows")(x)

# where None is a leaf, a leaf is no array for sure
merged = jax.jit(lambda train, fixed: jax.tree.map(lambda a, b: b if a is None else a, train, fixed, is_leaf=lambda v: v is None))
both = merged({"a": None, "b": x}, {"a": x, "b": None})
