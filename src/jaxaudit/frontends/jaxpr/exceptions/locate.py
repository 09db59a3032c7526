"""Finds the line that causes an exception which JAX raises elsewhere: a spec, a derivative rule, a side effect."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from jaxaudit.frontends.jaxpr.exceptions.model import Facts
from jaxaudit.spans import Span, span_of

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_CREATED = re.compile(r"created on line (\S+?):(\d+)(?::\d+)? \((\S+)\)")
_STACK = re.compile(r"^(\S+?):(\d+)(?::\d+)? \((\S+)\)", re.MULTILINE)
_CACHES = ("lru_cache", "cache", "cached_property", "memoize")


@dataclass(frozen=True, slots=True)
class Leak:
    """How a traced value got out of its function."""

    message: str
    suggestion: str
    span: Span | None = None
    steps: tuple[tuple[Span, str], ...] = ()


def leak_of(facts: Facts) -> Leak:
    """Find the side effect that let a tracer escape: a cache, or something outside that was written to."""
    stack = list(dict.fromkeys([*_CREATED.findall(facts.message), *_STACK.findall(facts.message)]))
    frames = [(facts.shown(path), int(line)) for path, line, _ in stack]
    used = ((facts.span, "the value is used here, after its trace has ended"),) if facts.span else ()
    for path, line in frames:
        function = _around(facts, path, line)
        if function is None:
            continue
        cached = next((one for one in function.decorator_list if _last_name(one) in _CACHES), None)
        if cached is not None:
            return Leak(
                f"`{function.name}` is cached by Python, so what it made during one trace is given to the next",
                "cache NumPy arrays or Python numbers only, or leave the caching to `jit`",
                span_of(cached, path),
                used,
            )
    for path, line in frames:
        for node, target in _stores(_around(facts, path, line)):
            return Leak(
                f"`{target}` lives outside the transformed function and keeps a traced value",
                "return the value instead of storing it",
                span_of(node, path),
                used,
            )
    for path, node, target in _kept(facts):
        return Leak(
            f"`{target}` lives outside the transformed function and keeps a traced value",
            "return the value instead of storing it",
            span_of(node, path),
            used,
        )
    created = Span(frames[0][0], frames[0][1], 0, frames[0][1], 0) if frames else None
    cure = "return every value that is needed outside; `jax.checking_leaks()` shows where it gets out"
    return Leak("a traced value is kept after the function that made it has ended", cure, created, used)


def _kept(facts: Facts) -> Iterator[tuple[str, ast.stmt, str]]:
    """Give the stores, in any function of the user's, into what the failing line reads."""
    read = set(re.findall(r"[A-Za-z_]\w*", facts.line))
    for path in sorted(facts.files):
        for function in ast.walk(_tree(facts, path)):
            if isinstance(function, FunctionNode):
                for node, target in _stores(function):
                    if re.split(r"\W", target)[0] in read:
                        yield path, node, target


def rule_of_derivative(facts: Facts, method: str, position: int) -> Span | None:
    """Find the rule that was given to `f.defvjp(fwd, bwd)`: its last return, else its definition."""
    names = {
        name for frame in facts.origin for name in _called_names(facts.texts(facts.shown(frame.path)).line(frame.line))
    }
    for path in sorted(facts.files):
        tree = _tree(facts, path)
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _last_name(node.func) == method]
        for call in calls:
            owner = _last_name(call.func.value) if isinstance(call.func, ast.Attribute) else ""
            if len(calls) == 1 or owner in names:
                return _definition(tree, path, call.args[position]) if position < len(call.args) else None
    return None


def spec_call(facts: Facts, spec: str) -> Span | None:
    """Find where the user wrote a PartitionSpec, when only one line has it."""
    try:
        wanted = ast.literal_eval(spec)
    except (ValueError, SyntaxError):
        return None
    found: list[Span] = []
    for path in sorted(facts.files):
        for node in ast.walk(_tree(facts, path)):
            if isinstance(node, ast.Call) and _last_name(node.func) in ("P", "PartitionSpec", "PS"):
                if _constants(node) == (wanted if isinstance(wanted, tuple) else (wanted,)):
                    found.append(span_of(node, path))
    return found[0] if len(found) == 1 else None


def _definition(tree: ast.Module, path: str, rule: ast.expr) -> Span | None:
    name = _last_name(rule)
    for node in ast.walk(tree):
        if isinstance(node, FunctionNode) and node.name == name:
            returns = [one for one in ast.walk(node) if isinstance(one, ast.Return)]
            return span_of(returns[-1] if returns else node, path)
    return span_of(rule, path) if isinstance(rule, ast.Lambda) else None


def _constants(call: ast.Call) -> tuple[object, ...] | None:
    try:
        return tuple(ast.literal_eval(argument) for argument in call.args)
    except (ValueError, SyntaxError):
        return None


def _stores(function: FunctionNode | None) -> Iterator[tuple[ast.stmt, str]]:
    """Give the statements of a function that write to something it did not make."""
    if function is None:
        return
    outer = {name for node in ast.walk(function) if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    local = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Attribute | ast.Subscript) and _base(target) not in local - outer:
                    yield node, ast.unparse(target)
                elif isinstance(target, ast.Name) and target.id in outer:
                    yield node, target.id
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            call = node.value.func
            if isinstance(call, ast.Attribute) and call.attr in (
                "append",
                "add",
                "extend",
                "update",
                "setdefault",
                "insert",
            ):
                if _base(call.value) not in local - outer:
                    yield node, ast.unparse(call.value)


def _around(facts: Facts, path: str, line: int) -> FunctionNode | None:
    """Give the innermost function around a line of the user's."""
    if path not in facts.files:
        return None
    inside = [
        node
        for node in ast.walk(_tree(facts, path))
        if isinstance(node, FunctionNode) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return max(inside, key=lambda node: node.lineno, default=None)


def _tree(facts: Facts, path: str) -> ast.Module:
    try:
        return ast.parse(facts.texts(path).text)
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])


def _called_names(line: str) -> Iterator[str]:
    yield from re.findall(r"(\w+)\s*\(", line)


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Call():
            return _last_name(node.func)
        case ast.Attribute():
            return node.attr
        case ast.Name():
            return node.id
    return ""


def _base(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
