"""Results that get names, move into functions, or go through a dict or a record."""

from __future__ import annotations

import ast
from typing import ClassVar

from benchmarks.rewrites.base import COMPUTED, Rewrite, expression, load, read, store


class Named(Rewrite):
    """`return f(x)` becomes `made = f(x); return made`."""

    def visit_Return(self, node: ast.Return) -> ast.stmt | list[ast.stmt]:
        """Give what is returned a name."""
        if node.value is None or isinstance(node.value, ast.Name | ast.Constant):
            return node
        self.changed = True
        return [ast.Assign([store("made")], node.value), ast.Return(load("made"))]


class Outlined(Rewrite):
    """`x = f(y)` in a function becomes `def part(): return f(y)` and `x = part()`."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Move the statements of a function out of it."""
        node.body = [new for one in node.body for new in self._moved(one)]
        return node

    def _moved(self, node: ast.stmt) -> list[ast.stmt]:
        if isinstance(node, ast.FunctionDef):
            return [self.visit_FunctionDef(node)]
        if not isinstance(node, ast.Assign) or not isinstance(node.value, COMPUTED):
            return [node]
        bound = {one.id for target in node.targets for one in ast.walk(target) if isinstance(one, ast.Name)}
        if bound & read(node.value):
            return [node]
        self.changed = True
        name = self.fresh("part")
        part = ast.parse(f"def {name}():\n    return 0").body[0]
        assert isinstance(part, ast.FunctionDef)
        part.body = [ast.Return(node.value)]
        return [part, ast.Assign(node.targets, ast.Call(load(name), [], []))]


class Packed(Rewrite):
    """`x = f(y)` becomes `box = {"value": f(y)}` and `x = box["value"]`."""

    packing: ClassVar[str] = "{'value': it}"
    reading: ClassVar[str] = "it['value']"

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        """Let a value go through something else."""
        if not isinstance(node.value, COMPUTED) or not all(isinstance(one, ast.Name) for one in node.targets):
            return node
        self.changed = True
        name = self.fresh("box")
        box = ast.Assign([store(name)], expression(self.packing, it=node.value))
        return [box, ast.Assign(node.targets, expression(self.reading, it=load(name)))]


class Recorded(Packed):
    """Values go through a named tuple."""

    header = "import typing\nclass Box(typing.NamedTuple):\n    value: object\n    other: object = None"
    packing = "Box(value=it)"
    reading = "it.value"


class Classed(Packed):
    """Values go through a dataclass."""

    header = """
import dataclasses
@dataclasses.dataclass(frozen=True)
class Box:
    value: object
    other: object = None
"""
    packing = "Box(it)"
    reading = "it.value"
