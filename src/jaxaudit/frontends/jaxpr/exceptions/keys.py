"""Exceptions of `jax.random`: what is no key, keys in bulk, shapes and dtypes of draws."""

from __future__ import annotations

from jaxaudit.frontends.jaxpr.exceptions.model import Row, say

_KEY = "a key made by `jax.random.key`, `split` or `fold_in`, as the first argument"
_FROM_SPLIT = "pass a key; `split` gives an array of keys, of which one is `keys[i]`"

ROWS = (
    Row(
        r"invalid PRNG key data: expected key_data\.shape to end with \(2,\); got shape=(\([^)]*\))",
        say("not-a-key", "a random function is given an array of shape {1} as its key", _KEY, _FROM_SPLIT),
        ("TypeError",),
    ),
    Row(
        r"invalid PRNG key data: expected key_data\.dtype = \w+; got dtype=(\w+)",
        say("not-a-key", "a random function is given an array of dtype {1} as its key", _KEY, _FROM_SPLIT),
        ("TypeError",),
    ),
    Row(
        r"invalid PRNG key data: .*Got (\S+)",
        say("not-a-key", "a random function is given `{1}` as its key", _KEY, _FROM_SPLIT),
        ("TypeError",),
    ),
    Row(
        r"unexpected PRNG key type <class '([^']+)'>",
        say(
            "not-a-key",
            "a random function is given a `{1}` as its key",
            _KEY,
            "check the order of the arguments: `jax.random.normal(key, shape)`",
        ),
        ("TypeError",),
    ),
    Row(
        r"(\w+) accepts a single key, but was given a key array of shape ?(\([^)]*\))",
        say(
            "not-a-key",
            "`{1}` is given an array of keys of shape {2}, and takes one",
            "one key",
            "take one of them (`keys[0]`), or `jax.vmap` the function over the keys",
        ),
    ),
    Row(
        r"fold_in accepts a scalar, but was given an array of ?shape (\([^)]*\))",
        say(
            "not-a-key",
            "`fold_in` is given numbers of shape {1} at once, and takes one",
            "one whole number",
            "`jax.vmap(lambda i: jax.random.fold_in(key, i))(numbers)` gives a key for each",
        ),
    ),
    Row(
        r"iteration over a 0-d key array",
        say(
            "not-a-key",
            "one key is taken apart as if it were several",
            "`split` gives several keys",
            "`k1, k2 = jax.random.split(key)`",
        ),
        ("TypeError",),
    ),
    Row(
        r"dtype argument to `(\w+)` must be an? (\w+)\w* dtype, got (\w+)|(randint) only accepts (integer) dtypes, "
        r"got (\w+)",
        say(
            "invalid-input-type",
            "`{1}{4}` draws {2}{5} numbers, and is asked for dtype {3}{6}",
            "a {2}{5} dtype",
            "`jax.random.randint` draws whole numbers, `uniform` and `normal` real ones",
        ),
    ),
    Row(
        r"Cannot take a larger sample \(size (\d+)\) than population \(size (\d+)\)",
        say(
            "axis-conflict",
            "{1} elements are drawn from {2} without putting any back",
            "at most {2} elements, or `replace=True`",
            "draw fewer, or allow repeats",
        ),
    ),
    Row(
        r"p must be None or a 1D vector .*p has shape (\([^)]*\)) and a\.shape\[axis\] is (\d+)",
        say(
            "axis-conflict",
            "`p` has shape {1}, but there are {2} elements to choose from",
            "one probability for each of the {2} elements",
            "make `p` from the same array",
        ),
    ),
    Row(
        r"(\w+) requires cov\.shape == \(\.\.\., n, n\) for n=(\d+), but got cov\.shape == (\([^)]*\))",
        say(
            "axis-conflict",
            "the covariance has shape {3}, but the mean has {2} elements",
            "a covariance of {2} rows and columns",
            "make both for the same variables",
        ),
    ),
    Row(
        r"(\w+) requires (\w+)\.ndim >= (\d+), got \w+\.ndim == (\d+)",
        say(
            "axis-conflict",
            "`{2}` of `{1}` has {4} axes, and needs {3} or more",
            "an array with {3} axes or more",
            "give one parameter for each element: `jnp.full((n,), value)`",
        ),
    ),
)
