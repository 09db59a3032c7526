"""Helpers for tests of the source front end: read snippets, list ops, and check that the IR is sound."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent

from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.facts import shown
from jaxaudit.analyses.solve import solve
from jaxaudit.frontends.base import Reading, SourceFile
from jaxaudit.frontends.source.read import read_source
from jaxaudit.ir import Op
from jaxaudit.ir.check import check_program, unread_attributes


def read(code: str | Mapping[str, str], unaudited: Mapping[str, str] | None = None) -> Reading:
    """Read one snippet, or several files by path; `unaudited` files are there to be imported."""
    files = {"main.py": code} if isinstance(code, str) else code
    others = unaudited or {}

    def load(path: str) -> SourceFile | None:
        return SourceFile(path, dedent(others[path]), audited=False) if path in others else None

    reading = read_source([SourceFile(path, dedent(text)) for path, text in files.items()], load)
    assert check_program(reading.program) == []
    assert unread_attributes(reading.program) == []
    return reading


def ops(code: str | Mapping[str, str], name: str, unaudited: Mapping[str, str] | None = None) -> list[Op]:
    """Return the ops of one name, in program order."""
    return [op for op in read(code, unaudited).program.walk() if op.name == name]


def functions(code: str | Mapping[str, str], name: str = "key.draw") -> list[str]:
    """Return the library functions that ops of one name stand for."""
    return [op.qualified for op in ops(code, name)]


def unknown_reasons(code: str | Mapping[str, str]) -> list[str]:
    """Return why calls could not be followed."""
    return [op.reason for op in ops(code, "py.call_unknown")]


def shapes(code: str | Mapping[str, str], name: str = "result") -> list[str]:
    """Return the shapes of what is bound to a name, each once, in program order; `?` where nothing is known."""
    program = read(code).program
    facts = solve(program, {Shapes}).get(Shapes)
    known = [facts.of(value).dims for op in program.walk() for value in op.results if value.name == name]
    return list(dict.fromkeys("?" if dims is None else " ".join(map(shown, dims)) for dims in known))
