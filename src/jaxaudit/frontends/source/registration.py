"""Whether JAX can take instances of a class apart, and which of their fields it treats as structure.

Read from decorators, bases, field declarations and `register_*` calls. A doubt is told as a reason, never guessed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from jaxaudit.frontends.source.members import ancestry, has_unknown_base, library_bases
from jaxaudit.frontends.source.syntax import landmarks, walk
from jaxaudit.frontends.source.values import ClassValue, FunctionValue
from jaxaudit.spans import Span, span_of

if TYPE_CHECKING:
    from jaxaudit.frontends.source.interpreter import Interpreter

_REGISTERS = frozenset(
    """jax.tree_util.register_pytree_node_class jax.tree_util.register_dataclass jax.tree_util.register_static
    jax.tree_util.register_pytree_with_keys_class flax.struct.dataclass chex.dataclass flax.nnx.dataclass
    jax_dataclasses.pytree_dataclass tjax.dataclass chex.mappable_dataclass""".split()
)
_DATA_TREES = frozenset(
    "flax.struct.dataclass chex.dataclass jax_dataclasses.pytree_dataclass jax.tree_util.register_dataclass".split()
)
_NEUTRAL = frozenset(
    """dataclasses.dataclass functools.total_ordering typing.final typing_extensions.final typing.runtime_checkable
    typing_extensions.runtime_checkable""".split()
)
_REGISTERED_BASES = frozenset("equinox.Module flax.struct.PyTreeNode simple_pytree.Pytree penzai.pz.Struct".split())
_MAKERS = ("__init_subclass__", "__new__")
_NAMES = (ast.Attribute, ast.Name)
_NEUTRAL_BASES = frozenset("builtins.object abc.ABC typing.Generic typing.Protocol typing_extensions.Protocol".split())


def registration(it: Interpreter, cls: ClassValue) -> str:
    """Say `yes` when JAX can take instances apart, `no` when it surely cannot, else why that is not known."""
    if cls.kind == "namedtuple" or _REGISTERS.intersection(cls.decorators) or _mentioned(it, cls):
        return "yes"
    bases = set(library_bases(cls))
    if bases & _REGISTERED_BASES or _is_read_base(cls) or any(_registers_itself(one) for one in ancestry(cls)):
        return "yes"
    if bases - _NEUTRAL_BASES or has_unknown_base(cls):
        return f"what the bases of {cls.name} do is not known"
    for current in ancestry(cls):
        strange = set(current.decorators) - _NEUTRAL - _REGISTERS
        hooks = {*_MAKERS, "__jax_array__", "__instancecheck__"} & current.namespace.keys()
        if strange or hooks or (current.node is not None and current.node.keywords):
            return f"how {current.name} is made is not known"
    return f"{cls.name} is an enum" if cls.kind == "enum" else "no"


def is_data_tree(cls: ClassValue) -> bool:
    """Tell whether every field of a class is a leaf or a tree, except those it declares static."""
    registered = _REGISTERED_BASES.intersection(library_bases(cls))
    return bool(_DATA_TREES.intersection(cls.decorators) or registered or _is_read_base(cls))


def _is_read_base(cls: ClassValue) -> bool:
    """Tell whether a base that registers its heirs is a library's that was read as source."""
    return any(f"{one.frame.module.name}.{one.name}" in _REGISTERED_BASES for one in ancestry(cls))


def _registers_itself(cls: ClassValue) -> bool:
    """Tell whether making an heir or an instance of a class registers it."""
    made = [cls.namespace.get(name) for name in _MAKERS]
    return any(isinstance(one, FunctionValue) and _registers_in(one.node) for one in made)


def _registers_in(node: ast.AST) -> bool:
    names = [one.attr if isinstance(one, ast.Attribute) else one.id for one in walk(node) if isinstance(one, _NAMES)]
    return any(name.startswith("register_pytree") for name in names)


def _mentioned(it: Interpreter, cls: ClassValue) -> bool:
    return any(cls.name in registered_names(one.tree) for one in it.project.modules.values() if one.registers)


@lru_cache(maxsize=4096)
def registered_names(tree: ast.Module) -> frozenset[str]:
    """Give every name that stands in a call, or in a loop around a call, of something that registers."""
    found: set[str] = set()
    seen = landmarks(tree)
    for node in (*seen.calls, *seen.loops):
        if _registers(node):
            found.update(one.id for one in walk(node) if isinstance(one, ast.Name))
            found.update(one.attr for one in walk(node) if isinstance(one, ast.Attribute))
    return frozenset(found)


def _registers(node: ast.Call | ast.For) -> bool:
    calls = [node] if isinstance(node, ast.Call) else [one for one in walk(node) if isinstance(one, ast.Call)]
    return any("regist" in _last(call.func).lower() for call in calls)


def _last(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=inner, args=args):
            return " ".join((_last(inner), *(_last(one) for one in args)))
    return ""


def static_fields(cls: ClassValue) -> Mapping[str, Span]:
    """Give the fields that become structure rather than leaves, each with the place that says so."""
    found: dict[str, Span] = {}
    for current in ancestry(cls):
        if current.node is not None:
            path = current.frame.module.path
            found.update((name, span_of(node, path)) for name, node in _declared(current.node))
            found.update(
                (name, span_of(node, path)) for name, node in _auxiliary(current.node, current.frame.module.tree)
            )
    return found


@lru_cache(maxsize=4096)
def _declared(node: ast.ClassDef) -> tuple[tuple[str, ast.stmt], ...]:
    fields = [one for one in node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
    return tuple((one.target.id, one) for one in fields if isinstance(one.target, ast.Name) and _says_static(one))


def _says_static(field: ast.AnnAssign) -> bool:
    words = field.value.keywords if isinstance(field.value, ast.Call) else ()
    for word in words:
        if isinstance(word.value, ast.Constant):
            if (word.arg == "static" and word.value.value is True) or (
                word.arg == "pytree_node" and word.value.value is False
            ):
                return True
    return False


@lru_cache(maxsize=4096)
def _auxiliary(node: ast.ClassDef, tree: ast.Module) -> tuple[tuple[str, ast.expr], ...]:
    """Give the fields that a flatten function or a list of meta fields makes part of the structure."""
    found: list[tuple[str, ast.expr]] = []
    for one in node.body:
        if isinstance(one, ast.FunctionDef) and one.name in ("tree_flatten", "tree_flatten_with_keys"):
            found.extend(_second_part(one))
    for call in _registrations(node, tree):
        found.extend(_meta_fields(call))
        names = [arg.id for arg in call.args[1:2] if isinstance(arg, ast.Name)]
        for one in tree.body:
            if isinstance(one, ast.FunctionDef) and one.name in names:
                found.extend(_second_part(one))
    return tuple(found)


def _registrations(node: ast.ClassDef, tree: ast.Module) -> Iterator[ast.Call]:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and "register_dataclass" in _last(decorator):
            yield decorator
    if node.name not in registered_names(tree):
        return
    for one in landmarks(tree).calls:
        if _last(one.func).startswith("register_") and one.args:
            if _last(one.args[0]) == node.name:
                yield one


def _meta_fields(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    for word in call.keywords:
        if word.arg == "meta_fields" and isinstance(word.value, ast.List | ast.Tuple):
            for item in word.value.elts:
                if isinstance(item, ast.Constant) and isinstance(item.value, str):
                    yield item.value, item


def _second_part(function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """Give the fields of the first parameter that stand as they are in the second thing a function returns."""
    if not function.args.args:
        return
    receiver = function.args.args[0].arg
    assigned = {
        one.targets[0].id: one.value
        for one in function.body
        if isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name)
    }
    for one in function.body:
        if isinstance(one, ast.Return) and isinstance(one.value, ast.Tuple) and len(one.value.elts) == 2:
            part = one.value.elts[1]
            yield from _fields_in(assigned.get(part.id, part) if isinstance(part, ast.Name) else part, receiver)


def _fields_in(node: ast.expr, receiver: str) -> Iterator[tuple[str, ast.expr]]:
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr=field) if name == receiver:
            yield field, node
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Dict(values=items):
            for item in items:
                yield from _fields_in(item, receiver)
