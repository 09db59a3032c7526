"""The attributes that the modules of a project set and read, counted once for all of them."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import field

from jaxaudit.frontends.source.interpret.syntax import landmarks, nodes_of
from jaxaudit.ir.record import mutable


@mutable
class Attributes:
    """What the modules that were counted so far do with attributes, by their names."""

    modules: int = 0
    set: set[str] = field(default_factory=set)
    """The attributes that modules set, and the fields of their classes."""
    reads: Counter[str] = field(default_factory=Counter)
    """How often each is read; what is written as text may be asked for by it."""

    def add(self, tree: ast.Module) -> None:
        """Count one more module."""
        seen = landmarks(tree)
        self.modules += 1
        self.set.update(one.attr for one in seen.attributes if isinstance(one.ctx, ast.Store))
        self.set.update(_fields(tree))
        self.reads.update(one.attr for one in seen.attributes if isinstance(one.ctx, ast.Load))
        self.reads.update(seen.texts)

    def is_setting(self, name: str) -> bool:
        """Whether a name is given to objects, and read once."""
        return name in self.set and self.reads[name] == 1


def _fields(tree: ast.Module) -> Iterator[str]:
    for node in nodes_of(tree):
        for one in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                yield one.target.id
