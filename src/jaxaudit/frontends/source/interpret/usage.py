"""How a module uses its own functions: whether one may have any signature it likes, or must fit in with others."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import lru_cache

from jaxaudit.frontends.source.interpret.syntax import landmarks

_SAYS_SO = re.compile(
    r"unused|not used|ignored|compat|deprecat|reserved|placeholder|interface|signature", re.IGNORECASE
)
_SAME = 2
"""From so many parameters on, two functions with the same ones are taken for two of a kind."""

_WRAPPERS = frozenset("jit vmap pmap grad value_and_grad checkpoint remat".split())

Function = ast.FunctionDef | ast.AsyncFunctionDef


def chooses_parameters(tree: ast.Module, node: Function) -> bool:
    """Whether nothing but a function's own calls prescribes its parameters.

    A function that is handed on, decorated, or written beside another one with the same parameters may have to fit an
    interface, and so may one whose text says that something is unused.
    """
    handed, alike = _handed_on(tree), _signatures(tree)
    if node.decorator_list or node.name in handed or alike[_names(node)] > 1:
        return False
    return not _SAYS_SO.search(ast.get_docstring(node, clean=False) or "")


def is_handed_on(tree: ast.Module, node: Function) -> bool:
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
    found = (_names(one) for one in landmarks(tree).functions if not isinstance(one, ast.Lambda))
    return Counter(names for names in found if len(names) >= _SAME)


def _names(node: Function) -> tuple[str, ...]:
    params = node.args
    return tuple(param.arg for param in (*params.posonlyargs, *params.args, *params.kwonlyargs))
