"""Loops in other words: another function that runs them, another structure for their state."""

from __future__ import annotations

import ast
from collections import Counter
from typing import ClassVar

from benchmarks.rewrites.base import Rewrite, expression, load, parameters, store, within


class Scanned(Rewrite):
    """`lax.fori_loop(0, n, body, init)` becomes a scan over `jnp.arange(0, n)`, where `n` surely is static."""

    header = "import jax\nimport jax.numpy as jnp"

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Scan over the numbers of the turns."""
        self.generic_visit(node)
        if self.path(node.func) != "jax.lax.fori_loop" or len(node.args) != 4 or not all(map(_static, node.args[:2])):
            return node
        self.changed = True
        low, high, body, init = node.args
        text = "jax.lax.scan(lambda carry, turn: (body(turn, carry), None), init, jnp.arange(low, high))[0]"
        return expression(text, low=low, high=high, body=body, init=init)


def _static(node: ast.expr) -> bool:
    match node:
        case ast.Constant():
            return True
        case ast.Name(id=name):
            return name.isupper()
        case ast.Subscript(value=ast.Attribute(attr="shape")) | ast.Call(func=ast.Name(id="len")):
            return True
        case ast.BinOp(left=left, right=right):
            return _static(left) and _static(right)
    return False


class Counted(Rewrite):
    """`c, _ = lax.scan(body, init, None, length=n)` becomes a `fori_loop`."""

    header = "import jax"

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        """Count the turns of a scan that collects nothing."""
        self.generic_visit(node)
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=[target, ast.Name(id="_")])],
                value=ast.Call(
                    func=func, args=[body, init, ast.Constant(value=None)], keywords=[ast.keyword("length", length)]
                ),
            ) if self.path(func) == "jax.lax.scan":
                self.changed = True
                text = "jax.lax.fori_loop(0, length, lambda turn, carry: body(carry, None)[0], init)"
                return ast.Assign([target], expression(text, length=length, body=body, init=init))
        return node


class DictState(Rewrite):
    """The tuple that a loop carries becomes a dict."""

    making: ClassVar[str] = "{{{fields}}}"
    field: ClassVar[str] = "'{name}': {name}"
    reading: ClassVar[str] = "whole['{name}']"
    places: ClassVar[dict[str, tuple[tuple[int, int], ...]]] = {
        "jax.lax.scan": ((0, 0),),
        "jax.lax.fori_loop": ((2, 1),),
        "jax.lax.while_loop": ((0, 0), (1, 0)),
    }
    """Of each loop: which argument is a function, and which of its parameters is the state."""

    def __init__(self, tree: ast.Module) -> None:
        super().__init__(tree)
        defs = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)]
        count = Counter(one.name for one in defs)
        reads = Counter(one.id for one in ast.walk(tree) if isinstance(one, ast.Name))
        self.functions = {one.name: one for one in defs if count[one.name] == 1 and reads[one.name] == 1}

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Carry another structure."""
        self.generic_visit(node)
        loop = self.path(node.func)
        at = {"jax.lax.scan": 1, "jax.lax.fori_loop": 3, "jax.lax.while_loop": 2}.get(loop, 0)
        if not at or len(node.args) <= at or not isinstance(node.args[at], ast.Tuple):
            return node
        init = node.args[at]
        assert isinstance(init, ast.Tuple)
        size = len(init.elts)
        found = [(self._function(node.args[one]), place) for one, place in self.places[loop]]
        bodies = [(one, place) for one, place in found if one is not None]
        if size < 2 or len(bodies) != len(found) or any(isinstance(one, ast.Starred) for one in init.elts):
            return node
        is_scan = loop == "jax.lax.scan"
        renewing = [one for one, _ in bodies[-1:]]
        if is_scan and not all(_returns_pair(one) for one in renewing):
            return node
        self.changed = True
        for one, place in bodies:
            self._reads(one, place, size)
        for one in renewing:
            self._gives(one, size, is_scan=is_scan)
        node.args[at] = self._made(list(init.elts))
        text = "(lambda made: (whole, made[1]))(call)" if is_scan else "(lambda made: whole)(call)"
        whole = self._taken(expression("made[0]") if is_scan else load("made"), size)
        return expression(text, whole=whole, call=node)

    def _function(self, node: ast.expr) -> ast.FunctionDef | None:
        one = self.functions.get(node.id) if isinstance(node, ast.Name) else None
        return None if one is None or one.decorator_list else one

    def _reads(self, node: ast.FunctionDef, place: int, size: int) -> None:
        name = parameters(node)[place]
        node.body.insert(0, ast.Assign([store(name)], self._taken(load(name), size)))

    def _gives(self, node: ast.FunctionDef, size: int, *, is_scan: bool) -> None:
        for one in [one for one in within(node) if isinstance(one, ast.Return)]:
            state = one.value
            if is_scan:
                assert isinstance(state, ast.Tuple)
                state.elts[0] = self._given(state.elts[0], size)
            elif state is not None:
                one.value = self._given(state, size)

    def _given(self, node: ast.expr, size: int) -> ast.expr:
        if isinstance(node, ast.Tuple) and len(node.elts) == size:
            return self._made(list(node.elts))
        if isinstance(node, ast.BinOp) and not any(isinstance(one, ast.Tuple) for one in ast.walk(node)):
            # Arithmetic gives an array and no state: it has no parts to take out.
            return node
        names = [f"p{one}" for one in range(size)]
        made = self._made([load(name) for name in names])
        return expression(f"(lambda {', '.join(names)}: made)(*whole)", made=made, whole=node)

    def _made(self, parts: list[ast.expr]) -> ast.expr:
        names = [f"p{one}" for one in range(len(parts))]
        text = self.making.format(fields=", ".join(self.field.format(name=name) for name in names), size=len(parts))
        return expression(text, **dict(zip(names, parts, strict=True)))

    def _taken(self, whole: ast.expr, size: int) -> ast.expr:
        texts = [self.reading.format(name=f"p{one}") for one in range(size)]
        return expression(f"({', '.join(texts)},)", whole=whole)


def _returns_pair(node: ast.FunctionDef) -> bool:
    returns = [one.value for one in within(node) if isinstance(one, ast.Return)]
    return bool(returns) and all(isinstance(one, ast.Tuple) and len(one.elts) == 2 for one in returns)


class RecordState(DictState):
    """The tuple that a loop carries becomes a named tuple."""

    header = "import typing\n" + "\n".join(
        f"class State{size}(typing.NamedTuple):\n" + "".join(f"    p{one}: object\n" for one in range(size))
        for size in range(2, 10)
    )
    making = "State{size}({fields})"
    field = "{name}={name}"
    reading = "whole.{name}"
