"""Axes, products and elementwise functions of arrays in other words."""

from __future__ import annotations

import ast
from typing import ClassVar

from benchmarks.rewrites.arrays import REDUCTIONS, OfArrays
from benchmarks.rewrites.base import Rewrite, expression
from benchmarks.rewrites.idioms import _AXIS_SECOND

_PRODUCTS = {
    "ij,jk->ik": "one @ two",
    "ij,j->i": "one @ two",
    "i,ij->j": "one @ two",
    "i,i->": "one @ two",
    "hij,hjk->hik": "one @ two",
    "ghij,ghjk->ghik": "one @ two",
    "hi,hi->h": "jnp.sum(one * two, axis=-1)",
    "i,j->ij": "one[:, None] * two[None, :]",
    "ij,kj->ik": "one @ jnp.swapaxes(two, -1, -2)",
    "hij,hkj->hik": "one @ jnp.swapaxes(two, -1, -2)",
    "ghij,ghkj->ghik": "one @ jnp.swapaxes(two, -1, -2)",
    "hij,jk->hik": "one @ two",
}


def _canonical(text: str) -> dict[str, str]:
    """Return, for the pattern of each product, the letters of one that is written otherwise."""
    found = {}
    for pattern, meaning in _PRODUCTS.items():
        if len(pattern) == len(text) and all((a in ",->") == (b in ",->") for a, b in zip(pattern, text, strict=True)):
            pairs = {(a, b) for a, b in zip(pattern, text, strict=True) if a not in ",->"}
            if len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs}):
                found[pattern] = meaning
    return found


class Contracted(OfArrays):
    """`jnp.einsum("ij,jk->ik", a, b)` becomes `a @ b`."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Write a product with operators."""
        self.generic_visit(node)
        match node:
            case ast.Call(args=[ast.Constant(value=str(text)), one, two], keywords=[]) if (
                self.path(node.func) == "jax.numpy.einsum"
            ):
                for meaning in _canonical(text.replace(" ", "")).values():
                    self.changed = True
                    return expression(meaning, one=one, two=two)
        return node


class Summed(OfArrays):
    """`jnp.sum(a * b, axis=-1)` becomes `jnp.einsum("...i,...i->...", a, b)`, where both surely are arrays."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Write a sum of products as one."""
        match node:
            case ast.Call(
                args=[ast.BinOp(op=ast.Mult(), left=one, right=two)],
                keywords=[ast.keyword(arg="axis", value=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)))],
            ) if self.path(node.func) == "jax.numpy.sum" and self.arrays.holds(one) and self.arrays.holds(two):
                self.changed = True
                return expression("jnp.einsum('...i,...i->...', one, two)", one=one, two=two)
        self.generic_visit(node)
        return node


class Counting(OfArrays):
    """`jnp.sum(x, axis=-1)` becomes `jnp.sum(x, axis=x.ndim - 1)`, and `axis=0` becomes `axis=-x.ndim`."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Count an axis from the other end."""
        self.generic_visit(node)
        library, _, name = self.path(node.func).rpartition(".")
        if library != "jax.numpy" or name not in REDUCTIONS or not isinstance(node.args[:1], list) or not node.args:
            return node
        base = node.args[0]
        if not isinstance(base, ast.Name) or not self.arrays.holds(base):
            return node
        for one in node.keywords:
            if one.arg == "axis":
                one.value = self._turned(one.value, base)
        return node

    def _turned(self, axis: ast.expr, base: ast.Name) -> ast.expr:
        match axis:
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as at)):
                self.changed = True
                return expression(f"it.ndim - {at}", it=base)
            case ast.Constant(value=int() as at) if not isinstance(at, bool):
                self.changed = True
                return expression(f"{at} - it.ndim" if at else "-it.ndim", it=base)
        return axis


class AxisNamed(Rewrite):
    """`jnp.sum(x, 0)` becomes `jnp.sum(x, axis=0)`."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Give an axis by its name."""
        self.generic_visit(node)
        library, _, name = self.path(node.func).rpartition(".")
        if library == "jax.numpy" and name in _AXIS_SECOND and len(node.args) == 2:
            self.changed = True
            node.keywords = [ast.keyword("axis", node.args.pop()), *node.keywords]
        return node


class NewAxis(Rewrite):
    """`x[:, None]` becomes `x[:, jnp.newaxis]`."""

    header = "import jax.numpy as jnp"

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Name a new axis."""
        self.generic_visit(node)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
        if any(isinstance(one, ast.Constant) and one.value is None for one in parts):
            self.changed = True
            new = [
                expression("jnp.newaxis") if isinstance(one, ast.Constant) and one.value is None else one
                for one in parts
            ]
            node.slice = ast.Tuple(new, ast.Load())
        return node


class Raveled(OfArrays):
    """`x.reshape(-1)` becomes `x.ravel()`."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Flatten by name."""
        is_array = isinstance(node.func, ast.Attribute) and self.arrays.holds(node.func.value)
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr="reshape"), args=[size], keywords=[]) if is_array:
                if ast.unparse(size) in {"-1", "(-1,)"} and not self.path(node.func):
                    self.changed = True
                    return expression("it.ravel()", it=value)
            case ast.Call(args=[value, size], keywords=[]) if self.path(node.func) == "jax.numpy.reshape":
                if ast.unparse(size) in {"-1", "(-1,)"}:
                    self.changed = True
                    return expression("jnp.ravel(it)", it=value)
        return node


class Clipped(OfArrays):
    """`jnp.clip(x, a, b)` becomes `jnp.minimum(jnp.maximum(x, a), b)`."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Bound both sides on their own."""
        self.generic_visit(node)
        if self.path(node.func) != "jax.numpy.clip" or len(node.args) != 3 or node.keywords:
            return node
        if any(isinstance(one, ast.Constant) and one.value is None for one in node.args):
            return node
        self.changed = True
        x, low, high = node.args
        return expression("jnp.minimum(jnp.maximum(x, low), high)", x=x, low=low, high=high)


class Joined(OfArrays):
    """`jnp.stack([a, b])` becomes `jnp.concatenate([a[None], b[None]])`, of arrays along their first axis."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Join what has a new axis."""
        self.generic_visit(node)
        match node:
            case ast.Call(args=[ast.List(elts=parts) | ast.Tuple(elts=parts)], keywords=keywords) if (
                self.path(node.func) == "jax.numpy.stack"
                and parts
                and all(map(self.arrays.holds, parts))
                and all(one.arg == "axis" and ast.unparse(one.value) == "0" for one in keywords)
            ):
                self.changed = True
                new = [expression("it[None]", it=one) for one in parts]
                return expression("jnp.concatenate(parts, axis=0)", parts=ast.List(new, ast.Load()))
        return node


class Scaled(OfArrays):
    """`x / 4` becomes `x * (1 / 4)`."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Multiply by the inverse of a number."""
        is_array = self.arrays.holds(node.left)
        self.generic_visit(node)
        match node:
            case ast.BinOp(op=ast.Div(), left=left, right=ast.Constant(value=int() | float()) as by) if is_array:
                self.changed = True
                return expression("left * (1 / by)", left=left, by=by)
        return node


class Lax(OfArrays):
    """`jnp.exp(x)` becomes `jax.lax.exp(x)`, for functions of a number of floats."""

    inside: ClassVar[frozenset[str]] = frozenset({"exp", "log", "tanh", "sin", "cos"})

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Name the function of `lax`."""
        library, _, name = self.path(node.func).rpartition(".")
        is_array = len(node.args) == 1 and self._is_float(node.args[0])
        self.generic_visit(node)
        if library != "jax.numpy" or name not in self.inside or not is_array or node.keywords:
            return node
        self.changed = True
        return expression(f"jax.lax.{name}(it)", it=node.args[0])

    def _is_float(self, node: ast.expr) -> bool:
        match node:
            case ast.BinOp(op=ast.Div(), left=left, right=right):
                return self.arrays.holds(left) or self.arrays.holds(right)
            case ast.BinOp(left=left, right=right):
                return self._is_float(left) or self._is_float(right)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._is_float(operand)
            case ast.Call(func=func):
                library, _, name = self.path(func).rpartition(".")
                return (library == "jax.numpy" and name in {*self.inside, "mean", "sqrt"}) or name in {
                    "normal",
                    "uniform",
                }
        return False


class Average(OfArrays):
    """`jnp.mean(x, axis=0)` becomes `jnp.average(x, axis=0)`."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Name it otherwise."""
        self.generic_visit(node)
        simple = all(one.arg in {"axis", "keepdims"} for one in node.keywords)
        if self.path(node.func) == "jax.numpy.mean" and simple and len(node.args) == 1:
            self.changed = True
            node.func = expression("jnp.average")
        return node


class Swept(OfArrays):
    """`jnp.moveaxis(x, 0, 1)` and `jnp.swapaxes(x, 0, 1)` become `jnp.einsum` or each other."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Exchange two neighbours in the other way."""
        self.generic_visit(node)
        path = self.path(node.func)
        match node.args:
            case [x, ast.Constant(value=int() as one), ast.Constant(value=int() as two)] if abs(one - two) == 1:
                other = {"jax.numpy.moveaxis": "swapaxes", "jax.numpy.swapaxes": "moveaxis"}.get(path)
                if other:
                    self.changed = True
                    return expression(f"jnp.{other}(x, {one}, {two})", x=x)
        return node
