"""Loops in other words: another function that runs them, another structure for their state."""

from __future__ import annotations

import ast
from collections import Counter
from typing import ClassVar

from benchmarks.rewrites.arrays import OfArrays
from benchmarks.rewrites.base import Rewrite, expression, load, parameters, read, store, within


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


class Whiled(Rewrite):
    """`lax.fori_loop(0, n, body, init)` becomes a `while_loop`, in programs that take no gradient."""

    unlike = frozenset({"loop-never-runs"})

    header = "import jax"

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Count by hand."""
        self.generic_visit(node)
        derived = any("grad" in self.path(one) or "vjp" in self.path(one) for one in ast.walk(self.tree))
        if self.path(node.func) != "jax.lax.fori_loop" or len(node.args) != 4 or derived:
            return node
        self.changed = True
        low, high, body, init = node.args
        text = "jax.lax.while_loop(lambda s: s[0] < high, lambda s: (s[0] + 1, body(s[0], s[1])), (low, init))[1]"
        return expression(text, low=low, high=high, body=body, init=init)


class Stepped(OfArrays):
    """`lax.scan(body, init, xs)` over an array becomes a scan over `jnp.arange(len(xs))`."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Index what a scan takes."""
        self.generic_visit(node)
        match node:
            case ast.Call(args=[body, init, ast.Name() as xs], keywords=[]) if self.path(node.func) == "jax.lax.scan":
                if not self.arrays.holds(xs):
                    return node
                self.changed = True
                text = "jax.lax.scan(lambda carry, turn: body(carry, xs[turn]), init, jnp.arange(len(xs)))"
                return expression(text, body=body, init=init, xs=xs)
        return node


class Collected(OfArrays):
    """`c, _ = lax.scan(body, init, xs)` over an array becomes a `fori_loop`."""

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        """Count the turns of a scan that collects nothing."""
        self.generic_visit(node)
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=[target, ast.Name(id="_")])],
                value=ast.Call(func=func, args=[body, init, ast.Name() as xs], keywords=[]),
            ) if self.path(func) == "jax.lax.scan" and self.arrays.holds(xs):
                self.changed = True
                text = "jax.lax.fori_loop(0, len(xs), lambda turn, carry: body(carry, xs[turn])[0], init)"
                return ast.Assign([target], expression(text, xs=xs, body=body, init=init))
        return node


class Unrolled(OfArrays):
    """`c, ys = lax.scan(body, init, xs)` over an array becomes a Python loop that stacks what it collects."""

    unlike: ClassVar[frozenset[str]] = frozenset({"scan"})

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        """Run the turns in Python."""
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=[target, outputs])],
                value=ast.Call(func=func, args=[body, init, ast.Name(id=xs) as given], keywords=[]),
            ) if self.path(func) == "jax.lax.scan" and self.arrays.holds(given) and isinstance(body, ast.Name):
                self.changed = True
                carry, rows, row, turn = (self.fresh(name) for name in ("carry", "rows", "row", "turn"))
                lines = [f"{carry} = 0", f"{rows} = []", f"for {turn} in range(len({xs})):"]
                lines += [f"    {carry}, {row} = {body.id}({carry}, {xs}[{turn}])", f"    {rows}.append({row})"]
                made = ast.parse("\n".join(lines)).body
                first = made[0]
                assert isinstance(first, ast.Assign)
                first.value = init
                stacked = expression(f"jax.tree.map(lambda *some: jnp.stack(some), *{rows})")
                return [*made, ast.Assign([target], load(carry)), ast.Assign([outputs], stacked)]
        return node


class IndexLoop(Rewrite):
    """`for i in range(n)` becomes `i = 0` and `while i < n`, where nothing else binds `i` or leaves a turn."""

    def visit_For(self, node: ast.For) -> ast.stmt | list[ast.stmt]:
        """Count by hand."""
        self.generic_visit(node)
        inside = [inner for one in node.body for inner in ast.walk(one)]
        match node:
            case ast.For(
                target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=[count], keywords=[]), orelse=[]
            ) if isinstance(count, ast.Name | ast.Constant):
                stored = {one.id for one in inside if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
                if any(isinstance(one, ast.Continue) for one in inside) or stored & {name, *read(count)}:
                    return node
                self.changed = True
                name = name if name != "_" else self.fresh("turn")
                more = ast.parse(f"{name} += 1").body
                loop = ast.While(expression(f"{name} < count", count=count), [*node.body, *more], [])
                return [*ast.parse(f"{name} = 0").body, loop]
        return node


class Ranged(Rewrite):
    """`for x in xs` becomes `for i in range(len(xs))` and `x = xs[i]`, for a list that a name holds."""

    def visit_For(self, node: ast.For) -> ast.For:
        """Take one after the other by its number."""
        self.generic_visit(node)
        lists = {
            target.id
            for one in ast.walk(self.tree)
            if isinstance(one, ast.Assign) and isinstance(one.value, ast.List | ast.ListComp)
            for target in one.targets
            if isinstance(target, ast.Name)
        }
        if isinstance(node.iter, ast.Name) and node.iter.id in lists:
            self.changed = True
            turn = self.fresh("turn")
            node.body.insert(0, ast.Assign([node.target], expression(f"{node.iter.id}[{turn}]")))
            node.target, node.iter = store(turn), expression(f"range(len({node.iter.id}))")
        return node
