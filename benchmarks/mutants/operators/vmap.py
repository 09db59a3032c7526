"""Mistakes about what is mapped, and along which axis."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from benchmarks.mutants.edits import Edit, File, calls, is_constant, keyword
from benchmarks.mutants.operators.registry import operator


def _in_axes(file: File) -> Iterator[ast.Tuple]:
    """Return the tuples of `in_axes` that are written down."""
    for call in calls(file.tree, "vmap"):
        axes = keyword(call, "in_axes")
        given = axes.value if axes is not None else call.args[1] if len(call.args) > 1 else None
        if isinstance(given, ast.Tuple):
            yield given


@operator("vmap", "another entry stays mapped, so that there still is a map", "batched-argument-broadcast")
def share_mapped_argument(file: File) -> Iterator[Edit]:
    """Share an argument that was mapped."""
    for axes in _in_axes(file):
        mapped = [one for one in axes.elts if is_constant(one, 0)]
        yield from (Edit(one, "None") for one in mapped if len(mapped) > 1)


@operator("vmap", "the tuple has entries of both kinds", "broadcast-argument-mapped", "wrong-axis-mapped")
def map_shared_argument(file: File) -> Iterator[Edit]:
    """Map an argument that was shared."""
    for axes in _in_axes(file):
        if any(is_constant(one, 0) for one in axes.elts):
            yield from (Edit(one, "0") for one in axes.elts if is_constant(one, None))


@operator("vmap", "the entry is written down", "wrong-axis-mapped")
def map_other_axis(file: File) -> Iterator[Edit]:
    """Map the axis beside the one that was named."""
    for axes in _in_axes(file):
        for one in axes.elts:
            if is_constant(one, 0) or is_constant(one, 1):
                yield Edit(one, "1" if is_constant(one, 0) else "0")


@operator("vmap", "an axis was named", "out-axes-assumption")
def move_out_axis(file: File) -> Iterator[Edit]:
    """Put the mapped axis of the result elsewhere, or no more there."""
    for call in calls(file.tree, "vmap"):
        axes = keyword(call, "out_axes")
        if axes is not None and any(is_constant(axes.value, one) for one in (0, 1, -1)):
            yield Edit(axes.value, "1" if is_constant(axes.value, 0) else "0")


@operator("vmap", "the mapped function draws, reduces everything, or multiplies matrices: it is not element by element")
def drop_vmap(file: File) -> Iterator[Edit]:
    """Call a function of one example with the whole batch."""
    for call in calls(file.tree, "vmap"):
        match call.args:
            case [ast.Name(id=name) as function] if name in file.by_name and file.parents[call] in file.nodes:
                body = ast.unparse(file.by_name[name])
                around = file.parents[call]
                whole = any(
                    word in body for word in ("random.", "jnp.sum(", "jnp.mean(", ".sum()", ".mean()", "@", "dot(")
                )
                if isinstance(around, ast.Call) and around.func is call and whole:
                    yield Edit(call, file.source(function))


@operator("vmap", "the rows of what is mapped were made by a split for each element", "same-key-across-vmap")
def share_key(file: File) -> Iterator[Edit]:
    """Give every element of a map the same key."""
    for call in calls(file.tree, "vmap"):
        around = file.parents[call]
        if isinstance(around, ast.Call) and around.func is call and len(call.args) == 1 and not call.keywords:
            keys = [one for one in around.args if "split(" in file.source(one) or _is_keys(one)]
            if len(around.args) > 1 and len(keys) == 1:
                axes = ", ".join("None" if one is keys[0] else "0" for one in around.args)
                yield Edit(call.args[0], f"{file.source(call.args[0])}, in_axes=({axes})")


def _is_keys(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and any(word in node.id.lower() for word in ("keys", "rngs", "rng"))
