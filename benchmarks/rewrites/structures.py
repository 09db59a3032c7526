"""Records of another kind, and functions that take or give several values in one."""

from __future__ import annotations

import ast
from collections import Counter
from typing import ClassVar

from benchmarks.rewrites.base import Rewrite, expression, is_plain, load, parameters, store, within

_RECORDS = {"typing.NamedTuple", "flax.struct.dataclass", "chex.dataclass", "dataclasses.dataclass"}
_ORDERED = ("leaves", "flatten", "ravel_pytree", "concatenate_tree")
_OF_ARRAYS = {"shape", "dtype", "ndim", "size", "T", "at", "mean", "sum", "max", "min", "std", "var", "apply", "init"}


class AsDict(Rewrite):
    """A named tuple or dataclass `State(x=1)` becomes `{"x": 1}`, `s.x` becomes `s["x"]`."""

    # A dict and a tuple take whatever they are given.
    unlike = frozenset({"signature-mismatch"})
    kinds: ClassVar[frozenset[str]] = frozenset(_RECORDS)

    def __init__(self, tree: ast.Module) -> None:
        super().__init__(tree)
        self.nodes = list(ast.walk(tree))
        self.records = {
            one.name: _fields(one) for one in tree.body if isinstance(one, ast.ClassDef) and self._plain(one)
        }
        self.owner = {name: record for record, fields in self.records.items() for name in fields}
        if not self._can():
            self.records, self.owner = {}, {}

    def _plain(self, node: ast.ClassDef) -> bool:
        marks = [*node.bases, *node.decorator_list]
        kinds = {self.path(one.func if isinstance(one, ast.Call) else one) for one in marks}
        fields = [one for one in node.body if isinstance(one, ast.AnnAssign) and one.value is None]
        texts = [one for one in node.body if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)]
        return len(marks) == 1 and kinds <= self.kinds and len(fields) + len(texts) == len(node.body)

    def _can(self) -> bool:
        """Whether records are made and read by their names alone."""
        made = Counter(
            one.func.id for one in self.nodes if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)
        )
        reads = Counter(one.id for one in self.nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load))
        said = {id(name) for one in self.nodes for name in _annotations(one)}
        reads.subtract(one.id for one in self.nodes if isinstance(one, ast.Name) and id(one) in said)
        every = [name for fields in self.records.values() for name in fields]
        set_on = {one.attr for one in self.nodes if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)}
        classes = [one for one in self.nodes if isinstance(one, ast.ClassDef) and one.name not in self.records]
        other = {name.id for one in classes for name in ast.walk(one) if isinstance(name, ast.Name)}
        other |= {one.name for one in self.nodes if isinstance(one, ast.FunctionDef)}
        text = " ".join(one.attr for one in self.nodes if isinstance(one, ast.Attribute))
        return (
            all(made[name] == reads[name] for name in self.records)
            and len(set(every)) == len(every)
            and not set(every) & (set_on | other | _OF_ARRAYS)
            and not any(word in text for word in _ORDERED)
            and not any(isinstance(one, ast.Starred) for one in self.nodes)
        )

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST | None:
        """Leave the class out."""
        if node.name not in self.records:
            return self.generic_visit(node)
        self.changed = True
        return None

    def visit_arg(self, node: ast.arg) -> ast.arg:
        """Leave the annotation out."""
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Leave the annotation out."""
        node.returns = None
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Make the other structure, or a changed copy of it."""
        self.generic_visit(node)
        func = node.func
        if isinstance(func, ast.Name) and func.id in self.records:
            fields = self.records[func.id]
            given = dict(zip(fields, node.args, strict=False)) | {one.arg or "": one.value for one in node.keywords}
            return self._made(func.id, {name: given[name] for name in fields if name in given})
        known = [self.owner.get(one.arg or "") for one in node.keywords]
        is_copy = isinstance(func, ast.Attribute) and func.attr in {"_replace", "replace"} and not node.args
        if is_copy and isinstance(func, ast.Attribute) and known and None not in known:
            return self._copied(func.value, node.keywords)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Read a field."""
        self.generic_visit(node)
        if node.attr not in self.owner or self.path(node):
            return node
        return self._field(node)

    def _field(self, node: ast.Attribute) -> ast.expr:
        return expression(f"it[{node.attr!r}]", it=node.value)

    def _made(self, name: str, given: dict[str, ast.expr]) -> ast.expr:
        return ast.Dict([ast.Constant(one) for one in given], list(given.values()))

    def _copied(self, whole: ast.expr, changes: list[ast.keyword]) -> ast.expr:
        keys: list[ast.expr | None] = [None, *(ast.Constant(one.arg) for one in changes)]
        return ast.Dict(keys, [whole, *(one.value for one in changes)])


class AsTuple(AsDict):
    """A record becomes a plain tuple, and its fields are read by their places."""

    def _field(self, node: ast.Attribute) -> ast.expr:
        at = self.records[self.owner[node.attr]].index(node.attr)
        return expression(f"it[{at}]", it=node.value)

    def _made(self, name: str, given: dict[str, ast.expr]) -> ast.expr:
        return ast.Tuple(list(given.values()), ast.Load())

    def _copied(self, whole: ast.expr, changes: list[ast.keyword]) -> ast.expr:
        new = {one.arg: one.value for one in changes}
        fields = self.records[self.owner[changes[0].arg or ""]]
        parts = [new.get(one, expression(f"it[{at}]", it=whole)) for at, one in enumerate(fields)]
        return ast.Tuple(parts, ast.Load())


class AsStruct(AsDict):
    """A named tuple becomes a dataclass of flax."""

    unlike = frozenset()
    kinds = frozenset({"typing.NamedTuple"})
    header = "import flax\nimport flax.struct"
    decorator: ClassVar[str] = "flax.struct.dataclass"
    base: ClassVar[str] = ""
    copy: ClassVar[str] = "it.replace()"

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Make it a record of the other kind."""
        if node.name in self.records:
            self.changed = True
            node.bases = [expression(self.base)] if self.base else []
            node.decorator_list = [expression(self.decorator)] if self.decorator else []
        return node

    def _field(self, node: ast.Attribute) -> ast.expr:
        return node

    def _made(self, name: str, given: dict[str, ast.expr]) -> ast.expr:
        return ast.Call(load(name), [], [ast.keyword(one, value) for one, value in given.items()])

    def _copied(self, whole: ast.expr, changes: list[ast.keyword]) -> ast.expr:
        call = expression(self.copy, it=whole)
        assert isinstance(call, ast.Call)
        call.keywords = changes
        return call


class AsModule(AsStruct):
    """A named tuple becomes a module of Equinox."""

    header = "import dataclasses\nimport equinox"
    decorator, base, copy = "", "equinox.Module", "dataclasses.replace(it)"


class AsNamed(AsStruct):
    """A dataclass of flax or chex becomes a named tuple."""

    kinds = frozenset({"flax.struct.dataclass", "chex.dataclass"})
    header = "import typing"
    decorator, base, copy = "", "typing.NamedTuple", "it._replace()"


def _fields(node: ast.ClassDef) -> list[str]:
    return [one.target.id for one in node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]


def _annotations(node: ast.AST) -> list[ast.AST]:
    found: ast.AST | None = None
    if isinstance(node, ast.arg | ast.AnnAssign):
        found = node.annotation
    if isinstance(node, ast.FunctionDef):
        found = node.returns
    return list(ast.walk(found)) if found is not None else []


class DictResults(Rewrite):
    """`return a, b` and `a, b = f()` become `return {"r0": a, "r1": b}` and parts of what `f` gives."""

    unlike = frozenset({"swapped-results"})

    making: ClassVar[str] = "{{{fields}}}"
    field: ClassVar[str] = "'{name}': {name}"
    reading: ClassVar[str] = "whole['{name}']"

    def __init__(self, tree: ast.Module) -> None:
        super().__init__(tree)
        nodes = list(ast.walk(tree))
        defs = Counter(one.name for one in nodes if isinstance(one, ast.FunctionDef))
        reads = Counter(one.id for one in nodes if isinstance(one, ast.Name))
        taken = Counter(name for one in nodes for name in [_unpacked(one)] if name)
        self.sizes = {
            one.name: size
            for one in tree.body
            if isinstance(one, ast.FunctionDef) and defs[one.name] == 1 and not one.decorator_list
            for size in [_returned(one)]
            if size > 1 and reads[one.name] == taken[one.name] > 0
        }

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Return one value."""
        size = self.sizes.get(node.name, 0)
        if size:
            self.changed = True
            node.returns = None
            for one in [one for one in within(node) if isinstance(one, ast.Return)]:
                assert isinstance(one.value, ast.Tuple)
                names = [f"r{at}" for at in range(size)]
                fields = ", ".join(self.field.format(name=name) for name in names)
                text = self.making.format(fields=fields, size=size)
                one.value = expression(text, **dict(zip(names, one.value.elts, strict=True)))
        self.generic_visit(node)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        """Take the parts out."""
        size = self.sizes.get(_unpacked(node), 0)
        target = node.targets[0]
        if not size or not isinstance(target, ast.Tuple) or len(target.elts) != size:
            return node
        name = self.fresh("whole")
        texts = [self.reading.format(name=f"r{at}") for at in range(size)]
        parts = [
            ast.Assign([one], expression(text, whole=load(name))) for one, text in zip(target.elts, texts, strict=True)
        ]
        return [ast.Assign([store(name)], node.value), *parts]


class RecordResults(DictResults):
    """Several results are given as a named tuple."""

    header = "import typing\n" + "\n".join(
        f"class Result{size}(typing.NamedTuple):\n" + "".join(f"    r{one}: object\n" for one in range(size))
        for size in range(2, 9)
    )
    making = "Result{size}({fields})"
    field = "{name}={name}"
    reading = "whole.{name}"


def _unpacked(node: ast.AST) -> str:
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Call(func=ast.Name(id=name))) if not any(
            isinstance(one, ast.Starred) for one in targets
        ):
            return name
    return ""


def _returned(node: ast.FunctionDef) -> int:
    """Return how many values each `return` gives, where that is one number."""
    values = [one.value for one in within(node) if isinstance(one, ast.Return)]
    sizes = {len(one.elts) if isinstance(one, ast.Tuple) else 0 for one in values}
    has_star = any(isinstance(one, ast.Starred) for value in values if value for one in ast.walk(value))
    return sizes.pop() if len(sizes) == 1 and not has_star and max(sizes) < 9 else 0


class OneArgument(Rewrite):
    """`f(a, b)` becomes `f({"x": a, "y": b})`, which `f` takes apart, where it is only ever called."""

    def __init__(self, tree: ast.Module) -> None:
        super().__init__(tree)
        nodes = list(ast.walk(tree))
        reads = Counter(one.id for one in nodes if isinstance(one, ast.Name))
        defs = Counter(one.name for one in nodes if isinstance(one, ast.FunctionDef))
        plain = {
            one.name: parameters(one)
            for one in tree.body
            if isinstance(one, ast.FunctionDef) and is_plain(one) and not one.decorator_list and defs[one.name] == 1
        }
        calls = Counter(one.func.id for one in nodes if isinstance(one, ast.Call) and self._by_place(one, plain))
        self.names = {name: some for name, some in plain.items() if len(some) > 1 and reads[name] == calls[name] > 0}

    def _by_place(self, node: ast.Call, plain: dict[str, list[str]]) -> bool:
        if not isinstance(node.func, ast.Name) or node.func.id not in plain or node.keywords:
            return False
        starred = any(isinstance(one, ast.Starred) for one in node.args)
        return not starred and len(node.args) == len(plain[node.func.id])

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Take what is given apart."""
        names = self.names.get(node.name, [])
        if names:
            self.changed = True
            node.args.args = [ast.arg("given")]
            taken = [ast.Assign([store(name)], expression(f"given[{name!r}]")) for name in names]
            node.body[:0] = taken
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Give all in one."""
        self.generic_visit(node)
        names = self.names.get(node.func.id, []) if isinstance(node.func, ast.Name) else []
        if names:
            node.args = [ast.Dict([ast.Constant(name) for name in names], list(node.args))]
        return node
