"""Exceptions of `jax.random`: what is no key, keys in bulk, shapes and dtypes of draws."""

from __future__ import annotations

from jaxaudit.frontends.jaxpr.exceptions.model import rows

ROWS = rows(
    r"""
TypeError: invalid PRNG key data: expected key_data\.shape to end with \(2,\); got shape=(\([^)]*\))
    not-a-key: a random function is given an array of shape {1} as its key
    expected: a key made by `jax.random.key`, `split` or `fold_in`, as the first argument
    suggestion: pass a key; `split` gives an array of keys, of which one is `keys[i]`
TypeError: invalid PRNG key data: expected key_data\.dtype = \w+; got dtype=(\w+)
    not-a-key: a random function is given an array of dtype {1} as its key
    expected: a key made by `jax.random.key`, `split` or `fold_in`, as the first argument
    suggestion: pass a key; `split` gives an array of keys, of which one is `keys[i]`
TypeError: invalid PRNG key data: .*Got (\S+)
    not-a-key: a random function is given `{1}` as its key
    expected: a key made by `jax.random.key`, `split` or `fold_in`, as the first argument
    suggestion: pass a key; `split` gives an array of keys, of which one is `keys[i]`
TypeError: unexpected PRNG key type <class '([^']+)'>
    not-a-key: a random function is given a `{1}` as its key
    expected: a key made by `jax.random.key`, `split` or `fold_in`, as the first argument
    suggestion: check the order of the arguments: `jax.random.normal(key, shape)`
any: (\w+) accepts a single key, but was given a key array of shape ?(\([^)]*\))
    not-a-key: `{1}` is given an array of keys of shape {2}, and takes one
    expected: one key
    suggestion: take one of them (`keys[0]`), or `jax.vmap` the function over the keys
any: fold_in accepts a scalar, but was given an array of ?shape (\([^)]*\))
    not-a-key: `fold_in` is given numbers of shape {1} at once, and takes one
    expected: one whole number
    suggestion: `jax.vmap(lambda i: jax.random.fold_in(key, i))(numbers)` gives a key for each
TypeError: iteration over a 0-d key array
    not-a-key: one key is taken apart as if it were several
    expected: `split` gives several keys
    suggestion: `k1, k2 = jax.random.split(key)`
any: dtype argument to `(\w+)` must be an? (\w+)\w* dtype, got (\w+)|(randint) only accepts (integer) dtypes, got (\w+)
    invalid-input-type: `{1}{4}` draws {2}{5} numbers, and is asked for dtype {3}{6}
    expected: a {2}{5} dtype
    suggestion: `jax.random.randint` draws whole numbers, `uniform` and `normal` real ones
any: Cannot take a larger sample \(size (\d+)\) than population \(size (\d+)\)
    axis-conflict: {1} elements are drawn from {2} without putting any back
    expected: at most {2} elements, or `replace=True`
    suggestion: draw fewer, or allow repeats
any: p must be None or a 1D vector .*p has shape (\([^)]*\)) and a\.shape\[axis\] is (\d+)
    axis-conflict: `p` has shape {1}, but there are {2} elements to choose from
    expected: one probability for each of the {2} elements
    suggestion: make `p` from the same array
any: (\w+) requires cov\.shape == \(\.\.\., n, n\) for n=(\d+), but got cov\.shape == (\([^)]*\))
    axis-conflict: the covariance has shape {3}, but the mean has {2} elements
    expected: a covariance of {2} rows and columns
    suggestion: make both for the same variables
any: (\w+) requires (\w+)\.ndim >= (\d+), got \w+\.ndim == (\d+)
    axis-conflict: `{2}` of `{1}` has {4} axes, and needs {3} or more
    expected: an array with {3} axes or more
    suggestion: give one parameter for each element: `jnp.full((n,), value)`
"""
)
