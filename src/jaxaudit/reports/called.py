"""What an op is called in a report: by the function that the user called, not by what JAX does inside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

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


_MOST_NAMES = 4


def note_of(ops: Sequence[Op]) -> str:
    """Return the note of a step; empty where there is nothing to add."""
    return "; ".join(dict.fromkeys(words for op in ops for words in _notes(op)))


def _notes(op: Op) -> Iterator[str]:
    size, length, trips = op.axis_size, op.length, op.trips
    if op.name == "grad.stop" and op.api in ("", "stop_gradient") and not op.library:
        yield "stops the gradient"
    elif op.name == "vmap" and op.regions:
        yield from _mapped(op, size)
    elif op.name in ("scan", "fori") and isinstance(steps := length if op.name == "scan" else trips, int):
        yield f"{steps} step{'' if steps == 1 else 's'}" + (", last to first" if op.reverse else "")


def _mapped(op: Op, size: object) -> Iterator[str]:
    """Return which axis of which arguments is mapped, those with the same axis together."""
    by_axis: dict[int, list[str]] = {}
    for param, axis in zip(op.regions[-1].params, op.in_axes or (), strict=False):
        if isinstance(axis, int):
            by_axis.setdefault(axis, []).append(_head(param.name))
    told = [f"axis {axis}{_listed(names)}" for axis, names in by_axis.items()]
    if told:
        yield f"maps {', '.join(told)}" + (f" ({size})" if isinstance(size, int) else "")


def _head(name: str) -> str:
    """Return the argument that a leaf belongs to: `params` for `params['w']`."""
    return name.partition("[")[0].partition(".")[0]


def _listed(names: Sequence[str]) -> str:
    known = list(dict.fromkeys(name for name in names if name))
    more = len(known) - _MOST_NAMES
    words = " and ".join([*known[:_MOST_NAMES], *([f"{more} more"] if more > 0 else [])])
    return f" of {words}" if words else ""
