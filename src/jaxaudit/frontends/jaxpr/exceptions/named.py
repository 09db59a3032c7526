"""What an exception names besides its own line: where a function returns, a class is defined, an option given."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxaudit.frontends.jaxpr.exceptions.model import Explanation, Facts
from jaxaudit.spans import Span, span_of

Step = tuple[Span, str]

_MOST = 4
_OF_PJIT = re.compile(r"\bpjit (arguments|outputs)\b")
_OPTIONS = {"arguments": "in_shardings", "outputs": "out_shardings"}


def named_steps(facts: Facts, told: Explanation) -> tuple[Step, ...]:
    """Return the places of the user's that an exception names, and whoever repairs it may have to change."""
    span = facts.span
    if span is None:
        return ()
    found = (*_handed_on(facts, span), *_imported(facts, span, told), *_classes(facts, told), *_options(facts))
    return tuple(dict.fromkeys(found))[:_MOST]


def _handed_on(facts: Facts, span: Span) -> Iterator[Step]:
    """Return what functions give that a call was given by name: `lax.scan(body, ...)`."""
    call = facts.expression
    if not isinstance(call, ast.Call):
        return
    given = [one.id for one in (*call.args, *(word.value for word in call.keywords)) if isinstance(one, ast.Name)]
    before = [node for node in ast.walk(facts.tree(span.path)) if getattr(node, "lineno", span.line + 1) <= span.line]
    for name in given:
        functions = [one for one in before if isinstance(one, ast.FunctionDef) and one.name == name]
        if functions:
            last = max(functions, key=lambda one: one.lineno)
            yield from ((span_of(one, span.path), f"`{name}` returns here") for one in _returns(last))


def _returns(function: ast.FunctionDef) -> Iterator[ast.Return]:
    """Return the `return` statements of a function, without those of functions inside it."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Return):
            yield node
        elif not isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            pending += ast.iter_child_nodes(node)


def _imported(facts: Facts, span: Span, told: Explanation) -> Iterator[Step]:
    """Return where a function comes from that is none for traced values: `from scipy.special import logsumexp`."""
    if told.rule != "numpy-on-traced" or not facts.call:
        return
    root = facts.call.partition(".")[0]
    for node in ast.walk(facts.tree(span.path)):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if root in [one.asname or one.name for one in node.names]:
            module = f" from `{node.module}`" if isinstance(node, ast.ImportFrom) else ""
            yield span_of(node, span.path), f"`{root}` is imported{module} here"


def _classes(facts: Facts, told: Explanation) -> Iterator[Step]:
    """Return the classes of the user's that a message names."""
    words = set(re.findall(r"`(\w+)`", told.message))
    for path in sorted(facts.files):
        for node in ast.walk(facts.tree(path)):
            if isinstance(node, ast.ClassDef) and node.name in words:
                end = node.col_offset + len(f"class {node.name}")
                yield Span(path, node.lineno, node.col_offset, node.lineno, end), f"`{node.name}` is defined here"
                if "static" in told.message:
                    yield from _static_fields(node, path)


def _static_fields(node: ast.ClassDef, path: str) -> Iterator[Step]:
    for field in node.body:
        if isinstance(field, ast.AnnAssign) and _SAYS_STATIC.search(ast.unparse(field)):
            yield span_of(field, path), f"`{ast.unparse(field.target)}` is declared static here"


_SAYS_STATIC = re.compile(r"\bpytree_node=False|\bstatic=True|'static': True")


def _options(facts: Facts) -> Iterator[Step]:
    """Return the option that says how a compiled function is sharded, where only one does."""
    asked = _OF_PJIT.search(facts.message)
    name = _OPTIONS[asked[1]] if asked else ""
    nodes = ((path, node) for path in sorted(facts.files) for node in ast.walk(facts.tree(path)))
    found = [(path, node) for path, node in nodes if isinstance(node, ast.keyword) and node.arg == name]
    if name and len(found) == 1:
        path, node = found[0]
        yield span_of(node.value, path), f"`{name}` is given here"
