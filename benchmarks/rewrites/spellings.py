"""Functions of arrays by what they are made of, and statements by others."""

from __future__ import annotations

import ast

from benchmarks.rewrites.arrays import OfArrays
from benchmarks.rewrites.base import Rewrite, expression, load, store


class Reshaped(OfArrays):
    """`x[:, None]` becomes `jnp.reshape(x, (x.shape[0], 1, *x.shape[1:]))`."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Write the new shape out."""
        is_array = self.arrays.holds(node.value) and isinstance(node.value, ast.Name)
        self.generic_visit(node)
        match node.slice:
            case ast.Tuple(elts=[ast.Slice(lower=None, upper=None, step=None), ast.Constant(value=None)]) if is_array:
                self.changed = True
                return expression("jnp.reshape(it, (it.shape[0], 1, *it.shape[1:]))", it=node.value)
        return node


class Measured(OfArrays):
    """`x.shape[0]` becomes `len(x)`."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Ask for a length."""
        self.generic_visit(node)
        match node:
            case ast.Subscript(
                value=ast.Attribute(value=ast.Name() as base, attr="shape"), slice=ast.Constant(value=0)
            ):
                self.changed = True
                return expression("len(it)", it=base)
        return node


class Averaged(OfArrays):
    """`jnp.mean(x, axis=0)` becomes `jnp.sum(x, axis=0) / x.shape[0]`."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Divide a sum by its count."""
        self.generic_visit(node)
        match node:
            case ast.Call(args=[ast.Name() as base], keywords=[ast.keyword(arg="axis", value=axis)]) if self.path(
                node.func
            ) == "jax.numpy.mean" and isinstance(axis, ast.Constant | ast.UnaryOp):
                self.changed = True
                return expression("jnp.sum(it, axis=at) / it.shape[at]", it=base, at=axis)
            case ast.Call(args=[ast.Name() as base], keywords=[]) if self.path(node.func) == "jax.numpy.mean":
                self.changed = True
                return expression("jnp.sum(it) / it.size", it=base)
        return node


class Filled(OfArrays):
    """`jnp.zeros(shape)` becomes `jnp.full(shape, 0.0)`."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Fill an array with a number."""
        self.generic_visit(node)
        number = {"jax.numpy.zeros": "0.0", "jax.numpy.ones": "1.0"}.get(self.path(node.func))
        if number is None or len(node.args) != 1 or node.keywords:
            return node
        self.changed = True
        return expression(f"jnp.full(shape, {number})", shape=node.args[0])


class Transposed(OfArrays):
    """`x.T` becomes `jnp.transpose(x)`."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Name a transpose."""
        is_array = node.attr == "T" and self.arrays.holds(node.value)
        self.generic_visit(node)
        if not is_array:
            return node
        self.changed = True
        return expression("jnp.transpose(it)", it=node.value)


class Normalised(OfArrays):
    """`y = jax.nn.softmax(x, axis=0)` becomes `grown = jnp.exp(x)` and `y = grown / jnp.sum(grown, axis=0, ...)`."""

    only_errors = True

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        """Write weights out."""
        call = node.value
        if not isinstance(call, ast.Call) or self.path(call.func) != "jax.nn.softmax" or len(call.args) != 1:
            return node
        self.changed = True
        axis = next((one.value for one in call.keywords if one.arg == "axis"), ast.Constant(-1))
        name = self.fresh("grown")
        whole = expression(f"{name} / jnp.sum({name}, axis=at, keepdims=True)", at=axis)
        return [ast.Assign([store(name)], expression("jnp.exp(it)", it=call.args[0])), ast.Assign(node.targets, whole)]


class Ternary(Rewrite):
    """`if c: x = a` and `else: x = b` become `x = a if c else b`."""

    def visit_If(self, node: ast.If) -> ast.stmt:
        """Choose in an expression."""
        self.generic_visit(node)
        match node:
            case ast.If(
                test=test,
                body=[ast.Assign(targets=[ast.Name(id=one)], value=yes)],
                orelse=[ast.Assign(targets=[ast.Name(id=other)], value=no)],
            ) if one == other:
                self.changed = True
                return ast.Assign([store(one)], ast.IfExp(test, yes, no))
            case ast.If(
                test=test, body=[ast.Return(value=ast.expr() as yes)], orelse=[ast.Return(value=ast.expr() as no)]
            ):
                self.changed = True
                return ast.Return(ast.IfExp(test, yes, no))
        return node


class Appended(Rewrite):
    """`ys = [f(x) for x in xs]` in a function becomes a loop that appends."""

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        """Fill a list in a loop."""
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.ListComp(elt=item, generators=[ast.comprehension(target=target, iter=every, ifs=[])]),
            ):
                self.changed = True
                added = ast.Expr(ast.Call(ast.Attribute(load(name), "append", ast.Load()), [item], []))
                loop = ast.For(target, every, [added], [])
                return [ast.Assign([store(name)], ast.List([], ast.Load())), loop]
        return node
