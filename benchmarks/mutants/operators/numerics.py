"""Mistakes about numbers: guards, bounds and widths."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from benchmarks.mutants.edits import Edit, File, called, calls, is_array_function, is_constant, keyword
from benchmarks.mutants.operators.registry import operator


@operator(
    "numerics",
    "a small positive number was added to a divisor, or to what a root or a logarithm is taken of",
    "unsafe-domain",
)
def drop_small_number(file: File) -> Iterator[Edit]:
    """Take the logarithm, the root or the quotient of what was kept away from zero."""
    for node in file.nodes:
        match node:
            case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=float(small))) if 0 < small < 1e-3:
                if _is_delicate(file, node):
                    yield Edit(node, f"({file.source(left)})")


@operator(
    "numerics",
    "the lower bound is a positive number, and what is bounded is a divisor or in a root or logarithm",
    "unsafe-domain",
)
def drop_lower_bound(file: File) -> Iterator[Edit]:
    """Leave out a bound that keeps a divisor, a root or a logarithm away from zero."""
    for call in calls(file.tree, "maximum", "clip"):
        if is_array_function(call) and len(call.args) > 1 and _is_delicate(file, call):
            array, bound = call.args[:2]
            if isinstance(array, ast.Constant):
                array, bound = bound, array
            most = 1 if isinstance(file.parents[call], ast.BinOp) else 1e-3
            if isinstance(bound, ast.Constant) and isinstance(bound.value, float | int) and 0 < bound.value <= most:
                yield Edit(call, f"({file.source(array)})")


@operator("numerics", "the guard is inside of what it guards", "where-nan-gradient")
def guard_outside(file: File) -> Iterator[Edit]:
    """Choose after the division where the divisor was made safe before it."""
    for call in calls(file.tree, "log", "sqrt"):
        match call.args:
            case [ast.Call(args=[test, array, ast.Constant()]) as choice] if called(choice) == "where":
                if isinstance(array, ast.Constant):
                    continue
                parts = [file.source(one) for one in (choice.func, test, call.func, array)]
                yield Edit(call, f"{parts[0]}({parts[1]}, {parts[2]}({parts[3]}), 0.0)")


@operator("numerics", "the range ends at a size, so that one more is out of bounds")
def draw_one_more(file: File) -> Iterator[Edit]:
    """Draw an index up to and with the size of what it selects from."""
    for call in calls(file.tree, "randint"):
        upper = keyword(call, "maxval")
        given = upper.value if upper else call.args[3] if len(call.args) > 3 else None
        if given is not None and "random" in ast.unparse(call.func) and _is_size(given):
            yield Edit(given, f"{file.source(given)} + 1")


@operator("numerics", "the index ends at a size: `x[n - 1]`, or the last of an axis", "out-of-bounds-index")
def index_one_further(file: File) -> Iterator[Edit]:
    """Index one behind the last."""
    for node in file.nodes:
        match node:
            case ast.Subscript(slice=ast.BinOp(left=size, op=ast.Sub(), right=ast.Constant(value=1)) as index):
                if _is_size(size):
                    yield Edit(index, file.source(size))


@operator("numerics", "as many classes as there are numbers were asked for")
def one_class_less(file: File) -> Iterator[Edit]:
    """Make one-hot rows with one class less."""
    for call in calls(file.tree, "one_hot"):
        classes = keyword(call, "num_classes")
        given = classes.value if classes else call.args[1] if len(call.args) > 1 else None
        if given is not None:
            yield Edit(given, f"{file.source(given)} - 1")


@operator("numerics", "it counts: it begins as the number zero, or is a range up to a size", "integer-overflow")
def narrow_counter(file: File) -> Iterator[Edit]:
    """Count in eight bits."""
    for node in file.nodes:
        match node:
            case ast.Attribute(attr="int32") if ast.unparse(node) in ("jnp.int32", "jax.numpy.int32"):
                around = next((one for one in file.around(node) if isinstance(one, ast.Call)), None)
                given = around.args[0] if around is not None and around.args else None
                zero = is_constant(given, 0) or is_constant(given, ())
                if around is not None and (
                    zero or (called(around) == "arange" and not isinstance(given, ast.Constant))
                ):
                    yield Edit(node, "jnp.int8")


@operator("numerics", "the type is written down", "float64-without-x64")
def double_precision(file: File) -> Iterator[Edit]:
    """Ask for 64 bits, which JAX does not give by default."""
    for node in file.nodes:
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "jnp.float32":
            if isinstance(file.parents[node], ast.keyword | ast.Call) and "x64" not in file.text:
                yield Edit(node, "jnp.float64")


@operator("numerics", "the accumulator is wider than what is added")
def narrow_sum(file: File) -> Iterator[Edit]:
    """Compute in 16 bits where 32 were asked for."""
    for call in calls(file.tree, "astype"):
        match call.args:
            case [ast.Attribute(attr="float32") as given] if "float16" in file.text or "bfloat16" in file.text:
                yield Edit(given, "jnp.bfloat16")


def _is_size(node: ast.expr) -> bool:
    """Whether an expression is the size of an axis, or named a number of things."""
    text = ast.unparse(node)
    return "shape" in text or "len(" in text or text.rpartition(".")[2].startswith(("n_", "num", "max"))


def _is_delicate(file: File, node: ast.expr) -> bool:
    """Whether an expression is a divisor, or what a root or a logarithm is taken of."""
    around = file.parents[node]
    match around:
        case ast.BinOp(op=ast.Div(), right=right):
            return right is node
        case ast.Call():
            return called(around) in ("log", "sqrt", "log2", "rsqrt", "reciprocal")
        case _:
            return False
