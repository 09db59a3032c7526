"""What the files of a project define and mention, by syntax alone: enough to tell who uses what, in milliseconds.

A definition is a function, class or variable of a module's top level; methods and inner functions belong to theirs.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from jaxaudit.changes.forms import Forms

TOP = "<module>"
"""The statements of a module's top level that define nothing."""


@dataclass(frozen=True, slots=True)
class Definition:
    """One thing that a module defines."""

    name: str
    statements: tuple[ast.stmt, ...]
    mentions: Mapping[str, int]
    """The names and attributes that it reads, and the line of the first."""

    @property
    def content(self) -> str:
        """All that it says, without comments, layout and docstrings."""
        return "\0".join(map(_said, self.statements))


@dataclass(frozen=True, slots=True)
class Contents:
    """What one file defines and imports."""

    definitions: Mapping[str, Definition]
    imports: Mapping[str, str]
    """The dotted name of what each imported name stands for, relative ones with their dots in front."""


def contents(forms: Forms) -> Contents:
    """Return what a file defines and imports; nothing where it cannot be parsed."""
    tree = forms.tree
    return Contents(_definitions(tree.body), dict(_imports(tree))) if tree is not None else Contents({}, {})


def modules(paths: Sequence[str]) -> Mapping[str, list[str]]:
    """Return the files that a dotted name may mean: by every tail of their path."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
        for start in range(len(parts)):
            found[".".join(parts[start:])].append(path)
    return found


def imported(dotted: str, known: Mapping[str, list[str]]) -> Iterator[tuple[str, str]]:
    """Return the files that an imported name may come from, each with the name that it has there (empty for itself)."""
    bare = dotted.lstrip(".")
    yield from ((path, "") for path in known.get(bare, ()))
    module, _, name = bare.rpartition(".")
    yield from ((path, name) for path in known.get(module, ()))


def _definitions(body: Sequence[ast.stmt]) -> dict[str, Definition]:
    named: dict[str, list[ast.stmt]] = defaultdict(list)
    for statement in body:
        for name in _defined(statement) or [TOP]:
            named[name].append(statement)
    return {name: _definition(name, statements) for name, statements in named.items()}


def _defined(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return [statement.name]
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            return [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
        case ast.If() | ast.Try() | ast.With():
            inner = [child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.stmt)]
            return [name for child in inner for name in _defined(child)]
        case ast.Import() | ast.ImportFrom():
            return [one.asname or one.name.partition(".")[0] for one in statement.names]
    return []


def _definition(name: str, statements: Sequence[ast.stmt]) -> Definition:
    mentions: dict[str, int] = {}
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                mentions.setdefault(node.id, node.lineno)
            elif isinstance(node, ast.Attribute):
                mentions.setdefault(node.attr, node.lineno)
    return Definition(name, tuple(statements), mentions)


def _said(statement: ast.stmt) -> str:
    text = ast.dump(statement)
    for node in ast.walk(statement):
        if _is_text(node):
            text = text.replace(ast.dump(node), "Pass()", 1)
    return text


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                yield one.asname or one.name.partition(".")[0], one.name if one.asname else one.name.partition(".")[0]
                if not one.asname and "." in one.name:
                    yield one.name, one.name
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            for one in node.names:
                yield one.asname or one.name, f"{base}.{one.name}" if node.module else f"{base}{one.name}"
