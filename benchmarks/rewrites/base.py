"""What a rewrite is: a walk over a syntax tree that changes words and keeps the meaning."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

COMPUTED = (ast.Call, ast.BinOp)


class Rewrite(ast.NodeTransformer):
    """One way to write a program in other words. `changed` says whether it found something to write otherwise."""

    header: ClassVar[str] = ""
    """Statements that the new words need, put below the imports of a program that changed."""
    only_errors: ClassVar[bool] = False
    """Whether only errors must survive: what is a warning may rest on what goes."""

    unlike: ClassVar[frozenset[str]] = frozenset()
    """Rules and families that are about the words that go: their findings need not survive."""
    same_numbers: ClassVar[bool] = True
    """Whether the program computes the same numbers; others only of the same kind."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.imports = imports(tree)
        self.changed = False
        self.count = 0

    def fresh(self, name: str) -> str:
        """Return a name that nothing else has."""
        self.count += 1
        return f"{name}_{self.count}"

    def path(self, node: ast.AST) -> str:
        """Return the full name of what an expression names in a library, and nothing for all else."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.imports:
            return ""
        return ".".join([self.imports[node.id], *reversed(parts)])

    def files(self) -> dict[str, str] | None:
        """Return the program in other words, by file; None where there is nothing to write otherwise."""
        tree = self.visit(self.tree)
        if not self.changed:
            return None
        imported = [at for at, one in enumerate(tree.body) if isinstance(one, ast.Import | ast.ImportFrom)]
        at = max(imported, default=-1) + 1
        tree.body[at:at] = ast.parse(self.header).body
        return {"example.py": ast.unparse(ast.fix_missing_locations(tree))}


def imports(tree: ast.Module) -> dict[str, str]:
    """Return what each imported name stands for."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                package = one.name.partition(".")[0]
                found[one.asname or package] = one.name if one.asname else package
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    return found


def load(name: str) -> ast.Name:
    """Return an expression that reads a name."""
    return ast.Name(name, ast.Load())


def store(name: str) -> ast.Name:
    """Return a target that binds a name."""
    return ast.Name(name, ast.Store())


def expression(text: str, **parts: ast.expr) -> ast.expr:
    """Return the expression that a text stands for, with parts put in for some of its names."""
    return _Filled(parts).visit(ast.parse(text, mode="eval").body)


class _Filled(ast.NodeTransformer):
    def __init__(self, parts: dict[str, ast.expr]) -> None:
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Put a part in for its name."""
        return self.parts.get(node.id, node)


def read(node: ast.AST) -> set[str]:
    """Return the names that something reads."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}


def parameters(node: ast.FunctionDef | ast.Lambda) -> list[str]:
    """Return the names of all parameters."""
    args = node.args
    some = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    return [one.arg for one in some if one is not None]


def is_plain(node: ast.FunctionDef) -> bool:
    """Whether all parameters are plain ones, given by their place and without a default."""
    args = node.args
    return not (args.kwonlyargs or args.vararg or args.kwarg or args.defaults or args.posonlyargs)


def within(node: ast.FunctionDef) -> Iterator[ast.AST]:
    """Go through what belongs to a function itself, and not to functions inside it; their names are included."""
    stack: list[ast.AST] = list(node.body)
    while stack:
        one = stack.pop()
        yield one
        if not isinstance(one, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            stack += ast.iter_child_nodes(one)


def bindings(node: ast.FunctionDef) -> list[str]:
    """Return the names that a function binds, as often as it binds them."""
    found = parameters(node)
    for one in within(node):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            found.append(one.id)
        if isinstance(one, ast.FunctionDef | ast.ClassDef):
            found.append(one.name)
    return found
