"""The switches of JAX: those that code names, whatever way it sets them, and what it puts into the environment."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxaudit.frontends.source.interpret.modules import Module
from jaxaudit.frontends.source.interpret.syntax import nodes_of
from jaxaudit.ir.members import Exported
from jaxaudit.libraries.packages import JAX, READ_AT_IMPORT, package
from jaxaudit.spans import Span, span_of

_SWITCHES = ("jax_enable_x64",)


def switches_of(module: Module) -> Iterator[str]:
    """Return the switches that a module names in a text, as a keyword or as an attribute: who does knows of them."""
    text = module.text.lower()
    for name in (one for one in _SWITCHES if one in text):
        if any(_names(node, name) for node in nodes_of(module.tree)):
            yield name


def _names(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Constant(value=said) | ast.keyword(arg=said) | ast.Attribute(attr=said):
            return isinstance(said, str) and said.lower() == name
        case _:
            return False


_CHILDREN = frozenset("subprocess multiprocessing concurrent torch.multiprocessing".split())
"""Packages that start processes, which get the environment as it is then."""


def exported_by(module: Module) -> Iterator[Exported]:
    """Return the switches that the top level of a module puts into the environment, and what imported JAX before."""
    if "environ" not in module.text:
        return
    imported: Span | None = None
    named = frozenset(switches_of(module)) if ".update(" in module.text else frozenset[str]()
    children = any(_imports(node) & _CHILDREN for node in nodes_of(module.tree))
    for statement in _in_order(module.tree.body):
        if imported is None and _imports(statement) & JAX:
            imported = span_of(statement, module.path)
        for name in _set_by(statement):
            again = name.lower() in named and f'"{name.lower()}"' in module.text
            yield Exported(name, span_of(statement, module.path), imported, open=children or again)


def _in_order(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Return the statements that run when a module is imported or run, those on the sides of conditions included."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
            continue
        if isinstance(statement, ast.If | ast.Try | ast.With):
            yield from _in_order(statement.body)
            yield from _in_order(getattr(statement, "orelse", []))


def _imports(node: ast.AST) -> frozenset[str]:
    match node:
        case ast.Import(names=names):
            return frozenset(package(one.name) for one in names)
        case ast.ImportFrom(module=str(name), level=0):
            return frozenset((package(name),))
    return frozenset()


def _set_by(statement: ast.stmt) -> Iterator[str]:
    """Return the variables that JAX reads when it is imported, and that a statement sets in the environment."""
    match statement:
        case ast.Assign(targets=[ast.Subscript(value=holder, slice=ast.Constant(value=name))]):
            names = [name]
        case ast.Expr(ast.Call(ast.Attribute(value=holder, attr="setdefault"), [ast.Constant(value=name), *_])):
            names = [name]
        case ast.Expr(ast.Call(ast.Attribute(value=holder, attr="update"), [ast.Dict(keys=keys)])):
            names = [one.value for one in keys if isinstance(one, ast.Constant)]
        case _:
            return
    if ast.unparse(holder) in ("os.environ", "environ"):
        yield from (name for name in names if isinstance(name, str) and name in READ_AT_IMPORT)
