"""Mistakes about what is differentiated, by what, and what becomes of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from benchmarks.mutants.edits import (
    Edit,
    File,
    called,
    calls,
    is_constant,
    keyword,
    names_read,
    own_nodes,
    parameters,
    read_after,
    unpackings,
    walked,
)
from benchmarks.mutants.operators.registry import operator


@operator(
    "gradients",
    "no `argnums` was given, so the first argument was meant, and the function is one of this file",
    "wrong-argnums",
)
def wrong_argnums(file: File) -> Iterator[Edit]:
    """Differentiate in the second argument."""
    many = {one.name for one in file.functions if len(one.args.args) > 1}
    for call in calls(file.tree, "grad", "value_and_grad"):
        match call.args:
            case [ast.Name(id=name) as given] if name in many and keyword(call, "argnums") is None:
                yield Edit(given, f"{name}, argnums=1")


@operator("gradients", "somebody stopped the gradient here", "missing-stop-gradient")
def drop_stop_gradient(file: File) -> Iterator[Edit]:
    """Let gradient through where it was stopped."""
    return (Edit(call, f"({file.source(call.args[0])})") for call in calls(file.tree, "stop_gradient") if call.args)


@operator("gradients", "one side of a difference is stopped", "misplaced-stop-gradient")
def stop_other_side(file: File) -> Iterator[Edit]:
    """Stop the side of a difference that learns, and let the target learn."""
    for node in file.nodes:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            left, right = node.left, node.right
            for stopped, free in ((left, right), (right, left)):
                if isinstance(stopped, ast.Call) and called(stopped) == "stop_gradient" and stopped.args:
                    stop = file.source(stopped.func)
                    texts = {stopped: file.source(stopped.args[0]), free: f"{stop}({file.source(free)})"}
                    yield Edit(node, f"({texts[left]} - {texts[right]})")
                    break


def _value_and_grads(file: File) -> Iterator[tuple[ast.FunctionDef, ast.Tuple, str]]:
    """Return where the results of `value_and_grad` are taken apart, with its options."""
    makers: dict[str, str] = {}
    for node in file.nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call) if called(call) == "value_and_grad":
                makers[name] = ast.unparse(call)
    for function in file.functions:
        for target, call in unpackings(function):
            made = isinstance(call.func, ast.Call) and called(call.func) == "value_and_grad"
            options = ast.unparse(call.func) if made else makers.get(ast.unparse(call.func), "")
            if options and len(target.elts) == 2 and file.function(call) is function:
                yield function, target, options


@operator("gradients", "both results are read below")
def swap_value_and_gradient(file: File) -> Iterator[Edit]:
    """Take the gradient for the value."""
    for function, target, _options in _value_and_grads(file):
        value, gradient = target.elts
        if isinstance(gradient, ast.Name) and read_after(function, gradient.id, target.end_lineno or 0):
            yield Edit(target, f"{file.source(gradient)}, {file.source(value)}")


@operator("gradients", "the function has further results")
def swap_loss_and_aux(file: File) -> Iterator[Edit]:
    """Take the further results of a loss for the loss."""
    for _function, target, options in _value_and_grads(file):
        pair = target.elts[0]
        if "has_aux=True" in options and isinstance(pair, ast.Tuple) and len(pair.elts) == 2:
            yield Edit(pair, f"({file.source(pair.elts[1])}, {file.source(pair.elts[0])})")


@operator("gradients", "the function has further results", "aux-mishandled")
def no_aux(file: File) -> Iterator[Edit]:
    """Differentiate a function with further results as if it had none."""
    for call in calls(file.tree, "grad", "value_and_grad"):
        found = keyword(call, "has_aux")
        if found is not None and is_constant(found.value, True):
            yield Edit(found.value, "False")


@operator("gradients", "the updates of an optimizer are what is applied", "updates-as-parameters")
def apply_raw_gradient(file: File) -> Iterator[Edit]:
    """Add the gradient to the parameters, instead of what the optimizer makes of it."""
    for function in file.functions:
        made = {
            target.elts[0].id: call.args[0].id
            for target, call in unpackings(function)
            if called(call) == "update" and isinstance(target.elts[0], ast.Name)
            if len(call.args) > 1 and isinstance(call.args[0], ast.Name)
        }
        for call in calls(function, "apply_updates"):
            match call.args:
                case [_, ast.Name(id=name) as given] if made.get(name, name) != name:
                    yield Edit(given, made[name])


@operator("gradients", "the term is computed in a function that is differentiated, and read nowhere else")
def drop_loss_term(file: File) -> Iterator[Edit]:
    """Leave one term out of a loss."""
    given = calls(file.tree, "grad", "value_and_grad")
    losses = {one.args[0].id for one in given if one.args and isinstance(one.args[0], ast.Name)}
    for function in file.functions:
        if function.name not in losses:
            continue
        for node in own_nodes(function):
            match node:
                case ast.BinOp(op=ast.Add() | ast.Sub(), left=left, right=right):
                    own = {
                        one.id
                        for one in walked(function)
                        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
                    }
                    names = [one for one in names_read(right) if one.id in own]
                    if names and all(
                        len(list(names_read(function, lambda it, one=one: it.id == one.id))) == 1 for one in names
                    ):
                        yield Edit(node, f"({file.source(left)})")


def _backward_rules(file: File) -> Iterator[tuple[ast.FunctionDef, str]]:
    """Return the backward functions of custom derivatives, with the name of the cotangent."""
    for call in calls(file.tree, "defvjp"):
        match call.args:
            case [_, ast.Name(id=name)] if name in file.by_name:
                yield file.by_name[name], parameters(file.by_name[name])[-1]


@operator("gradients", "the function is the backward rule of a custom derivative", "wrong-custom-derivative")
def forget_cotangent(file: File) -> Iterator[Edit]:
    """Leave the cotangent out of a product of a backward rule."""
    for function, cotangent in _backward_rules(file):
        for node in walked(function):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
                for one, other in ((node.left, node.right), (node.right, node.left)):
                    if isinstance(one, ast.Name) and one.id == cotangent:
                        yield Edit(node, f"({file.source(other)})")


@operator("gradients", "the function is given to `grad` and returns a mean or a sum", "non-scalar-grad")
def loss_of_every_example(file: File) -> Iterator[Edit]:
    """Return a loss for each example, where one number is differentiated."""
    given = calls(file.tree, "grad", "value_and_grad")
    losses = {one.args[0].id for one in given if one.args and isinstance(one.args[0], ast.Name)}
    for function in file.functions:
        for node in own_nodes(function) if function.name in losses else ():
            match node:
                case ast.Return(value=ast.Call(args=[array], keywords=[]) as call) if called(call) in ("mean", "sum"):
                    yield Edit(call, f"({file.source(array)})")
                case ast.Return(value=ast.Call(func=ast.Attribute(value=array), args=[]) as call):
                    if called(call) in ("mean", "sum"):
                        yield Edit(call, f"({file.source(array)})")
