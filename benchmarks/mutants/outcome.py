"""What the audit makes of a mutant: found, open, proved or silent, and which facts were missing."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from benchmarks.mutants.draw import Mutant
from benchmarks.mutants.edits import File, walked
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.solve import solve
from jaxaudit.config import Config
from jaxaudit.ir import Op
from jaxaudit.observation.store import NOTHING, facts_of
from jaxaudit.outcome import Outcome
from jaxaudit.reports.model import Finding, Report
from jaxaudit.session import audit_text

KINDS = ("error", "warning", "unknown", "silent", "proved")
MISSING = ("never entered", "unresolved call", "rank unknown", "size unknown", "no obligation")


@dataclass(frozen=True, slots=True)
class Result:
    """What the audit makes of one mutant."""

    kind: str
    why: str = ""
    missing: tuple[str, ...] = ()


def judged(mutant: Mutant, *, observed: bool = False) -> Result:
    """Audit a file with and without a mistake, and with what tests of the file without it have shown."""
    before = _unchanged(mutant.folder, mutant.file.path, mutant.file.text, observed)
    outcome = _audited(mutant.folder, mutant.file.path, mutant.text, observed)
    after = outcome.report
    place, near = place_of(mutant), consequences_of(mutant)
    for kind, old, new in (("error", before.issues, after.issues), ("warning", before.warnings, after.warnings)):
        known = {(one.rule, one.line, one.message) for one in old}
        for one in new:
            if (one.rule, one.line, one.message) not in known and _leads_to(one, mutant.file.path, place, near):
                return Result(kind, f"{one.rule} at line {one.line}: {one.message}")
    family = mutant.operator.family
    proved = [one for one in after.verified if one.line in place and one.rule in mutant.operator.denies]
    unknown = [one for one in after.unknown if one.line in place and one.family == family]
    listed = bool(unknown) or any(one.line in place and one.family == family for one in after.verified)
    missing = tuple(_missing(outcome, mutant, place, listed=listed))
    if proved:
        return Result("proved", "; ".join(f"{one.rule}: {one.reason}" for one in proved), missing)
    if unknown:
        return Result("unknown", f"{unknown[0].rule}: {unknown[0].reason}", missing)
    return Result("silent", "", missing)


@lru_cache(maxsize=64)
def _audited(folder: Path, path: str, text: str, observed: bool) -> Outcome:
    """Audit one file as the disk has its neighbours."""
    os.chdir(folder)
    known, _ = (facts_of([folder / path]) if observed else NOTHING).read()
    return audit_text(path, text.encode(), Config(), known, sections=False)


@cache
def _unchanged(folder: Path, path: str, text: str, observed: bool) -> Report:
    return _audited(folder, path, text, observed).report


def _leads_to(one: Finding, path: str, place: set[int], near: set[int]) -> bool:
    """Whether a finding stands at the mistake, has a step of its reason there, or stands in what follows from it."""
    lines = {step.line for step in one.why if step.path == path}
    return (one.path == path and one.line in near) or not place.isdisjoint(lines)


def place_of(mutant: Mutant) -> set[int]:
    """Return the lines of the statement with the mistake; of a statement with a body those of the edit alone."""
    node = mutant.file.statement(mutant.edit.node)
    return _lines(mutant.edit.node if hasattr(node, "body") else node)


def consequences_of(mutant: Mutant) -> set[int]:
    """Return the lines of the same function whose statements read or bind what the mistake is about."""
    file, edit = mutant.file, mutant.edit
    function = file.function(edit.node)
    statement = file.statement(edit.node)
    inside = [one for one in walked(function or file.tree) if isinstance(one, ast.stmt) and not hasattr(one, "body")]
    names = {*_names(edit.node), *re.findall(r"[A-Za-z_]\w*", edit.replacement), *_bound(statement)}
    found, before = place_of(mutant), -1
    while len(found) != before:
        before = len(found)
        for one in inside:
            if not names.isdisjoint(_names(one)):
                found |= _lines(one)
                names |= _bound(one)
    return found | set(_users(file, function)) | {one.lineno for one in _parameters(function) if one.arg in names}


def _users(file: File, function: ast.FunctionDef | None) -> Iterator[int]:
    """Return the lines where a function is named, and its own first line: what it returns follows there."""
    if function is not None:
        yield function.lineno
        for one in file.nodes:
            if isinstance(one, ast.Name | ast.Attribute) and function.name in (
                getattr(one, "id", ""),
                getattr(one, "attr", ""),
            ):
                yield from _lines(file.statement(one)) if not hasattr(file.statement(one), "body") else (one.lineno,)


def _parameters(function: ast.FunctionDef | None) -> list[ast.arg]:
    return [] if function is None else [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in walked(node) if isinstance(one, ast.Name)}


def _bound(node: ast.AST) -> set[str]:
    return {one.id for one in walked(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def _lines(node: ast.AST) -> set[int]:
    line = getattr(node, "lineno", 0)
    return set(range(line, (getattr(node, "end_lineno", None) or line) + 1))


def _missing(outcome: Outcome, mutant: Mutant, place: set[int], *, listed: bool) -> Iterator[str]:
    """Return what was not known at the place of a mistake that was not found."""
    path = mutant.file.path
    ops = [op for op in outcome.program.walk() if op.span.path == path and op.span.line in place]
    if not ops:
        yield "never entered"
    if any(op.name in ("py.call_unknown", "py.unknown") for op in ops):
        yield "unresolved call"
    shapes = solve(outcome.program, {Shapes}).get(Shapes)
    dims = [shapes.of(one).dims for op in _on_arrays(ops) for one in op.operands]
    if any(one is None for one in dims):
        yield "rank unknown"
    elif any(not size.known for one in dims for size in one or ()):
        yield "size unknown"
    if not listed:
        yield "no obligation"


def _on_arrays(ops: list[Op]) -> Iterator[Op]:
    return (op for op in ops if op.name.startswith("array."))
