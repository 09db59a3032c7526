"""All names that a program chooses become meaningless ones."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from benchmarks.rewrites.base import Rewrite


class Renamed(Rewrite):
    """Variables, parameters, functions, classes and fields are called `v1`, `v2` and so on.

    What a library or text names stays: keywords of its calls, its attributes, methods that it may call.
    """

    only_errors = True
    stem: ClassVar[str] = "v"

    def called(self, name: str, number: int) -> str:
        """Return what a name becomes."""
        return f"{self.stem}{number}"

    def __init__(self, tree: ast.Module) -> None:
        super().__init__(tree)
        nodes = list(ast.walk(tree))
        classes = [one for one in nodes if isinstance(one, ast.ClassDef)]
        plain = {one.name for one in nodes if isinstance(one, ast.FunctionDef)}
        methods = {one.name for cls in classes for one in cls.body if isinstance(one, ast.FunctionDef)}
        fields = {name for cls in classes for name in _fields(cls)} | _set_on_self(nodes)
        bound = {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        bound |= {one.arg for one in nodes if isinstance(one, ast.arg)} | plain | {one.name for one in classes}
        self.own = plain | {one.name for one in classes}
        said = {name for one in nodes for name in self._said(one)} | methods | set(self.imports)
        free = [name for name in (*sorted(bound), *sorted(fields - bound)) if name not in said]
        free = [name for name in free if not name.startswith(("_", "test")) and name not in {"self", "cls"}]
        self.names = {name: self.called(name, number) for number, name in enumerate(free)}
        self.fields = fields & self.names.keys()
        self.changed = bool(self.names)

    def _said(self, node: ast.AST) -> Iterator[str]:
        """Go through names that are said in another way than as a variable, or that someone else has chosen."""
        match node:
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                yield from names
            case ast.Constant(value=str(text)):
                yield text
            case ast.Call(func=func, keywords=keywords):
                if not (isinstance(func, ast.Name) and func.id in self.own):
                    yield from (one.arg for one in keywords if one.arg)
            case ast.Attribute(attr=name, value=value) if self.path(value) or not isinstance(value, ast.Name):
                yield name

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """Rename a variable."""
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        """Rename a parameter."""
        node.arg = self.names.get(node.arg, node.arg)
        self.generic_visit(node)
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        """Rename an argument of a function of the program: that of a library is not among the names."""
        node.arg = self.names.get(node.arg, node.arg) if node.arg else None
        self.generic_visit(node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        """Rename a field."""
        node.attr = self.names[node.attr] if node.attr in self.fields else node.attr
        self.generic_visit(node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Rename a function."""
        node.name = self.names.get(node.name, node.name)
        self.generic_visit(node)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        """Rename a class."""
        node.name = self.names.get(node.name, node.name)
        self.generic_visit(node)
        return node


def _fields(node: ast.ClassDef) -> Iterator[str]:
    for one in node.body:
        targets = one.targets if isinstance(one, ast.Assign) else [one.target] if isinstance(one, ast.AnnAssign) else []
        yield from (name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))


def _set_on_self(nodes: list[ast.AST]) -> set[str]:
    return {
        one.attr
        for one in nodes
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store) and isinstance(one.value, ast.Name)
    }
