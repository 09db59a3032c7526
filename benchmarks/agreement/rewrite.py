"""Rewrites Python source so that each expression shows its value to a watcher, and changes nothing else.

`x @ w + b` becomes `SEEN(7, SEEN(5, SEEN(3, x) @ SEEN(4, w)) + SEEN(6, b))`, where SEEN notes the value and gives it
back. Frames, lines and names stay what they were. Left alone are annotations, decorators, base classes, patterns, text,
and what is called, unless it is asked for: `f` in `f(x)` is no data.
"""

from __future__ import annotations

import ast
from types import CodeType

SEEN = "__jaxaudit_seen__"
"""The watcher's name among Python's builtins."""

Place = tuple[int, int, int, int]
"""Line, column, last line, last column of an expression, as `ast` counts them."""

_SHOWN = (
    ast.Name,
    ast.Call,
    ast.Attribute,
    ast.Subscript,
    ast.BinOp,
    ast.UnaryOp,
    ast.BoolOp,
    ast.Compare,
    ast.IfExp,
    ast.Tuple,
    ast.List,
    ast.Dict,
)
_ALONE = ("decorator_list", "annotation", "returns", "bases", "keywords", "type_params", "pattern")
"""Fields whose expressions are not looked at; `keywords` are those of a class."""


def rewritten(text: str, path: str, number: int, *, callees: bool = False) -> tuple[CodeType, list[Place]]:
    """Compile source so that the value of its i-th place is shown as `SEEN(number, i, value)`."""
    rewriter = _Rewriter(number, callees)
    tree = rewriter.visit(ast.parse(text, path))
    return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True), rewriter.places


class _Rewriter(ast.NodeTransformer):
    def __init__(self, number: int, callees: bool) -> None:
        self.number, self.callees = number, callees
        self.places: list[Place] = []

    def visit(self, node: ast.AST) -> ast.AST:
        """Rewrite what is inside, then the node itself."""
        if isinstance(node, ast.JoinedStr | ast.pattern):
            return node
        alone = {name: getattr(node, name) for name in _ALONE if hasattr(node, name)}
        if isinstance(node, ast.Call):
            alone.pop("keywords", None)
        for name in alone:
            setattr(node, name, [] if isinstance(alone[name], list) else None)
        self.generic_visit(node)
        for name, value in alone.items():
            setattr(node, name, value)
        return self._shown(node) if _is_data(node) else node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Leave alone what is called, but look at the object whose method it is; a slice is not an expression."""
        if isinstance(node, ast.Call):
            function = node.func
            node.args = [self.visit(one) for one in node.args]  # type: ignore[misc]
            for keyword in node.keywords:
                keyword.value = self.visit(keyword.value)  # type: ignore[assignment]
            if self.callees:
                node.func = self.visit(function)  # type: ignore[assignment]
            elif isinstance(function, ast.Attribute):
                function.value = self.visit(function.value)  # type: ignore[assignment]
            elif not isinstance(function, ast.Name):
                node.func = self.visit(function)  # type: ignore[assignment]
            return node
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
            node.value = self.visit(node.value)  # type: ignore[assignment]
            node.slice.elts = [self.visit(one) for one in node.slice.elts]  # type: ignore[misc]
            return node
        return super().generic_visit(node)

    def _shown(self, node: ast.expr) -> ast.expr:
        place = (node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
        self.places.append(place)
        numbers = [ast.Constant(self.number), ast.Constant(len(self.places) - 1)]
        return ast.copy_location(ast.Call(ast.Name(SEEN, ast.Load()), [*numbers, node], []), node)


def _is_data(node: ast.AST) -> bool:
    if not isinstance(node, _SHOWN) or (isinstance(node, ast.Name) and node.id == "__class__"):
        return False
    starred = isinstance(node, ast.Tuple | ast.List) and any(isinstance(one, ast.Starred) for one in node.elts)
    return isinstance(getattr(node, "ctx", None) or ast.Load(), ast.Load) and not starred
