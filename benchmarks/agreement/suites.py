"""Compares what source says of a package that it reads alone with what the package's own tests show.

    python -m benchmarks.agreement.suites PACKAGE_FOLDER SEEN.json [--reasons 20]
    python -m benchmarks.agreement.suites PACKAGE_FOLDER SEEN.json --python ENV/bin/python --seconds 120 tests

The first form compares with what is kept, the second runs the tests before. Source is given no test and no script, so
every function is entered with what it may be given at all. Besides the facts of expressions there are two more things
that a run refutes: code that source took to be never reached, and an error that is said to raise where nothing raised.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.agreement.__main__ import sources
from benchmarks.agreement.judge import Contradiction, Judge, Verdict
from benchmarks.agreement.said import Reader, read
from benchmarks.agreement.watch import is_test
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.solve import ordered, provide
from jaxaudit.discover import loader, shown_name
from jaxaudit.ir import Program
from jaxaudit.ir.basis import Basis
from jaxaudit.rules import base
from jaxaudit.rules.intent import judged
from jaxaudit.rules.registry import all_rules
from jaxaudit.spans import Span

Ran = Mapping[str, set[Span]]
"""The places that gave a value, by file as source names it."""


def compared(package: Path, seen: Mapping[str, Any]) -> tuple[Verdict, list[base.Obligation]]:
    """Compare what tests showed of a package with its source; return the errors of its audit too."""
    root = package.parent
    modules = [one for one in sorted(package.rglob("*.py")) if not is_test(".".join(one.relative_to(root).parts)[:-3])]
    shown = {path: shown_name(str(path)) for path in modules}
    files = sources(shown)
    reader = read(files, loader(files))
    names = {str(path): name for path, name in shown.items()}
    judge = Judge(replace(reader, reading=replace(reader.reading, program=_firm(reader.program))))
    found = judge.program(seen, names)
    ran: dict[str, set[Span]] = defaultdict(set)
    for path, name in names.items():
        for *place, _, answers in seen["types"]["seen"].get(path, ()):
            chains = (seen["types"]["chains"][chain] for _, chain in answers)
            span = Span(name, *place)
            if not all(judge.calls.unfollowed(chain, names, span) for chain in chains):
                ran[name].add(span)
    trees = {file.path: ast.parse(file.text) for file in files}
    scripts = {(path, node.lineno) for path, tree in trees.items() for node in tree.body if _is_script(node)}
    found.contradictions = [one for one in found.contradictions if one.span[:2] not in scripts]
    found.contradictions += unreached(reader, trees, ran)
    errors = errors_of(Facts(reader.program))
    found.contradictions += refuted(errors, ran)
    return found, errors


def _is_script(node: ast.stmt) -> bool:
    """Whether a statement asks for `__name__`: source reads every file as a script too."""
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)


def _firm(program: Program) -> Program:
    """Return a program without what no error rests on: assumptions about fields, and annotations nobody checks."""
    checked = {value: one for value, one in program.declared.items() if one.basis is not Basis.SAID}
    return replace(program, fields={}, declared=checked)


def unreached(reader: Reader, trees: Mapping[str, ast.Module], ran: Ran) -> Iterator[Contradiction]:
    """List statements that ran, of functions that source entered, and that it did not get to."""
    for path, tree in trees.items():
        known = {span[1:3] for span in reader.places if span.path == path}
        seen = {span[1:3] for span in ran[path]}
        for body in _bodies(tree):
            inside = [_expressions(one) for one in body]
            if any(not known.isdisjoint(one) for one in inside):
                for node, places in zip(body, inside, strict=True):
                    if known.isdisjoint(places) and not seen.isdisjoint(places):
                        span = Span(path, node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
                        yield Contradiction(span, "reached", "never", "run")


def _bodies(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    """Return the statements of each function, those of its blocks included and not those of functions inside."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield [one for one in _within(node) if isinstance(one, ast.stmt)]


def _expressions(node: ast.stmt) -> set[tuple[int, int]]:
    """Return where the expressions of a statement begin, without those of the statements in its blocks."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return set()
    inside = _within(node, blocks=False)
    return {(one.lineno, one.col_offset) for one in inside if isinstance(one, ast.expr)}


def _within(node: ast.AST, *, blocks: bool = True) -> Iterator[ast.AST]:
    for one in ast.iter_child_nodes(node):
        if isinstance(one, ast.stmt | ast.ExceptHandler) and not blocks:
            continue
        yield one
        if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from _within(one, blocks=blocks)


def errors_of(facts: Facts) -> list[base.Obligation]:
    """Let every rule judge the program; return the errors."""
    rules = list(all_rules())
    for need in ordered({need for rule in rules for need in rule.needs}):
        provide(facts, (need,))
    found = [one for rule in rules for one in judged(rule, facts)]
    return [one for one in found if one.verdict is base.Verdict.VIOLATED and one.severity is base.Severity.ERROR]


def refuted(errors: Sequence[base.Obligation], ran: Ran) -> Iterator[Contradiction]:
    """List errors that are said to raise at a place that gave a value."""
    for one in errors:
        if one.raises is base.Raises.TRACING and one.span in ran.get(one.span.path, ()):
            due = f" (due to {len(one.way)} calls)" if one.way else ""
            yield Contradiction(one.span, "raises", f"{one.rule}: {one.message}{due}", "run through")


def run(python: str, root: Path, package: str, out: Path, seconds: float, arguments: Sequence[str]) -> None:
    """Run tests in their own environment."""
    ours = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{root}:{ours}", "JAX_PLATFORMS": "cpu"}
    command = [python, "-m", "benchmarks.agreement.suite_child", str(out), str(seconds), package, *arguments]
    subprocess.run(command, cwd=root, env=environment, check=False)


def main() -> int:
    """Compare one package and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("package", type=Path)
    parser.add_argument("seen", type=Path)
    parser.add_argument("tests", nargs="*", help="what pytest is given")
    parser.add_argument("--python", help="of the environment to run the tests in")
    parser.add_argument("--seconds", type=float, default=120, help="of the processor, for all tests together")
    parser.add_argument("--reasons", type=int, default=12, help="how many reasons of unknown shapes to list")
    options = parser.parse_args()
    package, out = options.package.resolve(), options.seen.resolve()
    if options.python:
        run(options.python, package.parent, package.name, out, options.seconds, options.tests)
    seen = json.loads(out.read_text())
    found, errors = compared(package, seen)
    print(*found.contradictions, sep="\n")
    for one in errors:
        print(f"{one.span}: {one.rule}: {one.message}")
    print(f"{package.name}: {found}; {len(errors)} errors; tests {seen['types']['ended']}")
    print(*(f"{n:6} {why}" for why, n in found.reasons.most_common(options.reasons)), sep="\n")
    return 1 if found.contradictions else 0


if __name__ == "__main__":
    sys.exit(main())
