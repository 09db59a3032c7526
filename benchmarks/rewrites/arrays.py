"""Which expressions of a program surely are arrays, by syntax alone: what may be a number or a list stays as it is."""

from __future__ import annotations

import ast
from collections import defaultdict

from benchmarks.rewrites.base import Rewrite

REDUCTIONS = ("sum", "mean", "max", "min", "prod", "std", "var", "any", "all", "argmax", "argmin", "cumsum")
"""Functions that are methods of arrays too."""
_UNARY = "exp log sqrt tanh square".split()
_ELEMENTWISE = "sin cos abs where maximum minimum clip floor sign multiply add subtract".split()
_MADE = "zeros ones arange linspace array asarray zeros_like ones_like full eye stack concatenate".split()
_PRODUCTS = "dot matmul einsum".split()
_MOVED = "reshape transpose squeeze expand_dims broadcast_to moveaxis swapaxes pad roll tile".split()
_DRAWN = "normal uniform bernoulli categorical randint truncated_normal gumbel".split()
_ARRAYS = {
    *(f"jax.numpy.{name}" for name in (*REDUCTIONS, *_UNARY, *_ELEMENTWISE, *_MADE, *_PRODUCTS, *_MOVED)),
    *(f"jax.random.{name}" for name in _DRAWN),
    *(f"jax.nn.{name}" for name in ("relu", "softmax", "log_softmax", "sigmoid", "gelu", "tanh", "one_hot")),
}
_TAKES_ARRAY = {f"jax.numpy.{name}" for name in (*REDUCTIONS, *_UNARY, "reshape", "transpose")}


class Arrays:
    """The names of a program that are arrays wherever they are bound."""

    def __init__(self, rewrite: Rewrite) -> None:
        self.rewrite = rewrite
        self.values: dict[str, list[ast.expr | None]] = defaultdict(list)
        self.used: set[str] = set()
        for node in ast.walk(rewrite.tree):
            self._note(node)
        self.asked: set[str] = set()

    def _note(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    for one in ast.walk(target):
                        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
                            self.values[one.id].append(value if one is target else None)
            case ast.For(target=target) | ast.comprehension(target=target) | ast.NamedExpr(target=target):
                for one in ast.walk(target):
                    if isinstance(one, ast.Name):
                        self.values[one.id].append(None)
            case ast.arg(arg=name):
                self.values[name].append(None)
            case ast.Call(func=func, args=[ast.Name(id=name), *_]) if self.rewrite.path(func) in _TAKES_ARRAY:
                self.used.add(name)
            case ast.Attribute(value=ast.Name(id=name), attr="at" | "astype"):
                self.used.add(name)

    def holds(self, node: ast.expr) -> bool:
        """Whether an expression surely is an array."""
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in (*REDUCTIONS, "reshape", "astype"):
                return self.rewrite.path(node.func) in _ARRAYS or self.holds(value)
            case ast.Call(func=func):
                return self.rewrite.path(func) in _ARRAYS
            case ast.BinOp(left=left, right=right):
                return self.holds(left) or self.holds(right)
            case ast.UnaryOp(operand=operand):
                return self.holds(operand) and not isinstance(node.op, ast.Not)
            case ast.Subscript(value=value) | ast.Attribute(value=value, attr="T"):
                return self.holds(value)
            case ast.Name(id=name):
                return self._is_array(name)
        return False

    def _is_array(self, name: str) -> bool:
        if name in self.asked:
            return True
        values = self.values.get(name)
        if not values:
            return False
        self.asked.add(name)
        found = all(self.holds(one) if one is not None else name in self.used for one in values)
        self.asked.discard(name)
        return found


class OfArrays(Rewrite):
    """A rewrite of what is done with arrays."""

    header = "import jax\nimport jax.numpy as jnp"

    def __init__(self, tree: ast.Module) -> None:
        super().__init__(tree)
        self.arrays = Arrays(self)
