"""Transformations of functions, keys and gradients in other words."""

from __future__ import annotations

import ast
from collections import Counter
from typing import ClassVar

from benchmarks.rewrites.base import Rewrite, expression, load, parameters, store
from benchmarks.rewrites.functions import Lifted
from benchmarks.rewrites.statements import Blocks


class Defined(Blocks):
    """A `lambda` that a statement has becomes a `def` before it."""

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Define functions before they are handed on."""
        found: list[ast.stmt] = []
        for one in body:
            if isinstance(one, ast.Assign | ast.Return | ast.Expr) and not _has_scope(one):
                new = _Define(self)
                one = new.visit(one)
                found += new.made
            found.append(one)
        return found


def _has_scope(node: ast.stmt) -> bool:
    return any(isinstance(one, ast.comprehension | ast.NamedExpr) for one in ast.walk(node))


class _Define(ast.NodeTransformer):
    def __init__(self, rewrite: Rewrite) -> None:
        self.rewrite = rewrite
        self.made: list[ast.stmt] = []

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        """Define a function."""
        self.rewrite.changed = True
        name = self.rewrite.fresh("function")
        made = ast.parse(f"def {name}():\n    return 0").body[0]
        assert isinstance(made, ast.FunctionDef)
        made.args, made.body = node.args, [ast.Return(node.body)]
        self.made.append(made)
        return load(name)


class Bindings(Rewrite):
    """`functools.partial(f, a)` of a function of the program becomes `lambda *args: f(a, *args)`."""

    def __init__(self, tree: ast.Module) -> None:
        super().__init__(tree)
        self.own = {one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)}

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Bind in a function without a name."""
        self.generic_visit(node)
        first = node.args[0] if node.args else None
        is_own = isinstance(first, ast.Name) and first.id in self.own
        if self.path(node.func) != "functools.partial" or not is_own or any(one.arg is None for one in node.keywords):
            return node
        self.changed = True
        rest = ast.Starred(load("args"), ast.Load())
        body = ast.Call(load(first.id), [*node.args[1:], rest], node.keywords)
        return expression("lambda *args: body", body=body)


class Holders(Lifted):
    """A function inside another becomes a class that holds what the function closes over."""

    def _closure(self, node: ast.FunctionDef, free: list[str]) -> ast.stmt:
        names = parameters(node)
        name = node.name
        given = super()._closure(node, free)
        assert isinstance(given, ast.Assign)
        if not free:
            return given
        own, held = ", ".join(["self", *names]), ", ".join([*(f"self.{one}" for one in free), *names])
        sets = "".join(f"        self.{one} = {one}\n" for one in free)
        text = f"class Holder_{node.name}:\n    def __init__(self, {', '.join(free)}):\n{sets}"
        text += f"    def __call__({own}):\n        return {node.name}({held})"
        self.holders.extend(ast.parse(text).body)
        return ast.Assign([store(name)], expression(f"Holder_{node.name}({', '.join(free)})"))

    def _apart(self, node: ast.stmt) -> list[ast.stmt]:
        self.holders: list[ast.stmt] = []
        found = super()._apart(node)
        return [*found[:-1], *self.holders, found[-1]]


class SharedClosed(Rewrite):
    """`jax.vmap(f, in_axes=(0, None))(x, w)` becomes `jax.vmap(lambda x: f(x, w))(x)`."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Close over what is shared."""
        self.generic_visit(node)
        match node:
            case ast.Call(
                func=ast.Call(func=func, args=[function, *rest], keywords=keywords), args=args, keywords=[]
            ) if self.path(func) == "jax.vmap":
                given = {one.arg: one.value for one in keywords}
                axes = rest[0] if rest else given.get("in_axes")
                simple = all(isinstance(one, ast.Name | ast.Attribute | ast.Constant) for one in args)
                if len(rest) > 1 or not isinstance(axes, ast.Tuple) or not simple or len(axes.elts) != len(args):
                    return node
                none = [isinstance(one, ast.Constant) and one.value is None for one in axes.elts]
                if not any(none) or all(none) or ("in_axes" in given and rest):
                    return node
                self.changed = True
                names = [f"one_{at}" for at, shared in enumerate(none) if not shared]
                inner: list[ast.expr] = [one if none[at] else load(f"one_{at}") for at, one in enumerate(args)]
                body = ast.Call(function, inner, [])
                closed = expression(f"lambda {', '.join(names)}: body", body=body)
                left = [one for one, shared in zip(axes.elts, none, strict=True) if not shared]
                other = [one for one in keywords if one.arg != "in_axes"]
                mapped = ast.Call(func, [closed], [ast.keyword("in_axes", ast.Tuple(left, ast.Load())), *other])
                return ast.Call(mapped, [one for one, shared in zip(args, none, strict=True) if not shared], [])
        return node


class AxesGiven(Rewrite):
    """`jax.vmap(f)(x, y)` becomes `jax.vmap(f, in_axes=(0, 0), out_axes=0)(x, y)`."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Write down what holds by default."""
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Call(func=func, args=[_], keywords=[]) as made, args=args, keywords=[]) if (
                self.path(func) == "jax.vmap" and args and not any(isinstance(one, ast.Starred) for one in args)
            ):
                self.changed = True
                axes = ast.Tuple([ast.Constant(0) for _ in args], ast.Load())
                made.keywords = [ast.keyword("in_axes", axes), ast.keyword("out_axes", ast.Constant(0))]
        return node


class WithValue(Rewrite):
    """`g = jax.grad(f)(x)` becomes `_, g = jax.value_and_grad(f)(x)`."""

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        """Compute the value as well."""
        match node:
            case ast.Assign(targets=[target], value=ast.Call(func=ast.Call(func=func, keywords=keywords) as made)) if (
                self.path(func) == "jax.grad"
            ):
                if any(one.arg == "has_aux" for one in keywords):
                    return node
                self.changed = True
                made.func = expression("jax.value_and_grad")
                node.targets = [ast.Tuple([store("_"), target], ast.Store())]
        return node

    header = "import jax"


class Picked(Rewrite):
    """`jax.grad(f)` becomes `lambda *args: jax.value_and_grad(f)(*args)[1]`."""

    header = "import jax"

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Take the gradient out of both."""
        self.generic_visit(node)
        if self.path(node.func) != "jax.grad" or any(one.arg == "has_aux" for one in node.keywords) or not node.args:
            return node
        self.changed = True
        both = ast.Call(expression("jax.value_and_grad"), node.args, node.keywords)
        return expression("lambda *args: both(*args)[1]", both=both)


class Aux(Rewrite):
    """`v, g = jax.value_and_grad(f)(x)` becomes `(v, _), g = ...`, of a function that gives a second value."""

    unlike = frozenset({"aux-mishandled"})

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        """Let the loss give something more."""
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=[value, grads])],
                value=ast.Call(func=ast.Call(func=func, args=[function], keywords=keywords) as made, keywords=[]),
            ) if self.path(func) == "jax.value_and_grad" and not any(one.arg == "has_aux" for one in keywords):
                self.changed = True
                made.args = [expression("lambda *args: (function(*args), None)", function=function)]
                made.keywords = [*keywords, ast.keyword("has_aux", ast.Constant(True))]
                both = ast.Tuple([value, store("_")], ast.Store())
                node.targets = [ast.Tuple([both, grads], ast.Store())]
        return node


class Apart(Rewrite):
    """`v, g = jax.value_and_grad(f)(x)` becomes `v = f(x)` and `g = jax.grad(f)(x)`, where nothing is drawn."""

    unlike = frozenset({"aux-mishandled"})

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        """Compute both on their own."""
        drawn = any(self.path(one).startswith(("jax.random.", "flax.", "haiku.")) for one in ast.walk(self.tree))
        match node:
            case ast.Assign(
                targets=[ast.Tuple(elts=[value, grads])],
                value=ast.Call(
                    func=ast.Call(func=func, args=[ast.Name() as function], keywords=keywords), args=args
                ) as call,
            ) if self.path(func) == "jax.value_and_grad" and not drawn and not call.keywords:
                simple = all(isinstance(one, ast.Name | ast.Attribute | ast.Subscript) for one in args)
                if any(one.arg == "has_aux" for one in keywords) or not simple:
                    return node
                self.changed = True
                one = ast.Assign([value], ast.Call(function, args, []))
                other = ast.Call(ast.Call(expression("jax.grad"), [function], keywords), args, [])
                return [one, ast.Assign([grads], other)]
        return node


class KeyRows(Rewrite):
    """`key, sub = jax.random.split(key)` becomes `keys = jax.random.split(key)`, `key = keys[0]` and so on."""

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        """Take keys one by one."""
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Call(func=func) as call) if self.path(
                func
            ) == "jax.random.split" and not any(isinstance(one, ast.Starred) for one in targets):
                self.changed = True
                return self._taken(self.fresh("keys"), targets, call)
        return node

    def _taken(self, name: str, targets: list[ast.expr], call: ast.Call) -> list[ast.stmt]:
        parts = [ast.Assign([one], expression(f"{name}[{at}]")) for at, one in enumerate(targets)]
        return [ast.Assign([store(name)], call), *parts]


class KeyIterator(KeyRows):
    """`key, sub = jax.random.split(key)` becomes an iterator and calls of `next`."""

    def _taken(self, name: str, targets: list[ast.expr], call: ast.Call) -> list[ast.stmt]:
        parts = [ast.Assign([one], expression(f"next({name})")) for one in targets]
        return [ast.Assign([store(name)], expression("iter(call)", call=call)), *parts]


class KeyList(KeyRows):
    """Keys are taken from a list of the rows."""

    def _taken(self, name: str, targets: list[ast.expr], call: ast.Call) -> list[ast.stmt]:
        made = expression("[one for one in call]", call=call)
        return [ast.Assign([ast.Tuple(targets, ast.Store())], made)]


class Folded(KeyRows):
    """`key, sub = jax.random.split(key)` becomes two calls of `fold_in`: other numbers, as independent as before."""

    same_numbers = False

    def _taken(self, name: str, targets: list[ast.expr], call: ast.Call) -> list[ast.stmt]:
        parts: list[ast.expr] = [
            expression(f"jax.random.fold_in(key, {at})", key=call.args[0]) for at, _ in enumerate(targets)
        ]
        return [ast.Assign([ast.Tuple(targets, ast.Store())], ast.Tuple(parts, ast.Load()))]


class Keyworded(Rewrite):
    """`f(a, b)` becomes `f(x=a, y=b)`, for functions of the program that nothing transforms."""

    def __init__(self, tree: ast.Module) -> None:
        super().__init__(tree)
        nodes = list(ast.walk(tree))
        count = Counter(one.name for one in nodes if isinstance(one, ast.FunctionDef))
        stored = {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        self.plain = {
            one.name: parameters(one)
            for one in tree.body
            if isinstance(one, ast.FunctionDef)
            and count[one.name] == 1
            and not one.decorator_list
            and not (one.args.posonlyargs or one.args.vararg)
            and one.name not in stored
        }

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Name what is given."""
        self.generic_visit(node)
        names = self.plain.get(node.func.id, []) if isinstance(node.func, ast.Name) else []
        if (
            names
            and node.args
            and not any(isinstance(one, ast.Starred) for one in node.args)
            and len(node.args) <= len(names)
        ):
            self.changed = True
            given = [ast.keyword(name, one) for name, one in zip(names, node.args, strict=False)]
            node.args, node.keywords = [], [*given, *node.keywords]
        return node


class Imported(Rewrite):
    """`jax.vmap` and `jax.random.normal` become `vmap` and `jr.normal`, imported by these names."""

    header = "from jax import vmap, jit, grad, value_and_grad\nimport jax.random as jr\nimport jax.lax as jl"
    places: ClassVar[dict[str, str]] = {"jax.random": "jr", "jax.lax": "jl"}

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Name it otherwise."""
        path = self.path(node)
        if path in {"jax.vmap", "jax.jit", "jax.grad", "jax.value_and_grad"} and not self._is_taken(node.attr):
            self.changed = True
            return load(node.attr)
        library = path.rpartition(".")[0]
        if library in self.places:
            self.changed = True
            return expression(f"{self.places[library]}.{node.attr}")
        return self.generic_visit(node)  # type: ignore[return-value]

    def _is_taken(self, name: str) -> bool:
        names = {one.id for one in ast.walk(self.tree) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        return name in names | {one.arg for one in ast.walk(self.tree) if isinstance(one, ast.arg)}


class Leaves(Rewrite):
    """`jax.tree.map(f, a, b)` becomes `f` of the leaves, put together again."""

    header = "import jax"

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Go through the leaves."""
        self.generic_visit(node)
        if self.path(node.func) not in {"jax.tree.map", "jax.tree_util.tree_map", "jax.tree_map"} or node.keywords:
            return node
        function, *trees = node.args
        if not trees or not all(isinstance(one, ast.Name) for one in trees):
            return node
        if not isinstance(function, ast.Name | ast.Lambda | ast.Attribute):
            return node
        self.changed = True
        names = [f"leaf_{at}" for at, _ in enumerate(trees)]
        lists = [expression("jax.tree.leaves(it)", it=one) for one in trees]
        body = ast.Call(function, [load(name) for name in names], [])
        if len(trees) == 1:
            made = expression(f"[body for {names[0]} in leaves]", body=body, leaves=lists[0])
        else:
            zipped = ast.Call(load("zip"), lists, [])
            made = expression(f"[body for {', '.join(names)} in zipped]", body=body, zipped=zipped)
        return expression("jax.tree.unflatten(jax.tree.structure(first), made)", first=trees[0], made=made)


class Added(Rewrite):
    """`optax.apply_updates(p, u)` becomes `jax.tree.map(lambda p, u: p + u, p, u)`."""

    header = "import jax"

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Add the updates."""
        self.generic_visit(node)
        if self.path(node.func) != "optax.apply_updates" or len(node.args) != 2:
            return node
        self.changed = True
        return expression("jax.tree.map(lambda p, u: p + u, one, two)", one=node.args[0], two=node.args[1])


class TreeUtil(Rewrite):
    """`jax.tree.map` becomes `tree_map` of `jax.tree_util`."""

    header = "from jax import tree_util as jtu"

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Name it otherwise."""
        library, _, name = self.path(node).rpartition(".")
        if library != "jax.tree" or name not in {"map", "leaves", "structure", "flatten", "unflatten"}:
            return self.generic_visit(node)  # type: ignore[return-value]
        self.changed = True
        return expression(f"jtu.tree_{name}")
