"""The outline of a file: its functions and the names it mentions, gathered in one walk over its syntax tree."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from jaxaudit.frontends.source.interpret.syntax import FunctionNode, landmarks


@dataclass(frozen=True, slots=True)
class Outline:
    """What a walk over a file finds."""

    functions: tuple[FunctionNode, ...]
    mentioned: frozenset[str]
    """Names that are read, as variables or as attributes."""


def outline(tree: ast.Module) -> Outline:
    """Gather what a file defines and mentions."""
    seen = landmarks(tree)
    functions = sorted(seen.functions, key=lambda node: (node.lineno, node.col_offset))
    return Outline(
        tuple(functions), frozenset([*(one.id for one in seen.loads), *(one.attr for one in seen.attributes)])
    )
