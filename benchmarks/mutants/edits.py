"""Small edits of a file by its syntax tree: what a mutant is, and helpers to find and replace nodes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate

Node = ast.expr | ast.stmt | ast.keyword | ast.arg | ast.Slice
TRANSFORMATIONS = (
    "jit",
    "vmap",
    "pmap",
    "grad",
    "value_and_grad",
    "scan",
    "fori_loop",
    "while_loop",
    "cond",
    "switch",
    "checkpoint",
    "remat",
)


@dataclass(frozen=True, slots=True)
class Edit:
    """One stretch of a file and what replaces it. Line numbers stay: no edit adds or removes a line break."""

    node: Node
    replacement: str
    until: Node | None = None
    """The last node of the stretch, where it has several: they stand inside brackets."""


@dataclass(frozen=True)
class File:
    """A Python file with its syntax tree."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.text)

    @cached_property
    def data(self) -> bytes:
        """The text as bytes, which is what syntax nodes count in."""
        return self.text.encode()

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(map(len, self.data.splitlines(keepends=True)))]

    @property
    def nodes(self) -> Sequence[ast.AST]:
        """All nodes, outer ones first."""
        return walked(self.tree)

    @cached_property
    def functions(self) -> list[ast.FunctionDef]:
        """All functions, outer ones first."""
        return [node for node in self.nodes if isinstance(node, ast.FunctionDef)]

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node that holds each node."""
        return {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}

    @cached_property
    def traced(self) -> set[ast.FunctionDef]:
        """The functions that JAX traces: given to a transformation, decorated with one, inside or called by another."""
        given = {
            one.id for call in calls(self.tree, *TRANSFORMATIONS) for one in call.args if isinstance(one, ast.Name)
        }
        found: set[ast.FunctionDef] = set()
        queue = [one for one in self.functions if one.name in given or _is_compiled(one)]
        while queue:
            function = queue.pop()
            if function not in found:
                found.add(function)
                names = {one.id for one in names_read(function)}
                inner = [one for one in walked(function) if isinstance(one, ast.FunctionDef)]
                queue += [*inner, *(one for one in self.functions if one.name in names)]
        return found

    @cached_property
    def by_name(self) -> dict[str, ast.FunctionDef]:
        """The functions whose name no other function of the file has."""
        names = [one.name for one in self.functions]
        return {one.name: one for one in self.functions if names.count(one.name) == 1}

    def stretch(self, node: ast.AST) -> tuple[int, int]:
        """Return where a node begins and ends, in bytes."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        end_line, end_column = getattr(node, "end_lineno", line), getattr(node, "end_col_offset", 0)
        return self._starts[line - 1] + column, self._starts[end_line - 1] + end_column

    def source(self, node: ast.AST) -> str:
        """Return the text of a node."""
        start, end = self.stretch(node)
        return self.data[start:end].decode()

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """Return the nodes that hold a node, innermost first."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def function(self, node: ast.AST) -> ast.FunctionDef | None:
        """Return the innermost function around a node."""
        return next((one for one in self.around(node) if isinstance(one, ast.FunctionDef)), None)

    def statement(self, node: ast.AST) -> ast.stmt:
        """Return the innermost statement that a node is part of."""
        return next(one for one in (node, *self.around(node)) if isinstance(one, ast.stmt))

    def is_traced(self, node: ast.AST) -> bool:
        """Whether a node stands in a function that JAX traces."""
        return self.function(node) in self.traced

    def edited(self, edit: Edit) -> str:
        """Return the text with an edit made; the lines that the node took are kept as empty ones."""
        start, end = self.stretch(edit.node)[0], self.stretch(edit.until or edit.node)[1]
        data = self.data
        lost = data[start:end].count(b"\n") - edit.replacement.count("\n")
        bracketed = bool(lost) and edit.until is None
        # Inside brackets a line break means nothing, so those that are lost are put back there.
        return (
            data[:start] + b"(" * bracketed + edit.replacement.encode() + b"\n" * lost + b")" * bracketed + data[end:]
        ).decode()


def _is_compiled(function: ast.FunctionDef) -> bool:
    return any(word in ast.unparse(one) for one in function.decorator_list for word in ("jit", "vmap", "pmap"))


@cache
def walked(tree: ast.AST) -> Sequence[ast.AST]:
    """Return all nodes of a tree, outer ones first."""
    return tuple(ast.walk(tree))


def calls(tree: ast.AST, *names: str) -> Iterator[ast.Call]:
    """Return all calls of functions by the last part of their names."""
    return (node for node in walked(tree) if isinstance(node, ast.Call) and called(node) in names)


def called(call: ast.Call) -> str:
    """Return the last part of the name of what is called."""
    return last_name(call.func)


def last_name(node: ast.AST | None) -> str:
    """Return the last part of a dotted name."""
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def is_array_function(call: ast.Call) -> bool:
    """Whether a call is one of `jnp`: its owner is written so."""
    return isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) in ("jnp", "jax.numpy")


def keyword(call: ast.Call, name: str) -> ast.keyword | None:
    """Return an argument by its name."""
    return next((one for one in call.keywords if one.arg == name), None)


def is_constant(node: ast.expr | None, value: object) -> bool:
    """Whether an expression is a constant, a negative number among them."""
    try:
        return node is not None and ast.literal_eval(node) == value and type(ast.literal_eval(node)) is type(value)
    except (ValueError, TypeError):
        return False


def names_read(node: ast.AST, where: Callable[[ast.Name], bool] = lambda name: True) -> Iterator[ast.Name]:
    """Return every variable that is read in a node."""
    return (one for one in walked(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and where(one))


def read_after(function: ast.AST, name: str, line: int) -> list[ast.Name]:
    """Return the places of a function where a variable is read below a line."""
    return sorted(names_read(function, lambda one: one.id == name and one.lineno > line), key=lambda one: one.lineno)


def parameters(function: ast.FunctionDef) -> list[str]:
    """Return the names of a function's positional parameters."""
    return [one.arg for one in (*function.args.posonlyargs, *function.args.args)]


def unpackings(function: ast.AST) -> Iterator[tuple[ast.Tuple, ast.Call]]:
    """Return the assignments of a function that take the results of a call apart: `a, b = f(...)`."""
    for node in walked(function):
        match node:
            case ast.Assign(targets=[ast.Tuple() as target], value=ast.Call() as call):
                yield target, call


def own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """Return the nodes of a function that are not inside another function."""
    for child in ast.iter_child_nodes(function):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            yield from own_nodes(child)


def returned(function: ast.FunctionDef) -> ast.expr | None:
    """Return the value of the only `return` of a function."""
    found = [one for one in own_nodes(function) if isinstance(one, ast.Return)]
    return found[0].value if len(found) == 1 else None


def scan_bodies(file: File) -> Iterator[tuple[ast.FunctionDef, ast.Call]]:
    """Return the functions that a scan of the file is given by name, with the scan."""
    for call in calls(file.tree, "scan"):
        match call.args:
            case [ast.Name(id=name), *_] if name in file.by_name and len(parameters(file.by_name[name])) == 2:
                yield file.by_name[name], call
