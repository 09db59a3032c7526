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

_SAMPLERS = rows(
    "jax.random",
    "key.draw",
    """
    bits cauchy exponential laplace logistic maxwell normal rademacher: key shape dtype
    gumbel: key shape dtype mode
    uniform: key shape dtype minval maxval
    randint: key shape minval maxval dtype
    ball: key d p shape dtype
    bernoulli: key p shape mode
    beta: key a b shape dtype
    binomial: key n p shape dtype
    categorical: key logits axis shape replace mode
    chisquare t: key df shape dtype
    choice: key a shape replace p axis mode
    dirichlet: key alpha shape dtype
    double_sided_maxwell: key loc scale shape dtype
    f: key dfnum dfden shape dtype
    gamma loggamma: key a shape dtype
    generalized_normal geometric: key p shape dtype
    lognormal: key sigma shape dtype
    multinomial: key n p
    multivariate_normal: key mean cov shape dtype method
    orthogonal: key n shape dtype m
    pareto: key b shape dtype
    permutation: key x axis independent
    poisson: key lam shape dtype
    rayleigh: key scale shape dtype
    shuffle: key x axis
    triangular: key left mode right shape dtype
    truncated_normal: key lower upper shape dtype
    wald: key mean shape dtype
    weibull_min: key scale concentration shape dtype
    """,
    key="key",
)

ROWS = merge(_KEYS, _SAMPLERS)
"""Every public function of `jax.random`, and `shuffle`, which older versions had."""
