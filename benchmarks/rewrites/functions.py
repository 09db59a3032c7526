"""Functions that are transformed, handed on, closed over or held in other ways."""

from __future__ import annotations

import ast
from collections import Counter

from benchmarks.rewrites.base import Rewrite, bindings, expression, is_plain, load, parameters, read, store

_TRANSFORMATIONS = {"jax.jit", "jax.vmap", "jax.pmap", "jax.grad", "jax.value_and_grad", "jax.checkpoint", "jax.remat"}
_KEEP = {"jax.custom_vjp", "jax.custom_jvp", "equinox.filter_jit", "equinox.filter_vmap", "equinox.filter_grad"}
_MAPS = {"jax.vmap", "jax.grad", "jax.value_and_grad"}


class Called(Rewrite):
    """`@jax.jit def f(x)` becomes `def f_1(x)` and `f = jax.jit(f_1)`."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt | list[ast.stmt]:
        """Call what decorates a function."""
        self.generic_visit(node)
        if len(node.decorator_list) != 1 or not self._transforms(node.decorator_list[0]):
            return node
        self.changed = True
        name, decorator = node.name, node.decorator_list[0]
        node.name, node.decorator_list = self.fresh(name), []
        if isinstance(decorator, ast.Call) and self.path(decorator.func) == "functools.partial":
            made = ast.Call(decorator.args[0], [load(node.name), *decorator.args[1:]], decorator.keywords)
        else:
            made = ast.Call(decorator, [load(node.name)], [])
        return [node, ast.Assign([store(name)], made)]

    def _transforms(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Call) and self.path(node.func) == "functools.partial" and node.args:
            node = node.args[0]
        return self.path(node.func if isinstance(node, ast.Call) else node) in _TRANSFORMATIONS | _KEEP


class Decorated(Rewrite):
    """`def f(x)` and `g = jax.jit(f)` become `@jax.jit def f(x)` and `g = f`, where nothing else reads `f`."""

    header = "import functools"

    def __init__(self, tree: ast.Module) -> None:
        super().__init__(tree)
        self.reads = Counter(one.id for one in ast.walk(tree) if isinstance(one, ast.Name))
        self.defined = Counter(one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef))
        self.decorators: dict[str, ast.expr] = {}

    def visit_Module(self, node: ast.Module) -> ast.Module:
        """Decorate in the whole program."""
        self._decorate(node.body)
        self.generic_visit(node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Decorate inside a function."""
        self._decorate(node.body)
        self.generic_visit(node)
        return node

    def _decorate(self, body: list[ast.stmt]) -> None:
        """Decorate functions that are transformed by a statement of the same block."""
        local = {one.name: one for one in body if isinstance(one, ast.FunctionDef) and not one.decorator_list}
        for one in body:
            if not isinstance(one, ast.Assign) or not isinstance(one.value, ast.Call):
                continue
            call = one.value
            args = call.args
            name = args[0].id if len(args) == 1 and isinstance(args[0], ast.Name) else ""
            if name not in local or self.reads[name] != 1 or self.defined[name] != 1:
                continue
            if self.path(call.func) not in _TRANSFORMATIONS or not read(call) - {name} <= self.imports.keys():
                continue
            self.changed = True
            decorator = ast.Call(expression("functools.partial"), [call.func], call.keywords)
            local[name].decorator_list = [decorator if call.keywords else call.func]
            one.value = load(name)


class Partials(Rewrite):
    """`jax.vmap(f, in_axes=0)` becomes `functools.partial(jax.vmap, in_axes=0)(f)`."""

    header = "import functools"

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Give options before the function."""
        self.generic_visit(node)
        if self.path(node.func) not in _TRANSFORMATIONS or not node.args:
            return node
        self.changed = True
        first, *rest = node.args
        names = ("in_axes", "out_axes") if self.path(node.func) == "jax.vmap" else ("argnums",)
        given = [ast.keyword(name, one) for name, one in zip(names, rest, strict=False)]
        return ast.Call(ast.Call(expression("functools.partial"), [node.func], [*given, *node.keywords]), [first], [])


class Lambdas(Rewrite):
    """A function `f` that is handed to JAX becomes `lambda x, y: f(x, y)`."""

    def __init__(self, tree: ast.Module) -> None:
        super().__init__(tree)
        defs = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)]
        count = Counter(one.name for one in defs)
        classes = [one for one in ast.walk(tree) if isinstance(one, ast.ClassDef)]
        methods = {one.name for cls in classes for one in cls.body if isinstance(one, ast.FunctionDef)}
        self.plain = {
            one.name: parameters(one)
            for one in defs
            if is_plain(one) and count[one.name] == 1 and one.name not in methods and not one.decorator_list
        }

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Wrap what is handed on."""
        self.generic_visit(node)
        if self.path(node.func).split(".")[0] == "jax" and not self.path(node.func).startswith("jax.tree"):
            node.args = [self._wrapped(one) for one in node.args]
        return node

    def _wrapped(self, node: ast.expr) -> ast.expr:
        if not isinstance(node, ast.Name) or node.id not in self.plain:
            return node
        self.changed = True
        names = self.plain[node.id]
        return expression(f"lambda {', '.join(names)}: {node.id}({', '.join(names)})")


class Spread(Rewrite):
    """`jax.vmap(f)` becomes `lambda *args: jax.vmap(f)(*args)`."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Wrap what a transformation makes."""
        self.generic_visit(node)
        if self.path(node.func) not in _MAPS or not node.args:
            return node
        self.changed = True
        return expression("lambda *args: made(*args)", made=node)


class Lifted(Rewrite):
    """A function inside another becomes one of the module; what it closes over is given by `functools.partial`."""

    header = "import functools"

    def visit_Module(self, node: ast.Module) -> ast.Module:
        """Put what is lifted before the function that it came from."""
        node.body = [new for one in node.body for new in self._apart(one)]
        return node

    def _apart(self, node: ast.stmt) -> list[ast.stmt]:
        if not isinstance(node, ast.FunctionDef):
            return [node]
        bound, before = Counter(bindings(node)), set(parameters(node))
        lifted: list[ast.stmt] = []
        body: list[ast.stmt] = []
        for one in node.body:
            free = self._closed_over(one, bound) if isinstance(one, ast.FunctionDef) else None
            before |= _binds(one)
            if isinstance(one, ast.FunctionDef) and free is not None and before.issuperset(free):
                lifted.append(one)
                body.append(self._closure(one, free))
            else:
                body.append(one)
        node.body = body
        return [*lifted, node]

    def _closed_over(self, node: ast.FunctionDef, bound: Counter[str]) -> list[str] | None:
        """Return the names that a function reads from around it; None where they, or it, are not so plain."""
        inside = list(ast.walk(node))
        own = {name for one in inside if isinstance(one, ast.FunctionDef | ast.Lambda) for name in parameters(one)}
        own |= {one.id for one in inside if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        own |= {one.name for one in inside if isinstance(one, ast.FunctionDef)}
        free = sorted(name for name in read(node) - own if bound[name])
        is_plain_one = is_plain(node) and not node.decorator_list and node.name not in read(node)
        again = any(bound[name] != 1 for name in free) or any(isinstance(one, ast.Nonlocal) for one in inside)
        return free if is_plain_one and not again else None

    def _closure(self, node: ast.FunctionDef, free: list[str]) -> ast.stmt:
        self.changed = True
        name, node.name = node.name, self.fresh(node.name)
        node.args.args = [*(ast.arg(one) for one in free), *node.args.args]
        made = expression(f"functools.partial({', '.join([node.name, *free])})") if free else load(node.name)
        return ast.Assign([store(name)], made)


def _binds(node: ast.stmt) -> set[str]:
    """Return the names that a statement binds."""
    if isinstance(node, ast.FunctionDef):
        return {node.name}
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


class Method(Rewrite):
    """Functions become static methods of one class."""

    decorator: str | None = "staticmethod"
    owner = "Code"

    def __init__(self, tree: ast.Module) -> None:
        super().__init__(tree)
        self.names: frozenset[str] = frozenset()

    def visit_Module(self, node: ast.Module) -> ast.Module:
        """Gather the functions of a module."""
        plain = [one for one in node.body if isinstance(one, ast.FunctionDef) and not one.decorator_list]
        params = {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
        plain = [one for one in plain if one.name not in params]
        if not plain:
            return node
        self.changed = True
        self.names = frozenset(one.name for one in plain)
        for one in plain:
            self._hold(one)
        holder = ast.parse("class Code:\n    pass").body[0]
        assert isinstance(holder, ast.ClassDef)
        holder.body = list(plain)
        node.body = [holder if one is plain[0] else one for one in node.body if one is plain[0] or one not in plain]
        self.generic_visit(node)
        return node

    def _hold(self, node: ast.FunctionDef) -> None:
        node.decorator_list = [load("staticmethod")]

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Name a function by its class."""
        is_moved = node.id in self.names and isinstance(node.ctx, ast.Load)
        return expression(f"{self.owner}.{node.id}") if is_moved else node


class Bound(Method):
    """Functions become methods of an object."""

    owner = "Code()"

    def _hold(self, node: ast.FunctionDef) -> None:
        node.args.args = [ast.arg("self"), *node.args.args]
