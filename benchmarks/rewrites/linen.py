"""Modules of flax in other words."""

from __future__ import annotations

import ast

from benchmarks.rewrites.base import Rewrite, expression, read


class Setup(Rewrite):
    """Layers that a compact `__call__` makes, `nn.Dense(4)(x)`, are made in `setup`."""

    same_numbers = False
    """Parameters have other names, so other keys."""

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        """Move the layers of a module."""
        call = next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__call__"), None)
        if call is None or not any(self.path(one) == "flax.linen.compact" for one in call.decorator_list):
            return node
        inner = list(ast.walk(call))
        if any(isinstance(one, ast.For | ast.While | ast.comprehension | ast.If) for one in inner):
            return node
        if any(isinstance(one, ast.Attribute) and one.attr == "param" for one in inner):
            return node
        moving = _Layers(self)
        moving.visit(call)
        if not moving.made:
            return node
        self.changed = True
        call.decorator_list = []
        setup = ast.parse("def setup(self):\n    pass").body[0]
        assert isinstance(setup, ast.FunctionDef)
        setup.body = moving.made
        node.body.insert(node.body.index(call), setup)
        return node


class _Layers(ast.NodeTransformer):
    def __init__(self, rewrite: Rewrite) -> None:
        self.rewrite = rewrite
        self.made: list[ast.stmt] = []

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Name a layer that is called where it is made."""
        self.generic_visit(node)
        match node.func:
            case ast.Call(func=func) as layer if self.rewrite.path(func).startswith("flax.linen.") and (
                read(layer) <= {"self", *self.rewrite.imports}
            ):
                name = f"self.layer_{len(self.made)}"
                self.made.append(ast.Assign([expression(name)], layer))
                target = self.made[-1].targets[0]  # type: ignore[attr-defined]
                target.ctx = ast.Store()
                node.func = expression(name)
        return node
