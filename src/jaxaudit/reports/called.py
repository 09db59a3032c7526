"""What an op is called in a report: by the function that the user called, not by what JAX does inside it."""

from __future__ import annotations

from collections.abc import Mapping

from jaxaudit.ir import Op
from jaxaudit.ir.operators import OPERATORS, SIGNS

_WORDS: Mapping[str, str] = {
    "py.loop": "for loop",
    "py.while": "while loop",
    "py.branch": "if",
    "py.element": "next element",
    "py.store_attr": "set attribute",
    "py.set_item": "set item",
    "py.append": "append",
    "py.call_unknown": "unknown call",
    "py.unknown": "unknown",
    "py.format": "format",
    "py.test": "test",
}
"""What Python itself does, in words."""


def called(op: Op) -> str:
    """Return the function that an op is part of: a library's, else JAX's; a flax module by the name it has."""
    library = op.library
    if library and not op.regions:
        return _module(op.scope.rpartition("/")[2], library) if library[:1].isupper() else library
    if op.name in _WORDS and not op.qualified:
        return _WORDS[op.name]
    if op.name in ("py.item", "py.unpack"):
        return "[...]"
    if op.is_operator:
        return SIGNS.get(op.qualified, op.qualified)
    name = op.within or op.api or op.qualified
    name = op.qualified if name.startswith("<") or name in _INTERNAL else name
    return _WRITTEN.get(name) or (name.rpartition(".")[2] or name).removeprefix("operator_")


def _module(scope: str, library: str) -> str:
    """Name a layer: flax's scopes number them, equinox's name their class in full."""
    return library if not scope or scope.endswith(f".{library}") else scope


_INTERNAL = frozenset(
    """broadcast_in_dim broadcast_to_rank convert_element_type expand_dims full_like zeros_like_shaped_array
    instantiate_zeros zeros_like_aval scan while_loop fori_loop cond switch vmap reduce_sum reduce_max reduce_min
    reduce_prod select_n scatter_update""".split()
)
"""Functions inside JAX that users do not call; the op's own name says more."""

_WRITTEN = {
    **{f"operator_{side}{one.method}": one.sign for one in OPERATORS.values() for side in ("", "r")},
    "operator_abs": "abs",
    "operator_round": "round",
    "getitem": "[...]",
    "rewriting_take": "[...]",
    "deferring_binary_op": "",
    "prop": "T",
}
"""How users write what JAX's arrays call `_operator_add`; its mirror image is written the same."""
