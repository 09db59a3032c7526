"""The switches of JAX that code names, whatever way it sets them: by `jax.config`, or in the environment."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxaudit.frontends.source.interpret.modules import Module
from jaxaudit.frontends.source.interpret.syntax import walk

_SWITCHES = ("jax_enable_x64",)


def switches_of(module: Module) -> Iterator[str]:
    """Return the switches that a module names in a text, as a keyword or as an attribute: who does knows of them."""
    text = module.text.lower()
    for name in (one for one in _SWITCHES if one in text):
        if any(_names(node, name) for node in walk(module.tree)):
            yield name


def _names(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Constant(value=said) | ast.keyword(arg=said) | ast.Attribute(attr=said):
            return isinstance(said, str) and said.lower() == name
        case _:
            return False
