"""Imports: binding names to the project's modules, or to libraries by their qualified names."""

from __future__ import annotations

import ast
from functools import partial

from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.modules import Module, Project
from jaxaudit.frontends.source.values.callables import Library
from jaxaudit.frontends.source.values.frames import Frame
from jaxaudit.frontends.source.values.model import Abstract
from jaxaudit.ir import Exit, Root
from jaxaudit.spans import Span


def interpret(it: Interpreter, module: Module) -> None:
    """Interpret the top level of a module once; a circular import sees what is bound so far."""
    if module.frame is not None:
        return
    module.frame = Frame(module, None, "module", module.name)
    frame_before = getattr(it, "frame", None)
    active_before = it.active
    opened = it.budget.open_module(module.path, it.builder.emitted)
    it.active = []
    it.frame = module.frame
    module.frame.env["__name__"] = it.main_or_name(module)
    span = Span(module.path, 1, 0, 1, 0)
    try:
        with it.own_sides(), it.builder.nested("root", module.name, span) as region:
            it.execute(module.tree.body)
        module.ended = True
        it.builder.close(region)
        it.roots.append(Root(module.name, module.path, region, runs=True))
    finally:
        it.active = active_before
        it.budget.close_module(opened, it.builder.emitted)
        if frame_before is not None:
            it.frame = frame_before


def import_(it: Interpreter, node: ast.Import) -> Exit:
    """Interpret `import a.b.c` and `import a.b.c as d`."""
    for alias in node.names:
        if alias.asname is not None:
            _bind(it, alias.asname, module_or_library(it, alias.name))
            continue
        module_or_library(it, alias.name)
        top = alias.name.partition(".")[0]
        it.frame.env[top] = module_or_library(it, top)
    return Exit.FALL


def _bind(it: Interpreter, name: str, meant: Abstract) -> None:
    """Bind a name to what is imported, and remember where it was another library before."""
    before = it.frame.env.get(name)
    if it.frame.kind == "module" and isinstance(before, Library) and isinstance(meant, Library) and before != meant:
        it.frame.module.rebound.add(name)
    it.frame.env[name] = meant


def module_or_library(it: Interpreter, name: str) -> Abstract:
    """Return what a dotted name means when the open module imports it."""
    module = it.project.find(name, it.frame.module)
    return Library(name) if module is None else it.module_value(module)


def import_from(it: Interpreter, node: ast.ImportFrom) -> Exit:
    """Interpret `from a import b, c as d`, relative and star imports included.

    A file that is not audited itself imports what somebody asks for: most of a large project is never asked for.
    """
    importer = it.frame.module
    can_wait = not importer.audited and it.frame is importer.frame and node in importer.tree.body
    for alias in node.names:
        name = alias.asname or alias.name
        if alias.name == "*":
            _import_star(it, imported_module(it.project, importer, node))
        elif can_wait and name not in it.frame.env:
            importer.waiting[name] = partial(_import_now, it, importer, node, alias)
        else:
            it.frame.env[name] = _imported(it, node, alias)
    return Exit.FALL


def _import_now(it: Interpreter, importer: Module, node: ast.ImportFrom, alias: ast.alias) -> None:
    """Carry out an import of a file that waited until somebody asked for the name."""
    assert importer.frame is not None
    asking, it.frame = it.frame, importer.frame
    try:
        importer.frame.env[alias.asname or alias.name] = _imported(it, node, alias)
    finally:
        it.frame = asking


def _imported(it: Interpreter, node: ast.ImportFrom, alias: ast.alias) -> Abstract:
    """Return what `from a import b` means in the open module."""
    importer, dotted = it.frame.module, node.module or ""
    source, module = _source_name(importer, node), imported_module(it.project, importer, node)
    if module is not None:
        return _member(it, module, alias.name, it.span(node))
    if source is not None:
        # The source may be a folder without `__init__.py`, and the name a module in it.
        return module_or_library(it, f"{source}.{alias.name}")
    inner = it.project.beside(importer, node.level, f"{dotted}.{alias.name}".strip("."))
    reason = f"{'.' * node.level}{dotted} is not part of what was read"
    return it.unknown(reason, it.span(node), alias.name) if inner is None else it.module_value(inner)


def is_there(it: Interpreter, node: ast.Import | ast.ImportFrom) -> bool:
    """Whether what is imported can be found for sure: it is part of JAX, or in sight."""
    if isinstance(node, ast.ImportFrom) and imported_module(it.project, it.frame.module, node) is not None:
        return True
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    return all(
        name.partition(".")[0] in _PARTS_OF_JAX or it.project.find(name, it.frame.module) is not None for name in names
    )


_PARTS_OF_JAX = frozenset(("jax", "jaxlib", "numpy"))
"""The packages without which nothing that is audited runs."""


def imported_module(project: Project, importer: Module, node: ast.ImportFrom) -> Module | None:
    """Return the file of the project that names are imported from."""
    source = _source_name(importer, node)
    return project.beside(importer, node.level, node.module or "") if source is None else project.find(source, importer)


def _source_name(module: Module, node: ast.ImportFrom) -> str | None:
    """Return the dotted name of what is imported from; None where it lies above all packages that are known."""
    if node.level == 0:
        return node.module or ""
    parts = module.base.split(".") if module.base else []
    if node.level > len(parts):
        return None
    base = parts[: len(parts) - (node.level - 1)]
    return ".".join([*base, *([node.module] if node.module else [])])


def _member(it: Interpreter, module: Module, name: str, span: Span) -> Abstract:
    it.module_value(module)
    found = module.member(name)
    if found is not None:
        return found
    inner = it.project.find(f"{module.name}.{name}", module)
    if inner is not None:
        return it.module_value(inner)
    return it.unknown(f"{module.name} has no {name} in what was read", span, name)


def _import_star(it: Interpreter, module: Module | None) -> None:
    if module is None:
        return
    it.module_value(module)
    listed = _exported(module)
    for name, found in list(module.members().items()):
        if name in listed if listed is not None else not name.startswith("_"):
            it.frame.env[name] = found


def _exported(module: Module) -> set[str] | None:
    for node in module.tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            if isinstance(node.value, ast.List | ast.Tuple):
                return {str(item.value) for item in node.value.elts if isinstance(item, ast.Constant)}
    return None


HANDLERS = {ast.Import: import_, ast.ImportFrom: import_from}
