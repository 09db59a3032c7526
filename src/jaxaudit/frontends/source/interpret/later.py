"""What functions may have changed by the time that one of them runs: module-level state that other functions fill.

The top level of a module leaves `REGISTRY = {}` empty, but a function that nobody visibly calls runs later than that,
and others may have filled it by then. So code behind `if not REGISTRY` is entered.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from functools import lru_cache

from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.methods import CHANGES
from jaxaudit.frontends.source.interpret.modules import Module
from jaxaudit.frontends.source.interpret.syntax import landmarks, walk
from jaxaudit.frontends.source.names.members import assigned_in, is_assigned
from jaxaudit.frontends.source.values.callables import BoundMethod, FunctionValue, PartialValue, Transformed
from jaxaudit.frontends.source.values.heap import Box, DictBox, ListBox, ObjectBox, OpaqueBox
from jaxaudit.frontends.source.values.model import Abstract, Const, Ref
from jaxaudit.frontends.source.values.structure import is_data, leaves
from jaxaudit.ir import Root
from jaxaudit.ir.record import replace

_CHANGING = frozenset((ast.Subscript, ast.Call))
_FUNCTIONS = (Transformed, PartialValue, BoundMethod, FunctionValue)


def open_state(it: Interpreter, modules: Iterable[Module]) -> None:
    """Forget of module-level containers and objects what functions that run later may change."""
    found = [
        (module, name, value)
        for module in modules
        if module.frame is not None
        for name, value in module.frame.env.items()
        if isinstance(value, Ref) and _may_change(it.heap[value])
    ]
    if not found:
        return
    changed, assigned = _changes(module.tree for module in it.project.modules.values())
    roots = {root.path: root for root in it.roots if root.runs}
    for module, name, ref in found:
        root = roots.get(module.path)
        if root is not None and module.frame is not None:
            it.frame = module.frame
            it.heap[ref] = _opened(it, ref, root, changed=name in changed, assigned=assigned)


def unchanged(it: Interpreter, attrs: Mapping[str, Abstract]) -> dict[str, Abstract]:
    """Return the functions and the data that a constructor leaves in attributes which no other code assigns."""
    found = {name: value for name, value in attrs.items() if isinstance(value, _FUNCTIONS) or is_data(value)}
    trees = [module.tree for module in it.project.modules.values()]
    return {name: value for name, value in found.items() if not is_assigned(name, trees)}


def _may_change(box: Box) -> bool:
    return isinstance(box, ListBox | DictBox) or (isinstance(box, ObjectBox) and box.value is None and bool(box.attrs))


def _changes(trees: Iterable[ast.Module]) -> tuple[set[str], set[str]]:
    """Return the variables whose items functions change, and the attributes that they assign outside constructors."""
    changed, assigned = set[str](), set[str]()
    for tree in trees:
        changed |= _changed_in(tree)
        assigned |= assigned_in(tree)
    return changed, assigned


@lru_cache(maxsize=4096)
def _changed_in(tree: ast.Module) -> frozenset[str]:
    changed: set[str] = set()
    for function in landmarks(tree).functions:
        for node in walk(function):
            if node.__class__ not in _CHANGING:
                continue
            match node:
                case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), ctx=ast.Store() | ast.Del()):
                    changed.add(name)
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name), attr=method)) if (
                    method in CHANGES
                ):
                    changed.add(name)
    return frozenset(changed)


def _opened(it: Interpreter, ref: Ref, root: Root, *, changed: bool, assigned: set[str]) -> Box:
    box, span = it.heap[ref], root.region.span
    with it.builder.reopened(root.region):
        if isinstance(box, ObjectBox):
            later = [name for name, value in box.attrs.items() if name in assigned and isinstance(value, Const)]
            unknown = {name: it.unknown("methods assign this attribute", span, name) for name in later}
            return replace(box, attrs={**box.attrs, **unknown})
        if not changed:
            return box
        operands = tuple(dict.fromkeys(leaves(it, ref)))
        kind = "dict" if isinstance(box, DictBox) else "list"
        rest = it.emit("py.container", span, attrs={"kind": kind}, operands=operands).result
    return DictBox(box.entries, rest) if isinstance(box, DictBox) else OpaqueBox(rest, kind)
