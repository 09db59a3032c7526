"""Settings: attributes that the project gives to its objects, and how often it reads them."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from jaxaudit.frontends.source.interpret.modules import Module, Project
from jaxaudit.frontends.source.interpret.syntax import landmarks, walk


def read_here_alone(project: Project, node: ast.expr) -> tuple[str, ...]:
    """Return the attributes in an expression that the project sets somewhere and reads nowhere but here."""
    read = [one.attr for one in walk(node) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load)]
    modules = list(project.modules.values())
    return tuple(name for name in read if read.count(name) == 1 and _is_setting(name, modules))


def _is_setting(name: str, modules: list[Module]) -> bool:
    """Whether a name is given to objects, and read once; what is written as text may be asked for by it."""
    declared = any(name in _declared(one.tree) for one in modules)
    return declared and sum(_reads(one.tree)[name] for one in modules) == 1


@lru_cache(maxsize=4096)
def _reads(tree: ast.Module) -> Counter[str]:
    seen = landmarks(tree)
    return Counter([*(one.attr for one in seen.attributes if isinstance(one.ctx, ast.Load)), *seen.texts])


@lru_cache(maxsize=4096)
def _declared(tree: ast.Module) -> frozenset[str]:
    """Return the attributes that a module sets, and the fields of its classes."""
    stored = (one.attr for one in landmarks(tree).attributes if isinstance(one.ctx, ast.Store))
    return frozenset((*stored, *_fields(tree)))


def _fields(tree: ast.Module) -> Iterator[str]:
    for node in walk(tree):
        for one in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                yield one.target.id
