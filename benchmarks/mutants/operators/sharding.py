"""Mistakes about devices: collectives, names of axes, partitions, donation."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from benchmarks.mutants.edits import Edit, File, called, calls, keyword, read_after
from benchmarks.mutants.operators.registry import operator

COLLECTIVES = ("pmean", "psum", "pmax", "all_gather", "axis_index", "psum_scatter")


def _collectives(file: File, *names: str) -> Iterator[ast.Call]:
    for call in calls(file.tree, *names):
        if call.args and (len(call.args) > 1 or keyword(call, "axis_name") is not None):
            yield call


@operator("sharding", "a collective was there", "missing-cross-device-reduction")
def no_mean_over_devices(file: File) -> Iterator[Edit]:
    """Leave out a collective."""
    return (Edit(call, f"({file.source(call.args[0])})") for call in _collectives(file, "pmean", "psum"))


@operator("sharding", "the mean of gradients was taken")
def sum_for_mean(file: File) -> Iterator[Edit]:
    """Add up over devices where the mean was taken."""
    for call in _collectives(file, "pmean"):
        if isinstance(call.func, ast.Attribute):
            yield Edit(call.func, f"{file.source(call.func.value)}.psum")


@operator("sharding", "the name is written down, at the collective and at the map", "unbound-axis-name")
def other_axis_name(file: File) -> Iterator[Edit]:
    """Name an axis that nothing binds."""
    for call in calls(file.tree, *COLLECTIVES):
        named = keyword(call, "axis_name")
        given = named.value if named else call.args[-1] if call.args else None
        if isinstance(given, ast.Constant) and isinstance(given.value, str) and file.text.count(f'"{given.value}"') > 1:
            yield Edit(given, f'"{given.value}s"')


@operator("sharding", "the two entries differ")
def exchange_partition(file: File) -> Iterator[Edit]:
    """Partition along the axis beside the one that was named."""
    for call in calls(file.tree, "PartitionSpec", "PS", "P"):
        if len(call.args) == 2 and not call.keywords:
            first, second = (file.source(one) for one in call.args)
            if first != second:
                yield Edit(call, f"{file.source(call.func)}({second}, {first})")


@operator("sharding", "what is given is read again below the call")
def donate_and_read(file: File) -> Iterator[Edit]:
    """Donate a buffer that is read again."""
    made = {
        node.targets[0].id: node.value.args[0]
        for node in file.nodes
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        if isinstance(node.value, ast.Call) and called(node.value) == "jit" and len(node.value.args) == 1
    }
    for call in (one for one in file.nodes if isinstance(one, ast.Call)):
        function = file.function(call)
        if isinstance(call.func, ast.Name) and call.func.id in made and call.args and function is not None:
            given, statement = call.args[0], file.statement(call)
            renewed = isinstance(statement, ast.Assign) and file.source(given) in ast.unparse(statement.targets[0])
            if isinstance(given, ast.Name) and not renewed and read_after(function, given.id, call.end_lineno or 0):
                yield Edit(made[call.func.id], f"{file.source(made[call.func.id])}, donate_argnums=0")
