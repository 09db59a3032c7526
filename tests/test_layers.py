"""Holds the house style: sizes, docstrings, and what may be imported (the arrows are import-linter's)."""

import ast
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "jaxaudit"
MODULES = sorted(PACKAGE.rglob("*.py"))
TABLES = {"ir/ops.py"}
"""Files that are one table; also those in `libraries`."""

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def name(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def is_table(path: Path) -> bool:
    return name(path) in TABLES or name(path).startswith("libraries/")


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines of a function without decorators and docstring."""
    total = node.end_lineno - node.lineno + 1
    if ast.get_docstring(node) is not None:
        total -= node.body[0].end_lineno - node.body[0].lineno + 1
    return total


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_no_file_is_longer_than_500_lines(path):
    lines = len(path.read_text().splitlines())
    assert lines <= 500 or is_table(path), f"{name(path)} has {lines} lines"


def test_no_file_of_tests_of_rules_is_longer_than_500_lines():
    lengths = {path.name: len(path.read_text().splitlines()) for path in (ROOT / "tests" / "rules").rglob("*.py")}
    assert [f"{file}: {lines}" for file, lines in lengths.items() if lines > 500] == []


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_no_function_is_longer_than_80_lines(path):
    long = [f"{node.name}: {length(node)}" for node in functions(path) if length(node) > 80]
    assert long == []


def test_most_functions_are_short():
    lengths = sorted(length(node) for path in MODULES for node in functions(path))
    assert statistics.median(lengths) <= 10
    assert lengths[len(lengths) * 9 // 10] <= 35


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_modules_and_public_names_have_docstrings(path):
    missing = [what for what, text in documented(path) if not text]
    assert missing == []


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_the_first_line_of_a_docstring_is_a_sentence(path):
    ragged = [what for what, text in documented(path) if text and not text.splitlines()[0].endswith((".", ":", "?"))]
    assert ragged == []


def documented(path: Path) -> Iterator[tuple[str, str | None]]:
    """Return every place that needs a docstring, with the docstring it has."""
    tree = ast.parse(path.read_text())
    yield "module", ast.get_docstring(tree)
    yield from _public(tree.body, "")


def _public(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, str | None]]:
    for node in body:
        if isinstance(node, Definition) and not node.name.startswith("_"):
            yield prefix + node.name, ast.get_docstring(node)
            if isinstance(node, ast.ClassDef):
                yield from _public(node.body, f"{node.name}.")


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_only_rules_inherit(path):
    allowed = {
        "ABC",
        "Rule",
        "Enum",
        "NamedTuple",
        "Protocol",
        "Exception",
        "BaseException",
        "ClickException",
        "Generic",
        "TypedDict",
    }
    # Exceptions, enumerations, protocols and syntax visitors are how Python spells these things, no hierarchies of ours.
    allowed |= {"str", "int", "NodeVisitor", "IntEnum", "StrEnum", "Flag", "RuntimeError", "ValueError"}
    # The table of attributes is a part of `Op`, apart for its length.
    allowed |= {"Attributes"}
    classes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)]
    strange = [node.name for node in classes if not {_last(base) for base in node.bases} <= allowed]
    assert strange == []


def _last(base: ast.expr) -> str:
    base = base.value if isinstance(base, ast.Subscript) else base
    return base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
