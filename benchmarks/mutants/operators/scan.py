"""Mistakes in loops that JAX compiles."""

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
    parameters,
    read_after,
    returned,
    scan_bodies,
    unpackings,
    walked,
)
from benchmarks.mutants.operators.registry import operator


@operator("scan", "`reverse=True` was given", "advantage-not-reversed")
def forward_scan(file: File) -> Iterator[Edit]:
    """Scan forward what is computed from the end."""
    for call in calls(file.tree, "scan"):
        found = keyword(call, "reverse")
        if found is not None and is_constant(found.value, True):
            yield Edit(found.value, "False")


def _pairs(file: File) -> Iterator[tuple[ast.FunctionDef, ast.Call, ast.Tuple]]:
    """Return the bodies of scans that return a pair."""
    for body, call in scan_bodies(file):
        value = returned(body)
        if isinstance(value, ast.Tuple) and len(value.elts) == 2:
            yield body, call, value


@operator(
    "scan", "the body returns a pair, and its second part is not None", "carry-type-changes", "carry-xs-confusion"
)
def swap_carry(file: File) -> Iterator[Edit]:
    """Exchange the carry and the output of a scan's body."""
    for _body, _call, value in _pairs(file):
        carry, out = (file.source(one) for one in value.elts)
        if not any(is_constant(one, None) for one in value.elts) and carry != out:
            yield Edit(value, f"{out}, {carry}")


@operator("scan", "the body computed a successor of its carry", "unchanged-carry", "carry-never-changes")
def stale_carry(file: File) -> Iterator[Edit]:
    """Return the carry as it came in."""
    for body, _call, value in _pairs(file):
        carry = parameters(body)[0]
        rebound = any(isinstance(one, ast.Name) and one.id == carry for one in _bound(body))
        if file.source(value.elts[0]) != carry and not rebound:
            yield Edit(value.elts[0], carry)


@operator("scan", "the carry has several parts, and one of them is renewed under a new name", "bootstrap-never-moves")
def stale_part_of_carry(file: File) -> Iterator[Edit]:
    """Return one part of the carry as it came in."""
    for body, _call, value in _pairs(file):
        taken = [one for one in body.body if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Tuple)]
        for assign in taken:
            parts = assign.targets[0]
            new = value.elts[0]
            if file.source(assign.value) == parameters(body)[0] and isinstance(parts, ast.Tuple):
                if isinstance(new, ast.Tuple) and len(new.elts) == len(parts.elts):
                    for old, one in zip(parts.elts, new.elts, strict=True):
                        if isinstance(old, ast.Name) and isinstance(one, ast.Name) and old.id != one.id:
                            yield Edit(one, old.id)


@operator("scan", "the init is a name that the body, defined beside it, sees")
def read_init_in_body(file: File) -> Iterator[Edit]:
    """Read in the body what the loop began with, instead of what it carries."""
    for body, call in scan_bodies(file):
        carry = parameters(body)[0]
        match call.args:
            case [_, ast.Name(id=init), *_] if init != carry and file.function(body) is not None:
                if file.function(body) is file.function(call):
                    uses = sorted(
                        names_read(body, lambda one, carry=carry: one.id == carry), key=lambda one: one.lineno
                    )
                    yield from (Edit(one, init) for one in uses[:1] if len(uses) > 1)


@operator("scan", "both an init and elements are given", "initial-carry-mismatch", "carry-xs-confusion")
def swap_init_and_elements(file: File) -> Iterator[Edit]:
    """Exchange what a scan starts with and what it runs over."""
    for call in calls(file.tree, "scan"):
        match call.args:
            case [_, init, elements, *_] if isinstance(init, ast.Name) and isinstance(elements, ast.Name):
                yield Edit(init, f"{elements.id}, {init.id}", until=elements)


@operator("scan", "both results are read below", "carry-xs-confusion")
def swap_scan_results(file: File) -> Iterator[Edit]:
    """Take the stacked outputs for the last carry."""
    for function in file.functions:
        for target, call in unpackings(function):
            if called(call) == "scan" and len(target.elts) == 2 and file.source(call.func) != "scan":
                names = [one.id for one in target.elts if isinstance(one, ast.Name)]
                if len(names) == 2 and all(read_after(function, one, target.end_lineno or 0) for one in names):
                    if "_" not in names:
                        yield Edit(target, f"{names[1]}, {names[0]}")


@operator("scan", "the number of turns is written elsewhere in the file as a size too")
def one_turn_less(file: File) -> Iterator[Edit]:
    """Run a loop for one turn less."""
    for call in calls(file.tree, "scan", "fori_loop"):
        length = keyword(call, "length")
        turns = length.value if length else call.args[1] if called(call) == "fori_loop" and len(call.args) > 1 else None
        if turns is not None and not isinstance(turns, ast.Constant) and file.text.count(file.source(turns)) > 1:
            yield Edit(turns, f"{file.source(turns)} - 1")


@operator("scan", "the loop begins at zero and its counter is read as an index")
def skip_first_turn(file: File) -> Iterator[Edit]:
    """Begin a loop at one."""
    for call in calls(file.tree, "fori_loop"):
        if call.args and is_constant(call.args[0], 0):
            yield Edit(call.args[0], "1")


@operator("scan", "the elements are shifted against others of the same array", "scan-length-mismatch")
def elements_not_shifted(file: File) -> Iterator[Edit]:
    """Scan over the whole array where all but its first or last row was meant."""
    for call in calls(file.tree, "scan"):
        for given in call.args[2:3]:
            for one in walked(given):
                if isinstance(one, ast.Slice) and (is_constant(one.lower, 1) or is_constant(one.upper, -1)):
                    yield Edit(one, ":")


def _bound(function: ast.FunctionDef) -> Iterator[ast.AST]:
    return (one for one in walked(function) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
