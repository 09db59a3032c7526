"""Whether JAX can take instances of a class apart.

Read from decorators, bases and `register_*` calls. A doubt is told as a reason, never guessed.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from jaxaudit.frontends.source.classes.members import ancestry, has_unknown_base, library_bases
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.syntax import landmarks, names_in, walk
from jaxaudit.frontends.source.values.callables import ClassValue, FunctionValue
from jaxaudit.libraries.classes import bases, decorators

_REGISTERS = decorators("registered")
_DATA_TREES = decorators("fields")
_NEUTRAL = decorators("neutral")
_REGISTERED_BASES = bases("registered")
_NEUTRAL_BASES = bases("neutral")
_MAKERS = ("__init_subclass__", "__new__")
_NAMES = (ast.Attribute, ast.Name)


def registration(it: Interpreter, cls: ClassValue) -> str:
    """Return `yes` when JAX can take instances apart, `no` when it surely cannot, else why that is not known."""
    if cls.kind == "namedtuple" or _REGISTERS.intersection(cls.decorators) or _mentioned(it, cls):
        return "yes"
    inherited = set(library_bases(cls))
    if inherited & _REGISTERED_BASES or _is_read_base(cls) or any(_registers_itself(one) for one in ancestry(cls)):
        return "yes"
    if inherited - _NEUTRAL_BASES or has_unknown_base(cls):
        return f"what the bases of {cls.name} do is not known"
    for current in ancestry(cls):
        strange = set(current.decorators) - _NEUTRAL - _REGISTERS
        hooks = {*_MAKERS, "__jax_array__", "__instancecheck__"} & current.namespace.keys()
        if strange or hooks or (current.node is not None and current.node.keywords):
            return f"how {current.name} is made is not known"
    return f"{cls.name} is an enum" if cls.kind == "enum" else "no"


@lru_cache(maxsize=1024)
def registers_all_fields(cls: ClassValue) -> bool:
    """Whether every field of a class is a leaf or a tree, except those it declares static."""
    registered = _REGISTERED_BASES.intersection(library_bases(cls))
    return bool(_DATA_TREES.intersection(cls.decorators) or registered or _is_read_base(cls))


def _is_read_base(cls: ClassValue) -> bool:
    """Whether a base that registers its heirs is a library's that was read as source."""
    return any(f"{one.frame.module.name}.{one.name}" in _REGISTERED_BASES for one in ancestry(cls))


def _registers_itself(cls: ClassValue) -> bool:
    """Whether making an heir or an instance of a class registers it."""
    made = [cls.namespace.get(name) for name in _MAKERS]
    return any(isinstance(one, FunctionValue) and _registers_in(one.node) for one in made)


def _registers_in(node: ast.AST) -> bool:
    names = [one.attr if isinstance(one, ast.Attribute) else one.id for one in walk(node) if isinstance(one, _NAMES)]
    return any(name.startswith("register_pytree") for name in names)


def _mentioned(it: Interpreter, cls: ClassValue) -> bool:
    return any(cls.name in registered_names(one.tree) for one in it.project.modules.values() if one.registers)


@lru_cache(maxsize=4096)
def registered_names(tree: ast.Module) -> frozenset[str]:
    """Return every name that stands in a call, or in a loop around a call, of something that registers."""
    found: set[str] = set()
    seen = landmarks(tree)
    for node in (*seen.calls, *seen.loops):
        if _registers(node):
            found.update(names_in(node))
            found.update(one.attr for one in walk(node) if isinstance(one, ast.Attribute))
    return frozenset(found)


def _registers(node: ast.Call | ast.For) -> bool:
    calls = [node] if isinstance(node, ast.Call) else [one for one in walk(node) if isinstance(one, ast.Call)]
    return any("regist" in last_name(call.func).lower() for call in calls)


def last_name(node: ast.expr) -> str:
    """Return the last name of a callee, with those of its arguments where it is a call itself."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=inner, args=args):
            return " ".join((last_name(inner), *(last_name(one) for one in args)))
    return ""
