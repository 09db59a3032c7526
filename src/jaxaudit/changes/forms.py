"""Forms of code: what an expression or statement is, whatever its names are and wherever it stands.

Names that the project binds become numbers in the order in which a form mentions them; names of libraries and
attributes stay. Annotations, comments and layout are no part of a form, and neither is the body of a statement.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from jaxaudit.reports.identity import Outline, enclosing, outline

_BODIES = frozenset({"body", "orelse", "finalbody", "handlers", "cases"})
_SAID = frozenset({"annotation", "returns", "type_comment", "type_params", "ctx", "kind", "simple"})


@dataclass(frozen=True, slots=True)
class Place:
    """What stands at one place of a file, in words that outlive edits elsewhere."""

    function: str
    """The qualified name of the function or class around it."""
    statement: str
    expression: str
    """The form of the outermost expression that starts there; that of the statement where none does."""

    @property
    def hands_on(self) -> bool:
        """Whether a function of the project is called there, which has its own account of what it is given."""
        return self.expression.startswith("Call(%")

    @property
    def whole(self) -> tuple[str, str]:
        """What stands there, in whatever function."""
        return self.statement, self.expression


@dataclass(eq=False)
class Forms:
    """The forms of one file; of one that cannot be parsed, its lines."""

    text: str
    modules: Collection[str] = frozenset()
    """The names of the project's own modules: what is imported from them may be renamed."""
    _known: dict[tuple[int, int], Place] = field(default_factory=dict)

    @cached_property
    def lines(self) -> list[str]:
        """The text by line, without layout."""
        return [" ".join(line.split()) for line in self.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]

    @cached_property
    def outline(self) -> Outline:
        """The functions and classes of the file."""
        return outline(self.text)

    @cached_property
    def tree(self) -> ast.Module | None:
        """The syntax tree, None where there is none."""
        try:
            return ast.parse(self.text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    @cached_property
    def bound(self) -> frozenset[str]:
        """The names that stand for the project's own things."""
        return frozenset(_bound(self.tree, self.modules)) if self.tree is not None else frozenset()

    @cached_property
    def nodes(self) -> dict[tuple[int, int], tuple[ast.AST, ast.stmt]]:
        """The outermost node that starts at each line and column, with the statement around it."""
        found: dict[tuple[int, int], tuple[ast.AST, ast.stmt]] = {}
        for statement in _statements(self.tree) if self.tree is not None else ():
            for node in _parts(statement):
                line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
                found.setdefault((line, column), (node, statement))
        return found

    @cached_property
    def starts(self) -> dict[int, ast.stmt]:
        """The innermost statement whose own lines have each line."""
        found: dict[int, ast.stmt] = {}
        for statement in _statements(self.tree) if self.tree is not None else ():
            for line in range(statement.lineno, (statement.end_lineno or statement.lineno) + 1):
                found[line] = statement
        return found

    def at(self, line: int, column: int) -> Place:
        """Return what stands at a line and column, both 1-based as reports have them."""
        if (line, column) not in self._known:
            self._known[line, column] = self._place(line, column)
        return self._known[line, column]

    def _place(self, line: int, column: int) -> Place:
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        raw = self.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[line - 1] if text else ""
        start = len(raw[: max(column - 1, 0)].encode("utf-8", "surrogatepass"))
        around = enclosing(self.outline, line)
        node, statement = self.nodes.get((line, start), (None, self.starts.get(line)))
        if statement is None:
            return Place(around, text, text)
        whole = form(statement, self.bound)
        inner = node.value if isinstance(node, ast.Expr) else node
        return Place(around, whole, whole if inner is None else form(inner, self.bound))


def form(node: ast.AST, bound: Collection[str]) -> str:
    """Return the form of a piece of syntax."""
    numbers: dict[str, int] = {}

    def write(one: object) -> str:
        match one:
            case ast.Name(id=name) | ast.arg(arg=name):
                return f"%{numbers.setdefault(name, len(numbers))}" if name in bound else name
            case ast.Constant(value=value):
                return repr(value)
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in bound and attr in bound:
                return f"({write(one.value)}.%{numbers.setdefault(attr, len(numbers))})"
            case ast.AnnAssign(target=target, value=value) if value is not None:
                return f"Assign([{write(target)}] {write(value)})"
            case ast.AST():
                fields = (
                    (name, value)
                    for name, value in ast.iter_fields(one)
                    if name not in _SAID and not _left_out(one, name)
                )
                return f"{type(one).__name__}({' '.join(write(value) for _, value in fields)})"
            case list():
                return f"[{' '.join(map(write, one))}]"
            case _:
                return repr(one)

    return write(node)


def _left_out(node: ast.AST, name: str) -> bool:
    """Whether a field is the body of a statement, the name of a definition, or an annotation."""
    named = name == "name" and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    return named or name in _SAID or (name in _BODIES and isinstance(node, ast.stmt))


def _statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """Return all statements, outer ones before those inside them."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.stmt):
            yield child
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from _statements(child)


def _parts(statement: ast.stmt) -> Iterator[ast.AST]:
    """Return a statement and the syntax of its own, outer nodes before inner ones, without statements inside."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        inner = [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt)]
        waiting.extend(reversed(inner))


def _bound(tree: ast.Module, modules: Collection[str]) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.ImportFrom(level=level, module=module, names=names) if level or _first(module) in modules:
                yield from (one.asname or one.name for one in names)
            case ast.Import(names=names):
                yield from (one.asname or _first(one.name) for one in names if _first(one.name) in modules)


def _first(module: str | None) -> str:
    return (module or "").partition(".")[0]


def module_names(paths: Sequence[str]) -> frozenset[str]:
    """Return the names that files of a project may be imported by: their own and those of the folders around them."""
    return frozenset(part.removesuffix(".py") for path in paths for part in path.split("/"))
