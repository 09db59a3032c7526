"""Mistakes about what Python may do with a traced value."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from benchmarks.mutants.edits import (
    Edit,
    File,
    called,
    calls,
    is_array_function,
    is_constant,
    keyword,
    names_read,
    parameters,
)
from benchmarks.mutants.operators.registry import operator


def _traced_calls(file: File, *names: str) -> Iterator[ast.Call]:
    """Return the calls by name in functions that JAX traces, of something that depends on their parameters."""
    for function in sorted(file.traced, key=lambda one: (one.lineno, one.col_offset)):
        given = set(parameters(function)) - {"self", "cls", "config", "params"}
        for call in calls(function, *names):
            if file.function(call) is function and any(names_read(call, lambda one, given=given: one.id in given)):
                yield call


@operator("jit", "static arguments were given")
def no_static_argument(file: File) -> Iterator[Edit]:
    """Compile a function without its static arguments."""
    for call in calls(file.tree, "jit", "partial"):
        for name in ("static_argnums", "static_argnames"):
            found = keyword(call, name)
            if found is not None:
                yield Edit(found, "inline=False")


@operator("jit", "the function is traced, and the condition depends on its parameters", "python-branch-on-traced")
def branch_in_python(file: File) -> Iterator[Edit]:
    """Choose by Python's `if` instead of `where`."""
    for call in _traced_calls(file, "where"):
        if len(call.args) == 3 and _depends(file, call.args[0]):
            test, yes, no = (file.source(one) for one in call.args)
            yield Edit(call, f"(({yes}) if {test} else ({no}))")


@operator("jit", "the function is traced, and the condition depends on its parameters", "python-branch-on-traced")
def cond_in_python(file: File) -> Iterator[Edit]:
    """Choose between two functions by Python's `if` instead of `lax.cond`."""
    for call in _traced_calls(file, "cond"):
        if len(call.args) >= 3 and not call.keywords and _depends(file, call.args[0]):
            test, yes, no, *given = (file.source(one) for one in call.args)
            yield Edit(call, f"(({yes}) if {test} else ({no}))({', '.join(given)})")


@operator("jit", "the function is traced, and an operand depends on its parameters", "python-branch-on-traced")
def python_and(file: File) -> Iterator[Edit]:
    """Join two conditions by Python's `and` or `or`."""
    for call in _traced_calls(file, "logical_and", "logical_or"):
        if len(call.args) == 2 and _depends(file, call.args[0]):
            word = "and" if called(call) == "logical_and" else "or"
            yield Edit(call, f"({file.source(call.args[0])} {word} {file.source(call.args[1])})")


@operator(
    "jit",
    "the function is traced, its argument depends on the parameters, and the file imports numpy",
    "numpy-on-traced",
)
def numpy_for_jax(file: File) -> Iterator[Edit]:
    """Call NumPy with a traced array."""
    if "import numpy as np" in file.text:
        for call in _traced_calls(
            file, "sum", "mean", "exp", "log", "sqrt", "clip", "where", "maximum", "argmax", "dot"
        ):
            if is_array_function(call) and call.args and _depends(file, call.args[0]):
                yield Edit(call.func, f"np.{called(call)}")


@operator("jit", "the function is traced, and the number depends on its parameters", "numpy-on-traced")
def number_of_traced(file: File) -> Iterator[Edit]:
    """Make a Python number of a traced one."""
    for call in _traced_calls(file, "mean", "sum", "argmax", "max"):
        whole = len(call.args) == 1 and not call.keywords
        if whole and is_array_function(call) and _depends(file, call.args[0]):
            yield Edit(call, f"{'int' if called(call) == 'argmax' else 'float'}({file.source(call)})")


@operator("jit", "the array is one of JAX: it has `.at`", "in-place-update")
def in_place(file: File) -> Iterator[Edit]:
    """Assign to an element of an array in place."""
    for node in file.nodes:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(
                    func=ast.Attribute(
                        value=ast.Subscript(value=ast.Attribute(value=ast.Name(id=array), attr="at"), slice=index),
                        attr="set" | "add" as act,
                    ),
                    args=[value],
                ),
            ) if name == array:
                sign = "=" if act == "set" else "+="
                yield Edit(node, f"{name}[{file.source(index)}] {sign} {file.source(value)}")


@operator(
    "jit",
    "the function is traced, the condition depends on its parameters, and the other side is zero",
    "dynamic-shape",
)
def boolean_index(file: File) -> Iterator[Edit]:
    """Take the elements that a mask selects: the shape depends on values."""
    for call in _traced_calls(file, "where"):
        match call.args:
            case [test, array, zero] if is_constant(zero, 0) or is_constant(zero, 0.0):
                if _depends(file, test) and not isinstance(array, ast.Constant):
                    yield Edit(call, f"({file.source(array)})[{file.source(test)}]")


@operator("jit", "the list is an operand of arithmetic or of a function of `jnp`", "python-list-as-array")
def list_for_array(file: File) -> Iterator[Edit]:
    """Hand a Python list to a function that takes arrays."""
    for call in calls(file.tree, "array", "asarray"):
        around = file.parents[call]
        if is_array_function(call) and call.args and isinstance(call.args[0], ast.List) and len(call.args[0].elts) > 1:
            meets = isinstance(around, ast.BinOp) and isinstance(around.op, ast.Sub | ast.Mult | ast.Div)
            if meets or (isinstance(around, ast.Call) and is_array_function(around) and called(around) not in JOINS):
                yield Edit(call, file.source(call.args[0]))


JOINS = ("concatenate", "stack", "hstack", "vstack", "array", "asarray", "append")


@operator("jit", "the function is traced", "print-in-traced-code")
def print_while_tracing(file: File) -> Iterator[Edit]:
    """Print by Python, which happens only while JAX traces."""
    for call in calls(file.tree, "print"):
        if ast.unparse(call.func) == "jax.debug.print" and file.is_traced(call):
            yield Edit(call.func, "print")


@operator(
    "jit", "what is compiled is made by a call, so that every turn compiles another function", "retrace-every-call"
)
def compile_every_turn(file: File) -> Iterator[Edit]:
    """Compile a function anew in every turn of a Python loop."""
    made = {
        node.targets[0].id: file.source(node.value)
        for node in file.nodes
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        if isinstance(node.value, ast.Call) and called(node.value) == "jit" and "\n" not in file.source(node.value)
        if node.value.args and isinstance(node.value.args[0], ast.Call | ast.Lambda)
    }
    for call in (one for one in file.nodes if isinstance(one, ast.Call)):
        if isinstance(call.func, ast.Name) and call.func.id in made:
            if any(isinstance(one, ast.For | ast.While) for one in file.around(call)):
                yield Edit(call.func, made[call.func.id])


def _depends(file: File, node: ast.expr) -> bool:
    """Whether an expression is made of a parameter of the traced function around it, and not of its sizes alone."""
    function = file.function(node)
    given = set(parameters(function)) - {"self", "cls", "config", "params"} if function else set()
    text = file.source(node)
    known = any(word in text for word in (".shape", ".ndim", "len(", " is ", "config"))
    return not known and any(names_read(node, lambda one: one.id in given))
