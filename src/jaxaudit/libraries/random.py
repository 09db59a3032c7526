"""Rows of `jax.random`: where keys come from, how they are split, and what draws from them."""

from __future__ import annotations

from jaxaudit.libraries.table import merge, rows

_KEYS = merge(
    rows("jax.random", "key.seed", "PRNGKey: seed", typed=False),
    rows("jax.random", "key.seed", "key: seed", typed=True),
    rows("jax.random", "key.split", "split: key num", key="key"),
    rows("jax.random", "key.fold_in", "fold_in: key data", key="key"),
    rows("jax.random", "key.clone", "clone: key", key="key"),
    rows("jax.random", "key.wrap", "key_data: keys", key="keys", to="data"),
    rows("jax.random", "key.wrap", "wrap_key_data: key_bits_array", key="key_bits_array", to="key"),
    rows("jax.random", "array.shape", "key_impl: keys\nkey_dtype: impl_spec"),
)

_SAMPLERS = rows("jax.random", "key.draw", """
    bits rademacher: key shape dtype -> words(shape)
    cauchy exponential laplace logistic maxwell normal: key shape dtype -> floats(shape)
    gumbel: key shape dtype mode -> floats(shape)
    uniform: key shape dtype minval maxval -> floats(shape, minval, maxval)
    randint: key shape minval maxval dtype -> integers(shape, minval, maxval)
    ball: key d p shape dtype
    bernoulli: key p shape mode -> truths(shape, p)
    beta: key a b shape dtype -> floats(shape, a, b)
    binomial: key n p shape dtype -> floats(shape, n, p)
    categorical: key logits axis shape replace mode -> classes(logits, axis, shape)
    chisquare t: key df shape dtype -> floats(shape, df)
    choice: key a shape replace p axis mode -> chosen(a, axis, shape)
    dirichlet: key alpha shape dtype
    double_sided_maxwell: key loc scale shape dtype
    f: key dfnum dfden shape dtype -> floats(shape, dfnum, dfden)
    gamma loggamma: key a shape dtype -> floats(shape, a)
    geometric: key p shape dtype -> integers(shape, p)
    generalized_normal: key p shape dtype
    lognormal: key sigma shape dtype -> floats(shape, sigma)
    multinomial: key n p
    multivariate_normal: key mean cov shape dtype method -> vectors(mean, shape)
    orthogonal: key n shape dtype m
    pareto: key b shape dtype -> floats(shape, b)
    permutation: key x axis independent -> permuted(x)
    poisson: key lam shape dtype -> integers(shape, lam)
    rayleigh: key scale shape dtype -> floats(shape, scale)
    shuffle: key x axis -> permuted(x)
    triangular: key left mode right shape dtype -> floats(shape, left, mode, right)
    truncated_normal: key lower upper shape dtype -> floats(shape, lower, upper)
    wald: key mean shape dtype -> floats(shape, mean)
    weibull_min: key scale concentration shape dtype
    """, key="key")

ROWS = merge(_KEYS, _SAMPLERS)
"""Every public function of `jax.random`, and `shuffle`, which older versions had."""
