"""The operators: each puts one kind of mistake into a file, where a condition on the syntax says that it is one."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.mutants.edits import Edit, File, called, calls, keyword, read_after, unpackings


@dataclass(frozen=True, slots=True)
class Operator:
    """One kind of mistake."""

    name: str
    family: str
    """The family of rules whose matter it is: what they prove at the place of the mistake is wrong."""
    does: str
    mistake: str
    """The condition that makes it a mistake."""
    edits: Callable[[File], Iterator[Edit]]


def _is(node: ast.expr | None, value: object) -> bool:
    """Whether an expression is a constant, a negative number among them."""
    try:
        return node is not None and ast.literal_eval(node) == value and type(ast.literal_eval(node)) is type(value)
    except ValueError:
        return False


def reuse_key(file: File) -> Iterator[Edit]:
    """Draw with the first of two subkeys where the second belongs, if the first is read later too."""
    for function in file.functions:
        for target, call in unpackings(function):
            if called(call) != "split" or not all(isinstance(one, ast.Name) for one in target.elts):
                continue
            first, *others = (one.id for one in target.elts if isinstance(one, ast.Name))
            uses = [use for other in others for use in read_after(function, other, target.lineno)]
            if uses and read_after(function, first, uses[0].lineno):
                yield Edit(uses[0], first)


def keep_old_key(file: File) -> Iterator[Edit]:
    """Split a key and keep the old one, if it is read again."""
    for function in file.functions:
        for target, call in unpackings(function):
            given = call.args[0] if call.args else None
            if called(call) == "split" and isinstance(given, ast.Name):
                for one in target.elts:
                    if isinstance(one, ast.Name) and one.id == given.id and read_after(function, one.id, one.lineno):
                        yield Edit(one, "_unused")


def flip_in_axes(file: File) -> Iterator[Edit]:
    """Map an argument that was shared, or share one that was mapped, if both kinds are there."""
    for call in calls(file.tree, "vmap"):
        axes = keyword(call, "in_axes")
        given = axes.value if axes is not None else call.args[1] if len(call.args) > 1 else None
        if isinstance(given, ast.Tuple) and any(_is(one, 0) for one in given.elts):
            if sum(_is(one, 0) for one in given.elts) > 1 or any(_is(one, None) for one in given.elts):
                for one in given.elts:
                    if _is(one, 0) or _is(one, None):
                        yield Edit(one, "None" if _is(one, 0) else "0")


def wrong_argnums(file: File) -> Iterator[Edit]:
    """Differentiate in the second argument, if the function is one of this file and takes more than one."""
    many = {one.name for one in file.functions if len(one.args.args) > 1}
    for call in calls(file.tree, "grad", "value_and_grad"):
        match call.args:
            case [ast.Name(id=name) as given] if name in many and keyword(call, "argnums") is None:
                yield Edit(given, f"{name}, argnums=1")


def drop_optimizer_state(file: File) -> Iterator[Edit]:
    """Go on with the old state of an optimizer, if the new one was read."""
    for function in file.functions:
        for target, call in unpackings(function):
            if not called(call).endswith(("update", "update_fn")) or len(target.elts) != 2 or len(call.args) < 2:
                continue
            state, old = target.elts[1], call.args[1]
            uses = read_after(function, state.id, call.end_lineno or 0) if isinstance(state, ast.Name) else []
            if uses and file.source(old) == file.source(state):
                yield Edit(state, "_unused")
            elif uses:
                yield Edit(uses[0], file.source(old))


def drop_state(file: File) -> Iterator[Edit]:
    """Throw away a result that renews an argument of the call, if the old one is read later."""
    for function in file.functions:
        for target, call in unpackings(function):
            given = {one.id for one in call.args if isinstance(one, ast.Name)}
            if called(call) not in ("split", "update"):
                for one in target.elts:
                    if isinstance(one, ast.Name) and one.id in given and read_after(function, one.id, target.lineno):
                        yield Edit(one, "_unused")


def drop_stop_gradient(file: File) -> Iterator[Edit]:
    """Let gradient through where it was stopped."""
    return (Edit(call, f"({file.source(call.args[0])})") for call in calls(file.tree, "stop_gradient") if call.args)


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
)


def other_axis(file: File) -> Iterator[Edit]:
    """Reduce over the axis beside the one that was named."""
    beside = {0: "1", 1: "0", -1: "-2", -2: "-1"}
    for call in calls(file.tree, *REDUCTIONS):
        axis = keyword(call, "axis")
        for number, other in beside.items():
            if axis is not None and _is(axis.value, number):
                yield Edit(axis.value, other)


def uneven_slices(file: File) -> Iterator[Edit]:
    """Let one of two slices that are shifted against each other keep its last row, if they stand in one statement."""
    for function in file.functions:
        for statement in ast.walk(function):
            if isinstance(statement, ast.Assign | ast.Return):
                slices = [one for one in ast.walk(statement) if isinstance(one, ast.Slice)]
                first = [one for one in slices if one.lower is None and _is(one.upper, -1)]
                if first and any(_is(one.lower, 1) and one.upper is None for one in slices):
                    yield Edit(first[0], ":")  # type: ignore[arg-type]


def forward_scan(file: File) -> Iterator[Edit]:
    """Scan forward what is computed from the end."""
    for call in calls(file.tree, "scan"):
        found = keyword(call, "reverse")
        if found is not None and _is(found.value, True):
            yield Edit(found.value, "False")


def swap_carry(file: File) -> Iterator[Edit]:
    """Exchange the carry and the output of a scan's body, if both are there."""
    bodies = {one.args[0].id for one in calls(file.tree, "scan") if one.args and isinstance(one.args[0], ast.Name)}
    for function in file.functions:
        last = function.body[-1]
        if function.name in bodies and isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple):
            if len(last.value.elts) == 2 and not any(_is(one, None) for one in last.value.elts):
                carry, out = (file.source(one) for one in last.value.elts)
                yield Edit(last.value, f"{out}, {carry}")


def no_static_argument(file: File) -> Iterator[Edit]:
    """Compile a function without its static arguments."""
    for call in calls(file.tree, "jit", "partial"):
        for name in ("static_argnums", "static_argnames"):
            found = keyword(call, name)
            if found is not None:
                yield Edit(found, "inline=False")


def branch_in_python(file: File) -> Iterator[Edit]:
    """Choose by Python's `if` instead of `where`, in a function that JAX traces."""
    makers = calls(file.tree, "jit", "scan", "vmap", "grad", "value_and_grad", "fori_loop", "while_loop", "cond")
    traced = {given.id for one in makers for given in one.args if isinstance(given, ast.Name)}
    for function in file.functions:
        compiled = any("jit" in ast.unparse(one) for one in function.decorator_list)
        for call in calls(function, "where") if compiled or function.name in traced else ():
            if len(call.args) == 3:
                test, yes, no = (file.source(one) for one in call.args)
                yield Edit(call, f"(({yes}) if {test} else ({no}))")


def unguarded_log(file: File) -> Iterator[Edit]:
    """Take the logarithm, the root or the quotient of what was kept away from zero by a small number."""
    for node in ast.walk(file.tree):
        small = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and isinstance(node.right, ast.Constant)
        if small and isinstance(node.right.value, float) and 0 < node.right.value < 1e-3:
            yield Edit(node, f"({file.source(node.left)})")


def ignore_done(file: File) -> Iterator[Edit]:
    """Leave out the factor `(1 - done)`."""
    for node in ast.walk(file.tree):
        match node:
            case ast.BinOp(op=ast.Mult(), left=left, right=ast.BinOp(left=ast.Constant(value=1 | 1.0), op=ast.Sub())):
                yield Edit(node, f"({file.source(left)})")


def no_mean_over_devices(file: File) -> Iterator[Edit]:
    """Leave out a collective."""
    for call in calls(file.tree, "pmean", "psum"):
        if call.args and (len(call.args) > 1 or keyword(call, "axis_name") is not None):
            yield Edit(call, f"({file.source(call.args[0])})")


def _row(function: Callable[[File], Iterator[Edit]], family: str, mistake: str) -> Operator:
    name = function.__name__.replace("_", "-")
    return Operator(name, family, (function.__doc__ or "").strip(), mistake, function)


OPERATORS = (
    _row(reuse_key, "random", "both subkeys come of one split, and the first is read again below"),
    _row(keep_old_key, "random", "the name that is split is the one that is renewed, and it is read below"),
    _row(flip_in_axes, "vmap", "the tuple has entries of both kinds, or several mapped ones"),
    _row(wrong_argnums, "gradients", "no `argnums` was given, so the first argument was meant"),
    _row(drop_stop_gradient, "gradients", "somebody stopped the gradient here"),
    _row(drop_optimizer_state, "pytrees", "the new state was read below the update"),
    _row(drop_state, "flow", "the result is renewed under the name of an argument, and read below"),
    _row(other_axis, "axes", "the axis is written down"),
    _row(uneven_slices, "axes", "`[:-1]` and `[1:]` stand in one statement"),
    _row(forward_scan, "scan", "`reverse=True` was given"),
    _row(swap_carry, "scan", "the body returns a pair"),
    _row(no_static_argument, "jit", "static arguments were given"),
    _row(branch_in_python, "jit", "the function is given to a transformation by name, or compiled by a decorator"),
    _row(unguarded_log, "numerics", "a small positive number was added"),
    _row(ignore_done, "envs", "a factor `(1 - x)` was there"),
    _row(no_mean_over_devices, "sharding", "a collective was there"),
)
"""Every operator, by family."""
