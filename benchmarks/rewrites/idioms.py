"""Small changes of words inside expressions and statements."""

from __future__ import annotations

import ast
from collections import Counter

from benchmarks.rewrites.arrays import REDUCTIONS, OfArrays
from benchmarks.rewrites.base import Rewrite, bindings, expression, load, store, within

_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.Gt: ast.Lt,
    ast.LtE: ast.GtE,
    ast.GtE: ast.LtE,
    ast.Eq: ast.Eq,
    ast.NotEq: ast.NotEq,
}
_AXIS_SECOND = frozenset((*REDUCTIONS, "stack", "concatenate", "squeeze", "expand_dims"))
"""Functions that take an axis behind what they are given first."""


class Commuted(OfArrays):
    """`a + b` and `a * b` become `b + a` and `b * a`."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Exchange two operands of arithmetic."""
        is_array = self.arrays.holds(node)
        self.generic_visit(node)
        if is_array and isinstance(node.op, ast.Add | ast.Mult):
            self.changed = True
            node.left, node.right = node.right, node.left
        return node


class Turned(OfArrays):
    """`a < b` becomes `b > a`."""

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """Exchange two sides of a comparison."""
        self.generic_visit(node)
        if len(node.ops) == 1 and type(node.ops[0]) in _TURNED:
            self.changed = True
            node.left, node.comparators = node.comparators[0], [node.left]
            node.ops = [_TURNED[type(node.ops[0])]()]
        return node


class Negated(OfArrays):
    """`a - b` becomes `-b + a`."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Add what is negative."""
        is_array = self.arrays.holds(node.right)
        self.generic_visit(node)
        if not is_array or not isinstance(node.op, ast.Sub):
            return node
        self.changed = True
        return ast.BinOp(ast.UnaryOp(ast.USub(), node.right), ast.Add(), node.left)


class Squared(OfArrays):
    """`x ** 2` becomes `jnp.square(x)`."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Name a square."""
        is_array = self.arrays.holds(node.left)
        self.generic_visit(node)
        match node:
            case ast.BinOp(op=ast.Pow(), right=ast.Constant(value=2)) if is_array:
                self.changed = True
                return expression("jnp.square(it)", it=node.left)
        return node


class Expanded(OfArrays):
    """`x[:, None]` becomes `jnp.expand_dims(x, 1)`."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Name a new axis."""
        is_array = self.arrays.holds(node.value) and isinstance(node.ctx, ast.Load)
        self.generic_visit(node)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        new = [at for at, one in enumerate(parts) if isinstance(one, ast.Constant) and one.value is None]
        rest = [one for at, one in enumerate(parts) if at not in new]
        dots = [at for at, one in enumerate(parts) if isinstance(one, ast.Constant) and one.value is ...]
        whole = all(isinstance(one, ast.Slice) and not (one.lower or one.upper or one.step) for one in rest)
        if not is_array or len(new) != 1 or not (whole or (rest == parts[:1] and dots == [0])):
            return node
        self.changed = True
        return expression(f"jnp.expand_dims(it, {-1 if dots else new[0]})", it=node.value)


class Indexed(Rewrite):
    """`a, b = f()` becomes `both = f()`, `a = both[0]` and `b = both[1]`."""

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        """Take results apart one by one."""
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Call() | ast.Name() as value) if not any(
                isinstance(one, ast.Starred) for one in targets
            ):
                self.changed = True
                name = self.fresh("both")
                parts = [ast.Assign([one], expression(f"{name}[{at}]")) for at, one in enumerate(targets)]
                return [ast.Assign([store(name)], value), *(new for one in parts for new in self._apart(one))]
        return node

    def _apart(self, node: ast.Assign) -> list[ast.stmt]:
        """Go on where a part is taken apart as well."""
        match node.targets[0]:
            case ast.Tuple(elts=targets) if not any(isinstance(one, ast.Starred) for one in targets):
                parts = [ast.Assign([one], expression(f"it[{at}]", it=node.value)) for at, one in enumerate(targets)]
                return [new for one in parts for new in self._apart(one)]
        return [node]


class Written(Rewrite):
    """`x += y` becomes `x = x + y`."""

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        """Write an operator out."""
        if not isinstance(node.target, ast.Name):
            return node
        self.changed = True
        return ast.Assign([node.target], ast.BinOp(load(node.target.id), node.op, node.value))


class Fresh(Rewrite):
    """`x = f(x)` becomes `x_1 = f(x)`, and what is read below is `x_1`, in functions without branches and loops."""

    only_errors = True

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Give each value of a function a name of its own."""
        self.generic_visit(node)
        again = {name for name, count in Counter(bindings(node)).items() if count > 1}
        held = [one for other in self._nested(node) for one in ast.walk(other)]
        inner = {one.id for one in held if isinstance(one, ast.Name)}
        simple = (ast.Assign, ast.Return, ast.Expr, ast.FunctionDef)
        if not all(isinstance(one, simple) for one in node.body) or not again - inner:
            return node
        names: dict[str, str] = {}
        for one in node.body:
            if isinstance(one, ast.FunctionDef):
                continue
            self._rename(one, names, ast.Load)
            bound = [one.id for one in ast.walk(one) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
            new = {name: self.fresh(name) for name in bound if name in again - inner}
            self.changed |= bool(new)
            self._rename(one, new, ast.Store)
            names |= new
        return node

    def _nested(self, node: ast.FunctionDef) -> list[ast.AST]:
        return [one for one in within(node) if isinstance(one, ast.FunctionDef | ast.Lambda | ast.comprehension)]

    def _rename(self, node: ast.stmt, names: dict[str, str], context: type[ast.expr_context]) -> None:
        for one in ast.walk(node):
            if isinstance(one, ast.Name) and isinstance(one.ctx, context):
                one.id = names.get(one.id, one.id)


class Placed(Rewrite):
    """`jnp.sum(x, axis=0)` becomes `jnp.sum(x, 0)`."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Give an axis by its place."""
        self.generic_visit(node)
        library, _, name = self.path(node.func).rpartition(".")
        second = library == "jax.numpy" and name in _AXIS_SECOND and len(node.args) == 1
        axis = next((one for one in node.keywords if one.arg == "axis"), None)
        if not second or axis is None:
            return node
        self.changed = True
        node.args.append(axis.value)
        node.keywords.remove(axis)
        return node
