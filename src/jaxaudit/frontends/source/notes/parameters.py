"""Notes about parameters that a body never mentions, and whether somebody else prescribes what a function takes."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.syntax import landmarks
from jaxaudit.frontends.source.names.flow import scopes_of
from jaxaudit.frontends.source.values.callables import FunctionValue, Library
from jaxaudit.frontends.source.values.model import Abstract
from jaxaudit.frontends.source.values.structure import leaves
from jaxaudit.spans import span_of

_SAYS_SO = re.compile(
    r"unused|not used|ignored|compat|deprecat|reserved|placeholder|interface|signature", re.IGNORECASE
)
_SAME = 2
"""From so many parameters on, two functions with the same ones are taken for two of a kind."""
_WRAPPERS = frozenset("jit vmap pmap grad value_and_grad checkpoint remat".split())
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def note_parameters(it: Interpreter, function: FunctionValue, bound: Mapping[str, Abstract]) -> None:
    """Note each parameter that the body of a function never mentions."""
    node = function.node
    params = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    scope = scopes_of(function.module, it.project).get(node)
    names = frozenset[str]() if scope is None else scope.unread_parameters()
    unread = [one for one in params if one.arg in names]
    bases = () if function.owner is None else function.owner.bases
    for param in unread:
        attrs = {
            "name": param.arg,
            "kind": "parameter",
            "values": tuple(dict.fromkeys(leaves(it, bound[param.arg]))),
            "function": function.name,
            "position": params.index(param),
            "read": len(params) - len(unread),
            "method": function.owner is not None,
            "overrides": any(not isinstance(one, Library) for one in bases),
            "stub": _is_stub(node),
            "optional": param.arg in function.defaults,
            "chosen": not isinstance(node, ast.Lambda) and _chooses_parameters(function.module.tree, node),
            "handed_on": not isinstance(node, ast.Lambda) and _is_handed_on(function.module.tree, node),
        }
        it.emit("py.unread", span_of(param, function.module.path), attrs=attrs, results=0)


def _is_stub(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> bool:
    """Whether a body does nothing of its own: it raises, passes, or returns a constant or one name."""
    if isinstance(node, ast.Lambda):
        return isinstance(node.body, (ast.Constant, ast.Name, ast.Attribute))
    body = [one for one in node.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
    if len(body) > 1:
        return False
    return not body or isinstance(body[0], (ast.Raise, ast.Pass)) or _returns_plainly(body[0])


def _returns_plainly(node: ast.stmt) -> bool:
    return isinstance(node, ast.Return) and isinstance(node.value, ast.Constant | ast.Name | ast.Attribute | None)


def _chooses_parameters(tree: ast.Module, node: _Function) -> bool:
    """Whether nothing but a function's own calls prescribes its parameters.

    A function that is handed on, decorated, or written beside another one with the same parameters may have to fit an
    interface, and so may one whose text says that something is unused.
    """
    handed, alike = _handed_on(tree), _signatures(tree)
    if node.decorator_list or node.name in handed or alike[_own_names(node)] > 1:
        return False
    return not _SAYS_SO.search(ast.get_docstring(node, clean=False) or "")


def _is_handed_on(tree: ast.Module, node: _Function) -> bool:
    """Whether a function is put into a record or given to other code, which prescribes what it takes."""
    return node.name in _handed_on(tree)


@lru_cache(maxsize=4096)
def _handed_on(tree: ast.Module) -> frozenset[str]:
    """Return the names that a module uses otherwise than to call them."""
    seen = landmarks(tree)
    wrapped = {call.args[0] for call in seen.calls if call.args and _is_wrapper(call.func)}
    called = {call.func for call in seen.calls} | wrapped
    return frozenset((*(node.id for node in seen.loads if node not in called), *seen.texts))


def _is_wrapper(node: ast.expr) -> bool:
    """Whether this is `jax.jit` or its like, which take functions of any signature."""
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name.removeprefix("filter_") in _WRAPPERS


@lru_cache(maxsize=4096)
def _signatures(tree: ast.Module) -> Counter[tuple[str, ...]]:
    """Count the functions of a module by their parameters, leaving out those that have too few to tell."""
    found = (_own_names(one) for one in landmarks(tree).functions if not isinstance(one, ast.Lambda))
    return Counter(names for names in found if len(names) >= _SAME)


def _own_names(node: _Function) -> tuple[str, ...]:
    params = node.args
    return tuple(param.arg for param in (*params.posonlyargs, *params.args, *params.kwonlyargs))
