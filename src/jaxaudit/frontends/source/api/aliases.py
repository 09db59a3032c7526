"""Old, short and private spellings of library names, each with the public name that stands for it."""

from __future__ import annotations

NAMES: dict[str, str] = {}
"""Whole names: each maps to the name that stands for it."""

PREFIXES: dict[str, str] = {
    "jax._src.random": "jax.random",
    "jax._src.numpy": "jax.numpy",
    "jax._src.nn": "jax.nn",
    "jax._src.lax": "jax.lax",
    "hk": "haiku",
}
"""Modules and classes: what follows the prefix stays."""


def _alias(target: str, spellings: str) -> None:
    """Records several whole-name spellings of one target."""
    for spelling in spellings.split():
        NAMES[spelling] = target


_alias("jax.jit", "jax.experimental.pjit.pjit jax.api.jit jax._src.api.jit jax.pjit")
_alias("jax.shard_map", "jax.experimental.shard_map.shard_map jax._src.shard_map.shard_map")
_alias("jax.checkpoint", "jax.remat jax.ad_checkpoint.checkpoint jax._src.ad_checkpoint.checkpoint")
_alias("jax.tree.map", "jax.tree_map jax.tree_util.tree_map jax.tree_multimap jax.tree_util.tree_multimap")
_alias("jax.custom_jvp", "jax.custom_derivatives.custom_jvp")
_alias("jax.custom_vjp", "jax.custom_derivatives.custom_vjp")
