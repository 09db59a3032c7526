"""Functions that move into a module of their own."""

from __future__ import annotations

import ast

from benchmarks.rewrites.base import Rewrite, read

_IMPORTS = (ast.Import, ast.ImportFrom)


class Moved(Rewrite):
    """Functions, classes and constants that other code of the module reads stand in another file."""

    def files(self) -> dict[str, str] | None:
        """Return both files."""
        body = self.tree.body
        names = {one: _name(one) for one in body if _name(one)}
        readers = {name: any(name in read(other) for other in body if other is not one) for one, name in names.items()}
        moved = {one: name for one, name in names.items() if readers[name]}
        every = {name for one in body for name in _bound(one)}
        while bad := [one for one in moved if (read(one) & every) - set(moved.values())]:
            for one in bad:
                del moved[one]
        if not any(isinstance(one, ast.FunctionDef) for one in moved) or len(set(moved.values())) != len(moved):
            return None
        imports = [one for one in body if isinstance(one, _IMPORTS)]
        other = [*imports, *(one for one in body if one in moved)]
        used = ast.ImportFrom("helpers", [ast.alias(name) for name in moved.values()], 0)
        rest = [one for one in body if one not in moved and one not in imports]
        texts = {"example.py": [*imports, used, *rest], "helpers.py": other}
        return {
            name: ast.unparse(ast.fix_missing_locations(ast.Module(list(some), []))) for name, some in texts.items()
        }


def _name(node: ast.stmt) -> str:
    """Return the name of a definition or of a plain constant."""
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant()):
            return name
    return ""


def _bound(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
