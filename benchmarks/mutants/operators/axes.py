"""Mistakes about axes: reductions, joins, transposes and meetings."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from benchmarks.mutants.edits import (
    Edit,
    File,
    called,
    calls,
    is_array_function,
    is_constant,
    keyword,
    read_after,
    walked,
)
from benchmarks.mutants.operators.registry import operator

REDUCTIONS = (
    "sum",
    "mean",
    "max",
    "min",
    "prod",
    "argmax",
    "argmin",
    "std",
    "var",
    "softmax",
    "log_softmax",
    "logsumexp",
    "cumsum",
)
BESIDE = {0: "1", 1: "0", -1: "-2", -2: "-1"}


def _moved_axis(file: File, *names: str) -> Iterator[Edit]:
    for call in calls(file.tree, *names):
        axis = keyword(call, "axis")
        for number, other in BESIDE.items():
            if axis is not None and is_constant(axis.value, number):
                yield Edit(axis.value, other)


@operator("axes", "the axis is written down", "reduction-over-wrong-axis")
def other_axis(file: File) -> Iterator[Edit]:
    """Reduce over the axis beside the one that was named."""
    yield from _moved_axis(file, *REDUCTIONS)


@operator("axes", "the axis is written down")
def join_along_other_axis(file: File) -> Iterator[Edit]:
    """Stack or concatenate along the axis beside the one that was named."""
    yield from _moved_axis(file, "concatenate", "stack", "repeat", "take_along_axis", "split")


@operator("axes", "an axis other than the only one of a vector is named")
def reduce_everything(file: File) -> Iterator[Edit]:
    """Reduce over all axes where one was named."""
    for call in calls(file.tree, *REDUCTIONS[:9]):
        axis = keyword(call, "axis")
        if axis is not None and any(is_constant(axis.value, one) for one in (1, -2)):
            yield Edit(axis.value, "None")


@operator("axes", "the result meets the array that was reduced", "silent-broadcast")
def drop_keepdims(file: File) -> Iterator[Edit]:
    """Lose the axis of a reduction that kept it."""
    for call in calls(file.tree, *REDUCTIONS):
        kept = keyword(call, "keepdims") or keyword(call, "keep_dims")
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        array = file.source(call.args[0] if call.args else owner or call)
        if kept is not None and is_constant(kept.value, True):
            around = next((one for one in file.around(call) if isinstance(one, ast.BinOp)), None)
            if around is not None and array in (file.source(around.left), file.source(around.right)):
                yield Edit(kept.value, "False")


@operator("axes", "the array meets another one in an arithmetic operation or comparison", "silent-broadcast")
def expand_other_side(file: File) -> Iterator[Edit]:
    """Put a new axis on the other side of a vector: `x[None, :]` for `x[:, None]`."""
    for node in file.nodes:
        match node:
            case ast.Subscript(slice=ast.Tuple(elts=[first, second]) as index):
                if isinstance(file.parents[node], ast.BinOp | ast.Compare):
                    parts = [ast.unparse(one) for one in (first, second)]
                    if sorted(parts) == [":", "None"]:
                        yield Edit(index, f"{parts[1]}, {parts[0]}")


@operator("axes", "somebody transposed here")
def drop_transpose(file: File) -> Iterator[Edit]:
    """Leave out a transpose or an exchange of axes."""
    for node in file.nodes:
        match node:
            case ast.Attribute(value=array, attr="T" | "mT", ctx=ast.Load()):
                yield Edit(node, f"({file.source(array)})")
            case ast.Call(func=ast.Attribute(value=owner), args=[array, *_]):
                if called(node) in ("swapaxes", "moveaxis", "transpose"):
                    moved = array if is_array_function(node) or ast.unparse(owner) in ("np", "numpy") else owner
                    yield Edit(node, f"({file.source(moved)})")


@operator("axes", "somebody transposed here", "reshape-mixes-axes")
def reshape_for_transpose(file: File) -> Iterator[Edit]:
    """Bring an array into the transposed shape by a reshape, which mixes its elements."""
    for node in file.nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=array), attr="T", ctx=ast.Load()):
                yield Edit(node, f"{array}.reshape({array}.shape[::-1])")
            case ast.Call(args=[ast.Name(id=array), first, second]) if called(node) == "swapaxes":
                if is_constant(first, 0) and is_constant(second, 1):
                    yield Edit(node, f"{array}.reshape(({array}.shape[1], {array}.shape[0]) + {array}.shape[2:])")


@operator("axes", "the two sizes are two different names", "reshape-mixes-axes")
def exchange_sizes(file: File) -> Iterator[Edit]:
    """Exchange two sizes of a reshape."""
    for call in calls(file.tree, "reshape"):
        sizes = next((one.elts for one in call.args if isinstance(one, ast.Tuple | ast.List)), call.args)
        for first, second in pairwise(sizes):
            names = [file.source(one) for one in (first, second)]
            if all(isinstance(one, ast.Name | ast.Attribute | ast.Subscript) for one in (first, second)):
                if names[0] != names[1] and first is not call.args[0]:
                    yield Edit(first, f"{names[1]}, {names[0]}", until=second)
                    break


@operator("axes", "the last two letters of the output come from two operands, so that nothing makes it symmetric")
def exchange_letters(file: File) -> Iterator[Edit]:
    """Exchange the last two letters of an einsum's output."""
    for call in calls(file.tree, "einsum"):
        match call.args:
            case [ast.Constant(value=str(letters)) as given, *_]:
                taken, _, out = letters.replace(" ", "").partition("->")
                apart = len(out) > 1 and not any(out[-1] in one and out[-2] in one for one in taken.split(","))
                if apart and out.isalpha():
                    yield Edit(given, f'"{taken}->{out[:-2]}{out[-1]}{out[-2]}"')


@operator("axes", "the parts are written down as a list")
def stack_for_concatenate(file: File) -> Iterator[Edit]:
    """Stack arrays along a new axis where they were put one behind the other, or the other way round."""
    other = {"stack": "concatenate", "concatenate": "stack"}
    for call in calls(file.tree, *other):
        if isinstance(call.func, ast.Attribute) and call.args and isinstance(call.args[0], ast.List | ast.Tuple):
            yield Edit(call.func, f"{file.source(call.func.value)}.{other[called(call)]}")


@operator("axes", "`[:-1]` and `[1:]` stand in one statement", "axis-conflict")
def uneven_slices(file: File) -> Iterator[Edit]:
    """Let one of two slices that are shifted against each other keep its last row."""
    for function in file.functions:
        for statement in walked(function):
            if isinstance(statement, ast.Assign | ast.Return):
                slices = [one for one in walked(statement) if isinstance(one, ast.Slice)]
                first = [one for one in slices if one.lower is None and is_constant(one.upper, -1)]
                if first and any(is_constant(one.lower, 1) and one.upper is None for one in slices):
                    yield Edit(first[0], ":")


@operator("axes", "the array is squeezed before it meets another one", "silent-broadcast")
def drop_squeeze(file: File) -> Iterator[Edit]:
    """Keep an axis of size one that was squeezed away, so that `(n, 1)` meets `(n,)`."""
    for call in calls(file.tree, "squeeze"):
        function = file.function(call)
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        array = call.args[0] if owner is not None and file.source(owner) in ("jnp", "np") and call.args else owner
        given = file.parents.get(call)
        bound = given.targets[0].id if _names_one(given) else ""
        if array is not None and function is not None and file.source(array) != "np":
            meets = [
                one for one in read_after(function, bound, call.lineno) if isinstance(file.parents[one], ast.BinOp)
            ]
            if isinstance(given, ast.BinOp) or meets:
                yield Edit(call, f"({file.source(array)})")


def _names_one(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
