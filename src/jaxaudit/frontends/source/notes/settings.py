"""Settings: attributes that the project gives to its objects, and how often it reads them."""

from __future__ import annotations

import ast
from itertools import islice

from jaxaudit.frontends.source.interpret.modules import Project
from jaxaudit.frontends.source.interpret.syntax import walk


def read_here_alone(project: Project, node: ast.expr) -> tuple[str, ...]:
    """Return the attributes in an expression that the project sets somewhere and reads nowhere but here."""
    read = [one.attr for one in walk(node) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load)]
    known = project.attributes
    for module in islice(project.modules.values(), known.modules, None):
        known.add(module.tree)
    return tuple(name for name in read if read.count(name) == 1 and known.is_setting(name))
