"""Mistakes about trees: their leaves, their classes, and the state of optimizers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from benchmarks.mutants.edits import Edit, File, called, calls, parameters, read_after, unpackings, walked
from benchmarks.mutants.operators.registry import operator

TREE_MAPS = ("tree_map", "tree_multimap")


def _tree_maps(file: File) -> Iterator[ast.Call]:
    for call in (one for one in file.nodes if isinstance(one, ast.Call)):
        if called(call) in TREE_MAPS or ast.unparse(call.func).endswith("tree.map"):
            yield call


@operator("pytrees", "the new state was read below the update")
def drop_optimizer_state(file: File) -> Iterator[Edit]:
    """Go on with the old state of an optimizer."""
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


@operator("pytrees", "the function is a lambda of one leaf with arithmetic in it")
def no_tree_map(file: File) -> Iterator[Edit]:
    """Calculate with a tree as if it were one array."""
    for call in _tree_maps(file):
        match call.args:
            case [ast.Lambda(args=given, body=body) as function, tree] if len(given.args) == 1:
                if any(isinstance(one, ast.BinOp) for one in walked(body)):
                    yield Edit(call, f"({file.source(function)})({file.source(tree)})")


@operator("pytrees", "the function takes two leaves", "tree-structure-mismatch")
def second_tree_missing(file: File) -> Iterator[Edit]:
    """Map over one tree a function of two."""
    for call in _tree_maps(file):
        match call.args:
            case [ast.Lambda(args=given) as function, first, _] if len(given.args) == 2 and not call.keywords:
                yield Edit(call, f"{file.source(call.func)}({file.source(function)}, {file.source(first)})")


@operator("pytrees", "the function tells its two leaves apart: it is a choice or a difference")
def swap_trees(file: File) -> Iterator[Edit]:
    """Exchange two trees."""
    for call in _tree_maps(file):
        match call.args:
            case [ast.Lambda(args=given, body=body), first, second] if len(given.args) == 2 and not call.keywords:
                names = [one.arg for one in given.args]
                exchanged = (
                    ast.unparse(body).replace(names[0], "\0").replace(names[1], names[0]).replace("\0", names[1])
                )
                if exchanged != ast.unparse(body):
                    yield Edit(first, f"{file.source(second)}, {file.source(first)}", until=second)


@operator("pytrees", "the class was registered, and is made in a function that JAX traces or returned by one")
def not_registered(file: File) -> Iterator[Edit]:
    """Leave out the decorator that registers a class."""
    for node in file.nodes:
        for one in node.decorator_list if isinstance(node, ast.ClassDef) else ():
            text = ast.unparse(one)
            if text.rpartition(".")[2].startswith("register_") and file.text.count(f"{node.name}(") > 1:
                yield Edit(one, "(lambda cls: cls)")
            if (
                text in ("struct.dataclass", "flax.struct.dataclass", "chex.dataclass")
                and "import dataclasses" in file.text
            ):
                yield Edit(one, "dataclasses.dataclass")


@operator("pytrees", "the class flattens and unflattens by position", "flatten-loses-field")
def children_in_other_order(file: File) -> Iterator[Edit]:
    """Flatten a class in another order than it is put together."""
    for function in file.functions:
        if function.name == "tree_flatten":
            for one in walked(function):
                if isinstance(one, ast.Tuple) and len(one.elts) > 1 and isinstance(one.ctx, ast.Load):
                    texts = [file.source(part) for part in one.elts]
                    if all(text.startswith(f"{parameters(function)[0]}.") for text in texts):
                        text = ", ".join([texts[1], texts[0], *texts[2:]])
                        yield Edit(one, f"({text})" if file.source(one).startswith("(") else text)


@operator("pytrees", "the optimizer's state is made of the parameters that are updated", "tree-structure-mismatch")
def state_of_other_tree(file: File) -> Iterator[Edit]:
    """Make the state of an optimizer for another tree than the one it updates."""
    for function in file.functions:
        for call in calls(function, "init"):
            match call.args:
                case [ast.Attribute(value=ast.Name() as owner, attr="params" | "actor_params")] if (
                    "optim" in ast.unparse(call.func) or "tx" in ast.unparse(call.func)
                ):
                    yield Edit(call.args[0], owner.id)
                case [ast.Name(id=name) as given] if "optim" in ast.unparse(call.func) and name.endswith("params"):
                    yield Edit(given, f"[{name}]")
