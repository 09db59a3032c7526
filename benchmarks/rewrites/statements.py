"""Statements that are taken apart, put together, exchanged; constants that stand elsewhere."""

from __future__ import annotations

import ast
from collections import Counter
from typing import ClassVar

from benchmarks.rewrites.base import COMPUTED, Rewrite, expression, is_plain, load, parameters, read, store, within

_EFFECTS = (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)
_CHANGING = ("append", "pop", "extend", "insert", "update", "add", "write", "seed", "next", "print", "setdefault")


class Blocks(Rewrite):
    """A rewrite of the statements of every block of a function."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Rewrite the blocks of a function."""
        self.generic_visit(node)
        for one in [node, *within(node)]:
            for field in ("body", "orelse"):
                block = getattr(one, field, None)
                if isinstance(block, list) and not isinstance(one, ast.Lambda | ast.ClassDef):
                    if one is node or not isinstance(one, ast.FunctionDef):
                        setattr(one, field, self.block(block))
        return node

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Return the statements in other words."""
        raise NotImplementedError


class Unnested(Blocks):
    """`y = f(g(x))` becomes `t = g(x)` and `y = f(t)`."""

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Name the arguments of calls."""
        return [new for one in body for new in self._apart(one)]

    def _apart(self, node: ast.stmt) -> list[ast.stmt]:
        if not isinstance(node, ast.Assign | ast.Return) or node.value is None:
            return [node]
        new: list[ast.stmt] = []
        parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        if not all(isinstance(one, (*COMPUTED, ast.Name, ast.Constant)) for one in parts):
            return [node]
        for one in parts:
            self._name_parts(one, new)
        return [*new, node]

    def _name_parts(self, node: ast.expr, new: list[ast.stmt]) -> None:
        if (
            isinstance(node, ast.Call)
            and not node.keywords
            and not any(isinstance(one, ast.Starred) for one in node.args)
        ):
            node.args = [self._named(one, new) for one in node.args]
        elif isinstance(node, ast.BinOp):
            node.left, node.right = self._named(node.left, new), self._named(node.right, new)

    def _named(self, node: ast.expr, new: list[ast.stmt]) -> ast.expr:
        if not isinstance(node, COMPUTED):
            return node
        self.changed = True
        self._name_parts(node, new)
        name = self.fresh("t")
        new.append(ast.Assign([store(name)], node))
        return load(name)


class Merged(Blocks):
    """`t = g(x)` and, right behind it, `y = f(t)` become `y = f(g(x))`, where nothing else reads `t`."""

    def __init__(self, tree: ast.Module) -> None:
        super().__init__(tree)
        names = [one for one in ast.walk(tree) if isinstance(one, ast.Name)]
        self.reads = Counter(one.id for one in names if isinstance(one.ctx, ast.Load))
        self.bound = Counter(one.id for one in names if isinstance(one.ctx, ast.Store))

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Put values where they are read."""
        found: list[ast.stmt] = []
        for one in body:
            while found and self._reads_only(found[-1], one):
                before = found.pop()
                assert isinstance(before, ast.Assign)
                assert isinstance(before.targets[0], ast.Name)
                one = _Put(before.targets[0].id, before.value).visit(one)
                self.changed = True
            found.append(one)
        return found

    def _reads_only(self, before: ast.stmt, node: ast.stmt) -> bool:
        match before:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if isinstance(value, COMPUTED):
                first = next(
                    (one for one in _evaluated(node) if isinstance(one, ast.Name | ast.Call | ast.Lambda)), None
                )
                once = self.reads[name] == 1 == self.bound[name]
                return once and isinstance(first, ast.Name) and first.id == name
        return False


def _evaluated(node: ast.stmt) -> list[ast.AST]:
    """Return what a statement evaluates, in that order, where nothing is called before its arguments are there."""
    if not isinstance(node, ast.Assign | ast.Return) or node.value is None:
        return []
    found: list[ast.AST] = []

    def enter(one: ast.expr) -> None:
        match one:
            case ast.Call(func=func, args=args):
                if isinstance(func, ast.Attribute | ast.Call):
                    enter(func)
                for arg in args:
                    enter(arg)
            case ast.Attribute(value=value):
                if not isinstance(value, ast.Name) or not value.id.islower() or len(value.id) > 3:
                    enter(value)
            case ast.BinOp(left=left, right=right):
                enter(left)
                enter(right)
            case ast.Tuple(elts=parts):
                for part in parts:
                    enter(part)
            case ast.Subscript(value=value):
                enter(value)
            case ast.Constant():
                pass
            case _:
                found.append(one)

    enter(node.value)
    return found


class _Put(ast.NodeTransformer):
    def __init__(self, name: str, value: ast.expr) -> None:
        self.name, self.value = name, value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Put a value in for its name."""
        return self.value if node.id == self.name and isinstance(node.ctx, ast.Load) else node


class Swapped(Blocks):
    """Two statements that do not need each other change places."""

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Exchange neighbours, each at most once."""
        found = list(body)
        at = 0
        while at + 1 < len(found):
            if _is_pure(found[at]) and _is_pure(found[at + 1]) and _independent(found[at], found[at + 1]):
                self.changed = True
                found[at], found[at + 1] = found[at + 1], found[at]
                at += 1
            at += 1
        return found


def _is_pure(node: ast.stmt) -> bool:
    inside = list(ast.walk(node))
    called = [one.func for one in inside if isinstance(one, ast.Call)]
    names = [
        one.attr if isinstance(one, ast.Attribute) else one.id
        for one in called
        if isinstance(one, ast.Attribute | ast.Name)
    ]
    stores = [
        one for one in inside if isinstance(one, ast.Attribute | ast.Subscript) and isinstance(one.ctx, ast.Store)
    ]
    effects = any(isinstance(one, _EFFECTS) for one in inside) or any(name in _CHANGING for name in names)
    return isinstance(node, ast.Assign) and not effects and not stores


def _independent(one: ast.stmt, other: ast.stmt) -> bool:
    first, second = _binds(one), _binds(other)
    return not (first & second or first & read(other) or second & read(one))


def _binds(node: ast.stmt) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


class Guarded(Blocks):
    """`if c: return a` and `else: ...` become `if c: return a` and what was under `else` behind it."""

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Leave an `else` out behind what leaves."""
        found: list[ast.stmt] = []
        for one in body:
            found.append(one)
            if (
                isinstance(one, ast.If)
                and one.orelse
                and isinstance(one.body[-1], ast.Return | ast.Raise | ast.Continue)
            ):
                self.changed = True
                found += one.orelse
                one.orelse = []
        return found


class Else(Blocks):
    """`if c: return a` and what follows become `if c: return a` and `else: ...`."""

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Put what follows under `else`."""
        for at, one in enumerate(body[:-1]):
            if isinstance(one, ast.If) and not one.orelse and isinstance(one.body[-1], ast.Return | ast.Raise):
                self.changed = True
                one.orelse = self.block(body[at + 1 :])
                return body[: at + 1]
        return body


class Settings(Rewrite):
    """Constants of the module become fields of one object."""

    reading: ClassVar[str] = "CONFIG.{name}"

    def visit_Module(self, node: ast.Module) -> ast.Module:
        """Gather the constants."""
        bound = Counter(
            one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
        )
        params = {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
        said = {name for one in ast.walk(node) if isinstance(one, ast.Global) for name in one.names}
        used = read(node)
        found = {}
        for one in node.body:
            match one:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=int() | float())) if (
                    bound[name] == 1 and name in used - params - said
                ):
                    found[name] = one
        if not found:
            return node
        self.changed = True
        self.values = {name: one.value for name, one in found.items()}
        first = next(iter(found.values()))
        at = node.body.index(first)
        places = {id(one) for one in found.values()}
        node.body = [one for one in node.body if id(one) not in places]
        node = _Read(set(found), self.reading).visit(node)
        node.body[at:at] = self._holder()
        return node

    def _holder(self) -> list[ast.stmt]:
        lines = [f"    {name}: {type(one.value).__name__} = {one.value!r}" for name, one in self.values.items()]
        text = "@dataclasses.dataclass(frozen=True)\nclass Config:\n" + "\n".join(lines)
        return ast.parse(f"import dataclasses\n{text}\nCONFIG = Config()").body


class DictSettings(Settings):
    """Constants of the module become entries of one dict."""

    reading = "CONFIG['{name}']"

    def _holder(self) -> list[ast.stmt]:
        parts = ", ".join(f"{name!r}: {one.value!r}" for name, one in self.values.items())
        return ast.parse(f"CONFIG = {{{parts}}}").body


class _Read(ast.NodeTransformer):
    def __init__(self, names: set[str], reading: str) -> None:
        self.names, self.reading = names, reading

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Read a constant where it stands now."""
        return expression(self.reading.format(name=node.id)) if node.id in self.names else node


class Constants(Rewrite):
    """Numbers in a shape, `jnp.zeros((8, 4))`, get names in the module."""

    def visit_Module(self, node: ast.Module) -> ast.Module:
        """Name sizes."""
        self.names: dict[int, str] = {}
        self.generic_visit(node)
        if self.names:
            self.changed = True
            made = [ast.Assign([store(name)], ast.Constant(value)) for value, name in self.names.items()]
            at = next((at for at, one in enumerate(node.body) if not self._is_head(one)), len(node.body))
            node.body[at:at] = made
        return node

    def _is_head(self, node: ast.stmt) -> bool:
        return isinstance(node, ast.Import | ast.ImportFrom | ast.Expr)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Name the sizes that a call has."""
        self.generic_visit(node)
        if self.path(node.func).startswith(("jax.numpy.", "jax.random.")):
            for one in node.args:
                if isinstance(one, ast.Tuple):
                    one.elts = [self._named(part) for part in one.elts]
        return node

    def _named(self, node: ast.expr) -> ast.expr:
        if not isinstance(node, ast.Constant) or type(node.value) is not int or node.value < 2:
            return node
        return load(self.names.setdefault(node.value, f"SIZE_{node.value}"))


class Inlined(Rewrite):
    """A function of the module that is one expression is put where it is called with plain names."""

    unlike = frozenset({"swapped-results"})

    def __init__(self, tree: ast.Module) -> None:
        super().__init__(tree)
        defs = Counter(one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef))
        self.bodies = {}
        for one in tree.body:
            match one:
                case ast.FunctionDef(name=name, body=[*texts, ast.Return(value=ast.expr() as value)]) if (
                    is_plain(one)
                    and not one.decorator_list
                    and defs[name] == 1
                    and all(isinstance(text, ast.Expr) for text in texts)
                    and name not in read(value)
                    and not any(isinstance(inner, ast.Lambda | ast.comprehension) for inner in ast.walk(value))
                ):
                    self.bodies[name] = (parameters(one), ast.unparse(value))
        self.local: list[set[str]] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Remember which names the callers have."""
        stored = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        self.local.append(stored | {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)})
        self.generic_visit(node)
        self.local.pop()
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Put the expression in."""
        self.generic_visit(node)
        names, text = self.bodies.get(node.func.id, ([], "")) if isinstance(node.func, ast.Name) else ([], "")
        simple = all(isinstance(one, ast.Name | ast.Constant) for one in node.args)
        if not text or node.keywords or len(node.args) != len(names) or not simple:
            return node
        free = read(ast.parse(text)) - set(names)
        if any(free & some for some in self.local):
            return node
        self.changed = True
        return expression(text, **dict(zip(names, node.args, strict=True)))


class Extracted(Rewrite):
    """`x = f(y)` in a function of the module becomes `x = part(y)`, and `part` is a function of the module."""

    def visit_Module(self, node: ast.Module) -> ast.Module:
        """Put the parts before the functions that they come from."""
        found: list[ast.stmt] = []
        for one in node.body:
            parts: list[ast.stmt] = []
            if isinstance(one, ast.FunctionDef):
                own = set(parameters(one)) | {
                    name.id for name in ast.walk(one) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
                }
                own |= {inner.name for inner in ast.walk(one) if isinstance(inner, ast.FunctionDef)} - {one.name}
                own |= {arg.arg for arg in ast.walk(one) if isinstance(arg, ast.arg)}
                for statement in within(one):
                    if isinstance(statement, ast.Assign | ast.Return) and isinstance(statement.value, COMPUTED):
                        statement.value = self._moved(statement.value, own, parts)
            found += [*parts, one]
        node.body = found
        return node

    def _moved(self, node: ast.expr, own: set[str], parts: list[ast.stmt]) -> ast.expr:
        inside = [one for one in ast.walk(node) if isinstance(one, ast.Lambda | ast.comprehension)]
        free = sorted(read(node) & own)
        if inside or not free:
            return node
        self.changed = True
        name = self.fresh("piece")
        part = ast.parse(f"def {name}({', '.join(free)}):\n    return 0").body[0]
        assert isinstance(part, ast.FunctionDef)
        part.body = [ast.Return(node)]
        parts.append(part)
        return expression(f"{name}({', '.join(free)})")
