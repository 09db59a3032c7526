"""Operators as functions, functions as methods, and back."""

from __future__ import annotations

import ast

from benchmarks.rewrites.arrays import REDUCTIONS, OfArrays
from benchmarks.rewrites.base import expression

_FUNCTIONS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.MatMult: "matmul",
    ast.Pow: "power",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder",
}
_OPERATORS = {f"jax.numpy.{name}": operator for operator, name in _FUNCTIONS.items()} | {"jax.numpy.dot": ast.MatMult}


class Spelled(OfArrays):
    """`a * b` becomes `jnp.multiply(a, b)`."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Write an operator as a function."""
        is_array = self.arrays.holds(node)
        self.generic_visit(node)
        if not is_array or type(node.op) not in _FUNCTIONS:
            return node
        self.changed = True
        return expression(f"jnp.{_FUNCTIONS[type(node.op)]}(left, right)", left=node.left, right=node.right)


class Operators(OfArrays):
    """`jnp.multiply(a, b)` becomes `a * b`."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Write a function as an operator."""
        operator = _OPERATORS.get(self.path(node.func))
        is_array = len(node.args) == 2 and any(map(self.arrays.holds, node.args))
        self.generic_visit(node)
        if operator is None or not is_array or node.keywords:
            return node
        self.changed = True
        return ast.BinOp(node.args[0], operator(), node.args[1])


class Methods(OfArrays):
    """`jnp.sum(x, axis=0)` becomes `x.sum(axis=0)`."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Write a function as a method."""
        library, _, name = self.path(node.func).rpartition(".")
        is_array = library == "jax.numpy" and name in (*REDUCTIONS, "reshape") and bool(node.args)
        is_array = is_array and self.arrays.holds(node.args[0])
        self.generic_visit(node)
        if not is_array:
            return node
        self.changed = True
        return ast.Call(ast.Attribute(node.args[0], name, ast.Load()), node.args[1:], node.keywords)


class Free(OfArrays):
    """`x.sum(axis=0)` becomes `jnp.sum(x, axis=0)`, and `x.reshape(2, -1)` becomes `jnp.reshape(x, (2, -1))`."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Write a method as a function."""
        func = node.func
        is_method = isinstance(func, ast.Attribute) and func.attr in (*REDUCTIONS, "reshape") and not self.path(func)
        is_array = is_method and self.arrays.holds(func.value)
        self.generic_visit(node)
        if not is_array or not isinstance(node.func, ast.Attribute):
            return node
        self.changed = True
        args = node.args
        one_size = len(args) == 1 and isinstance(args[0], ast.Constant | ast.UnaryOp)
        if node.func.attr == "reshape" and (len(args) > 1 or one_size):
            args = [ast.Tuple(list(args), ast.Load())]
        return ast.Call(expression(f"jnp.{node.func.attr}"), [node.func.value, *args], node.keywords)


class Select(OfArrays):
    """`jnp.where(c, a, b)` becomes `jnp.select([c], [a], b)`, and `lax.select` becomes `jnp.where`."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Write a choice in another way."""
        self.generic_visit(node)
        path = self.path(node.func)
        if path not in {"jax.numpy.where", "jax.lax.select"} or len(node.args) != 3:
            return node
        self.changed = True
        test, yes, no = node.args
        text = "jnp.select([test], [yes], no)" if path == "jax.numpy.where" else "jnp.where(test, yes, no)"
        return expression(text, test=test, yes=yes, no=no)


class Tree(OfArrays):
    """`a * b` becomes `jax.tree.map(lambda x, y: x * y, {"leaf": a}, {"leaf": b})["leaf"]`."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Let an operator work on trees of one leaf."""
        is_array = self.arrays.holds(node.left) and self.arrays.holds(node.right)
        self.generic_visit(node)
        if not is_array:
            return node
        self.changed = True
        inner = expression("lambda one, two: one + two")
        assert isinstance(inner, ast.Lambda)
        assert isinstance(inner.body, ast.BinOp)
        inner.body.op = node.op
        text = "jax.tree.map(function, {'leaf': left}, {'leaf': right})['leaf']"
        return expression(text, function=inner, left=node.left, right=node.right)
