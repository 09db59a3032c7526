"""What the names of library functions say about what they make."""

from __future__ import annotations

ARITHMETIC = frozenset(f"builtins.{name}" for name in "abs max min sum round pow divmod len sorted".split())
"""Built-in functions that give numbers for numbers."""

_COMPARISONS = frozenset(
    """equal not_equal less less_equal greater greater_equal logical_and logical_or logical_not logical_xor isfinite
    isnan isinf isneginf isposinf isclose isin signbit any all array_equal allclose """.split()
)
_LOGIC = frozenset("bitwise_and bitwise_or bitwise_xor invert".split())
_KEEPING = frozenset(
    "array.reshape array.permute array.expand array.squeeze array.join array.move array.gather".split()
)
_SEVERAL = frozenset(
    """nonzero unique unique_all unique_counts unique_inverse top_k where meshgrid histogram histogram2d histogramdd
    frexp modf divmod svd eigh eig qr lu slogdet split array_split hsplit vsplit dsplit unstack broadcast_arrays
    tril_indices triu_indices tril_indices_from triu_indices_from diag_indices diag_indices_from mask_indices
    unravel_index polydiv indices ix_ lstsq""".split()
)


def comparison(function: str) -> bool:
    """Whether a function gives booleans."""
    return function.rpartition(".")[2] in _COMPARISONS


def keeps_mask(op: str, function: str) -> bool:
    """Whether an op makes booleans of booleans."""
    return op in _KEEPING or function.rpartition(".")[2] in _LOGIC


def gives_several(op: str, function: str) -> bool:
    """Whether a function gives a tuple or list of arrays."""
    last = function.rpartition(".")[2]
    if last == "where":
        # Only the form with one argument does, which is an op of its own kind for every other purpose.
        return False
    return op == "array.split" or last in _SEVERAL or (op == "array.linalg" and last not in ("norm", "det", "inv"))
