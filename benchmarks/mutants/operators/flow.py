"""Mistakes about which value is meant: dropped, old, exchanged or overwritten ones."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from benchmarks.mutants.edits import (
    Edit,
    File,
    called,
    keyword,
    last_name,
    own_nodes,
    parameters,
    read_after,
    returned,
    unpackings,
)
from benchmarks.mutants.operators.registry import operator


def _renewals(function: ast.FunctionDef) -> Iterator[tuple[ast.Assign, str, str]]:
    """Return the assignments `new_x = x.replace(...)` and `new_x = f(x, ...)`, by the names of both."""
    for node in own_nodes(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=new)], value=ast.Call() as call):
                owner = call.func.value if isinstance(call.func, ast.Attribute) else None
                given = [one.id for one in (owner, *call.args) if isinstance(one, ast.Name)]
                for old in given:
                    if new in (f"new_{old}", f"next_{old}", f"updated_{old}", f"{old}_new"):
                        yield node, new, old


@operator("flow", "the result is renewed under the name of an argument, and read below", "stale-value")
def drop_state(file: File) -> Iterator[Edit]:
    """Throw away a result that renews an argument of the call; the old one is read on."""
    for function in file.functions:
        for target, call in unpackings(function):
            given = {one.id for one in call.args if isinstance(one, ast.Name)}
            if called(call) not in ("split", "update"):
                for one in target.elts:
                    if isinstance(one, ast.Name) and one.id in given and read_after(function, one.id, target.lineno):
                        yield Edit(one, "_unused")


@operator("flow", "`new_x` is made of `x` and returned", "stale-value")
def return_old_state(file: File) -> Iterator[Edit]:
    """Return the old version of a value beside whose successor it was computed."""
    for function in file.functions:
        for assign, new, old in _renewals(function):
            value = returned(function)
            for one in read_after(value, new, assign.lineno) if value is not None else ():
                if not isinstance(file.parents[one], ast.Attribute | ast.Call):
                    yield Edit(one, old)


@operator("flow", "`new_x` is made of `x`, and the part is one that the call gives: it reads `new_x.part`")
def read_old_part(file: File) -> Iterator[Edit]:
    """Read a part of the old version of a value below its successor."""
    for function in file.functions:
        for assign, new, old in _renewals(function):
            for one in read_after(function, new, assign.end_lineno or 0):
                if isinstance(file.parents[one], ast.Attribute):
                    yield Edit(one, old)


@operator("flow", "the callee is a function of the file that returns as many distinct names")
def swap_results(file: File) -> Iterator[Edit]:
    """Take two results of a function apart in the wrong order."""
    for function in file.functions:
        for target, call in unpackings(function):
            value = returned(file.by_name[called(call)]) if called(call) in file.by_name else None
            given = [ast.unparse(one) for one in target.elts]
            if isinstance(value, ast.Tuple) and len(value.elts) == len(given) and len(given) > 1:
                if all(read_after(function, one, target.end_lineno or 0) for one in given[:2]) and given[0] != given[1]:
                    first, second = target.elts[:2]
                    names = [file.source(second), file.source(first), *map(file.source, target.elts[2:])]
                    text = ", ".join(names)
                    yield Edit(target, f"({text})" if file.source(target).startswith("(") else text)


@operator("flow", "both arguments are named as the parameters that they are for", "swapped-arguments")
def swap_arguments(file: File) -> Iterator[Edit]:
    """Exchange two arguments of a function of the file."""
    for call in (one for one in file.nodes if isinstance(one, ast.Call)):
        callee = file.by_name.get(called(call))
        names = [one.id if isinstance(one, ast.Name) else "" for one in call.args]
        wanted = parameters(callee) if callee else []
        wanted = wanted[1:] if wanted[:1] == ["self"] else wanted
        for at, (first, second) in enumerate(pairwise(names)):
            if first and second and first != second and [first, second] == wanted[at : at + 2]:
                given = [file.source(one) for one in call.args]
                given[at], given[at + 1] = second, first
                named = [file.source(one) for one in call.keywords]
                yield Edit(call, f"{file.source(call.func)}({', '.join([*given, *named])})")
                break


@operator("flow", "both values are named as the fields that they are for")
def swap_fields(file: File) -> Iterator[Edit]:
    """Exchange the values of two fields of a record."""
    for call in (one for one in file.nodes if isinstance(one, ast.Call)):
        own = [one for one in call.keywords if isinstance(one.value, ast.Name) and one.value.id == one.arg]
        if len(own) > 1 and called(call)[:1].isupper():
            yield Edit(own[0].value, own[1].arg or "")


@operator("flow", "`x = x.at[...]` or `x = x.replace(...)`, and `x` is read below", "result-discarded")
def drop_functional_update(file: File) -> Iterator[Edit]:
    """Make a changed copy and drop it."""
    for function in file.functions:
        for node in own_nodes(function):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute() as attribute) as call):
                    text = ast.unparse(attribute)
                    if text.startswith((f"{name}.at[", f"{name}.replace", f"{name}._replace")):
                        if read_after(function, name, node.end_lineno or 0):
                            yield Edit(node, file.source(call))


@operator("flow", "the sum is read after the loop, in a function that calculates with arrays")
def overwrite_sum(file: File) -> Iterator[Edit]:
    """Overwrite in a Python loop what was added up."""
    for node in file.nodes:
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and isinstance(node.target, ast.Name):
            loop = next((one for one in file.around(node) if isinstance(one, ast.For)), None)
            function = file.function(node)
            if loop is not None and function is not None and "jnp" in file.source(function):
                if read_after(function, node.target.id, loop.end_lineno or 0):
                    yield Edit(node, f"{node.target.id} = {file.source(node.value)}")


@operator("flow", "a factor is named a mask")
def forget_mask(file: File) -> Iterator[Edit]:
    """Leave out the mask that an array is multiplied by."""
    for node in file.nodes:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            for mask, other in ((node.left, node.right), (node.right, node.left)):
                if "mask" in last_name(mask) and isinstance(other, ast.Name | ast.Attribute | ast.Call):
                    yield Edit(node, f"({file.source(other)})")


@operator("flow", "the new parameters are read below")
def drop_new_parameters(file: File) -> Iterator[Edit]:
    """Apply updates and go on with the old parameters."""
    for function in file.functions:
        for node in own_nodes(function):
            match node:
                case ast.Assign(
                    targets=[ast.Name(id=new) as target], value=ast.Call(args=[ast.Name(id=old), _]) as call
                ):
                    uses = read_after(function, new, node.end_lineno or 0)
                    if called(call) == "apply_updates" and uses and keyword(call, "params") is None:
                        yield Edit(target, "_unused") if new == old else Edit(uses[0], old)
