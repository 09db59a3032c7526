"""Mistakes with keys."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from benchmarks.mutants.edits import Edit, File, called, calls, is_array_function, parameters, read_after, unpackings
from benchmarks.mutants.operators.registry import operator

DRAWS = ("normal", "uniform", "categorical", "bernoulli", "randint", "choice", "permutation", "gumbel", "exponential")


def _splits(file: File) -> Iterator[tuple[ast.FunctionDef, list[str], ast.Call, ast.Tuple]]:
    """Return the splits of a key whose subkeys get names."""
    for function in file.functions:
        for target, call in unpackings(function):
            names = [one.id for one in target.elts if isinstance(one, ast.Name)]
            if called(call) == "split" and call.args and len(names) == len(target.elts):
                if isinstance(call.args[0], ast.Name) and not is_array_function(call):
                    yield function, names, call, target


@operator("random", "both subkeys come of one split, and the first is read again below", "key-reused")
def reuse_key(file: File) -> Iterator[Edit]:
    """Draw with the first of two subkeys where the second belongs."""
    for function, (first, *others), _call, target in _splits(file):
        uses = [use for other in others for use in read_after(function, other, target.lineno)]
        if uses and read_after(function, first, uses[0].lineno):
            yield Edit(uses[0], first)


@operator("random", "the name that is split is the one that is renewed, and it is read below")
def keep_old_key(file: File) -> Iterator[Edit]:
    """Split a key and keep the old one."""
    for function, _names, call, target in _splits(file):
        for one in target.elts:
            if isinstance(one, ast.Name) and one.id == file.source(call.args[0]):
                if read_after(function, one.id, one.lineno):
                    yield Edit(one, "_unused")


@operator("random", "the key is split into two, and both are read below", "key-reused")
def no_split(file: File) -> Iterator[Edit]:
    """Use one key for both where it was split."""
    for function, names, call, target in _splits(file):
        if len(names) == 2 and all(read_after(function, one, target.end_lineno or 0) for one in names):
            given = file.source(call.args[0])
            yield Edit(call, f"({given}, {given})")


@operator("random", "the key that was split is not renewed by the split", "key-reused")
def use_parent_key(file: File) -> Iterator[Edit]:
    """Use the key that was split where one of its subkeys belongs, while another subkey is read."""
    for function, names, call, target in _splits(file):
        parent = file.source(call.args[0])
        uses = [read_after(function, one, target.end_lineno or 0) for one in names]
        if parent not in names and sum(map(bool, uses)) > 1:
            yield Edit(next(one for one in uses if one)[0], parent)


@operator("random", "the function is given a key, and draws with it or its subkeys")
def fixed_key(file: File) -> Iterator[Edit]:
    """Draw with a key made of a constant, so that every call gives the same."""
    for call in calls(file.tree, *DRAWS):
        function = file.function(call)
        if "random" in ast.unparse(call.func) and call.args and isinstance(call.args[0], ast.Name) and function:
            if any(one in ("key", "rng", "rng_key") for one in parameters(function)) and _is_jax(call):
                yield Edit(call.args[0], "jax.random.PRNGKey(0)")


@operator(
    "random",
    "what is folded in changes from turn to turn: it is a parameter or a variable of a loop",
    "same-key-in-loop",
)
def no_fold_in(file: File) -> Iterator[Edit]:
    """Use the same key in every turn, where the number of the turn was folded in."""
    for call in calls(file.tree, "fold_in"):
        if len(call.args) == 2 and all(isinstance(one, ast.Name) for one in call.args):
            yield Edit(call, file.source(call.args[0]))


def _is_jax(call: ast.Call) -> bool:
    return ast.unparse(call.func).startswith("jax.random")
