"""Finds the line that causes an exception which JAX raises elsewhere: a spec, a derivative rule, a side effect."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jaxaudit.frontends.jaxpr.exceptions.model import Facts
from jaxaudit.spans import Span, span_of

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_CREATED = re.compile(r"created on line (\S+?):(\d+)(?::\d+)? \((\S+)\)")
_STACK = re.compile(r"^(\S+?):(\d+)(?::\d+)? \((\S+)\)", re.MULTILINE)
_TRACED = re.compile(r"tracing the function (?:\S+) at (\S+?):(\d+) for (\w+)")
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
    found = [pattern.findall(facts.message) for pattern in (_CREATED, _STACK, _TRACED)]
    stack = list(dict.fromkeys([one for some in found for one in some]))
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
    """Return the stores, in any function of the user's, into what the failing line reads."""
    read = set(re.findall(r"[A-Za-z_]\w*", facts.line))
    for path in sorted(facts.files):
        for function in ast.walk(facts.tree(path)):
            if isinstance(function, FunctionNode):
                for node, target in _stores(function):
                    if re.split(r"\W", target)[0] in read:
                        yield path, node, target


def rule_of_derivative(facts: Facts, method: str, position: int) -> Span | None:
    """Find the rule that was given to `f.defvjp(fwd, bwd)` or decorated by `@f.defjvp`: its last return."""
    names = {
        name for frame in facts.origin for name in _called_names(facts.texts(facts.shown(frame.path)).line(frame.line))
    }
    rules = [one for one in _rules(facts) if one[1:3] == (method, position)]
    for owner, _, _, path, rule in rules:
        if len(rules) == 1 or owner in names:
            return _definition(facts.tree(path), path, rule)
    return None


def differentiated_leaf(facts: Facts, place: str) -> str:
    """Name the argument, or leaf of one, that an output of the backward rule is for: `0]['w'` is for `p['w']`."""
    position, _, path = place.partition("]")
    owners = {owner for owner, method, *_ in _rules(facts) if method == "defvjp"}
    names = parameters_of(facts, owners.pop()) if len(owners) == 1 else ()
    held = any("nondiff_argnums" in facts.texts(one).text for one in facts.files)
    if held or not position.isdigit() or int(position) >= len(names):
        return ""
    return f"`{names[int(position)]}{path}{']' if path else ''}`"


def rule_named(facts: Facts, name: str) -> tuple[str, int, Span] | None:
    """Find a function that is a derivative rule: by which method, in which position, and where it is defined."""
    for _, method, position, path, rule in _rules(facts):
        node = rule if isinstance(rule, FunctionNode) else _function(facts.tree(path), _last_name(rule))
        if node is not None and node.name == name:
            return method, position, Span(path, node.lineno, node.col_offset, node.lineno, node.col_offset)
    return None


def has_rule(facts: Facts, line: str) -> bool:
    """Whether a line calls or names a function that has a derivative rule of the user's."""
    words = set(re.findall(r"\w+", line))
    return any(owner in words for owner, *_ in _rules(facts))


def definition_of(facts: Facts, name: str) -> Span | None:
    """Find where a function of the user's is defined, when its name is defined once."""
    found = [
        Span(path, node.lineno, node.col_offset, node.lineno, node.col_offset)
        for path in sorted(facts.files)
        for node in ast.walk(facts.tree(path))
        if isinstance(node, FunctionNode) and node.name == name
    ]
    return found[0] if len(found) == 1 else None


def returned(facts: Facts, path: str, line: int) -> Span | None:
    """Find the one `return` of the function that is defined on a line, else the function."""
    for node in ast.walk(facts.tree(path)) if path in facts.files else ():
        if isinstance(node, FunctionNode) and _first(node) <= line <= node.lineno:
            returns = [one for one in ast.walk(node) if isinstance(one, ast.Return)]
            return span_of(returns[0] if len(returns) == 1 else node, path)
    return None


def parameters_of(facts: Facts, name: str) -> tuple[str, ...]:
    """Name the positional parameters of a function of the user's, when its name is defined once."""
    found = [
        node
        for path in sorted(facts.files)
        for node in ast.walk(facts.tree(path))
        if isinstance(node, FunctionNode) and node.name == name
    ]
    if len(found) != 1:
        return ()
    given = found[0].args
    return tuple(one.arg for one in (*given.posonlyargs, *given.args))


def static_names(facts: Facts, name: str) -> tuple[str, ...]:
    """Name the arguments that are declared static where a function is defined or compiled under this name."""
    parameters = parameters_of(facts, name)
    names: list[str] = []
    for path in sorted(facts.files):
        for node in ast.walk(facts.tree(path)):
            if isinstance(node, FunctionNode) and node.name == name:
                names += _static(node.decorator_list, parameters)
            elif isinstance(node, ast.Assign) and any(_last_name(target) == name for target in node.targets):
                inner = _last_name(node.value.args[0]) if isinstance(node.value, ast.Call) and node.value.args else ""
                names += _static([node.value], parameters_of(facts, inner))
    return tuple(dict.fromkeys(names))


def _static(nodes: Sequence[ast.expr], parameters: Sequence[str]) -> Iterator[str]:
    calls = (node for one in nodes for node in ast.walk(one) if isinstance(node, ast.Call))
    for keyword in (keyword for call in calls for keyword in call.keywords):
        values = [one.value for one in ast.walk(keyword.value) if isinstance(one, ast.Constant)]
        if keyword.arg == "static_argnames":
            yield from (one for one in values if isinstance(one, str))
        elif keyword.arg == "static_argnums":
            yield from (parameters[one] for one in values if isinstance(one, int) and 0 <= one < len(parameters))


def returned_counts(facts: Facts, name: str) -> tuple[Span, int, str] | None:
    """Say how many values a function of the user's gives, where every `return` of it gives as many."""
    for path in sorted(facts.files):
        for node in ast.walk(facts.tree(path)):
            if isinstance(node, FunctionNode) and node.name == name and definition_of(facts, name) is not None:
                returns = [one for one in own_statements(node) if isinstance(one, ast.Return)]
                tuples = [one.value for one in returns if isinstance(one.value, ast.Tuple)]
                if len(tuples) == len(returns) and len({len(one.elts) for one in tuples}) == 1:
                    return span_of(returns[0], path), len(tuples[0].elts), ast.unparse(tuples[0])
    return None


def own_statements(function: FunctionNode) -> Iterator[ast.AST]:
    """Return all nodes of a function but those of functions inside it."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, FunctionNode | ast.Lambda | ast.ClassDef):
            pending += ast.iter_child_nodes(node)


def _rules(facts: Facts) -> Iterator[tuple[str, str, int, str, ast.expr | FunctionNode]]:
    """Return every derivative rule: owner, method, position, file, and the function or the expression that names it."""
    for path in sorted(facts.files):
        for node in ast.walk(facts.tree(path)):
            if isinstance(node, ast.Call) and _last_name(node.func) in ("defvjp", "defjvp"):
                owner = _last_name(node.func.value) if isinstance(node.func, ast.Attribute) else ""
                for position, rule in enumerate(node.args):
                    yield owner, _last_name(node.func), position, path, rule
            elif isinstance(node, FunctionNode):
                for method in node.decorator_list:
                    if isinstance(method, ast.Attribute) and method.attr in ("defvjp", "defjvp"):
                        yield _last_name(method.value), method.attr, 0, path, node


def _function(tree: ast.Module, name: str) -> FunctionNode | None:
    return next((one for one in ast.walk(tree) if isinstance(one, FunctionNode) and one.name == name), None)


def spec_call(facts: Facts, spec: str) -> Span | None:
    """Find where the user wrote a PartitionSpec, when only one line has it."""
    try:
        wanted = ast.literal_eval(spec)
    except (ValueError, SyntaxError):
        return None
    found: list[Span] = []
    for path in sorted(facts.files):
        for node in ast.walk(facts.tree(path)):
            if isinstance(node, ast.Call) and _last_name(node.func) in ("P", "PartitionSpec", "PS"):
                if _constants(node) == (wanted if isinstance(wanted, tuple) else (wanted,)):
                    found.append(span_of(node, path))
    return found[0] if len(found) == 1 else None


def _definition(tree: ast.Module, path: str, rule: ast.expr | FunctionNode) -> Span | None:
    node = rule if isinstance(rule, FunctionNode) else _function(tree, _last_name(rule))
    if node is not None:
        returns = [one for one in ast.walk(node) if isinstance(one, ast.Return)]
        return span_of(returns[-1] if returns else node, path)
    return span_of(rule, path) if isinstance(rule, ast.Lambda) else None


def _constants(call: ast.Call) -> tuple[object, ...] | None:
    try:
        return tuple(ast.literal_eval(argument) for argument in call.args)
    except (ValueError, SyntaxError):
        return None


def _stores(function: FunctionNode | None) -> Iterator[tuple[ast.stmt, str]]:
    """Return the statements of a function that write to something it did not make."""
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


def _first(function: FunctionNode) -> int:
    """Return the first line of a function, its decorators included."""
    return min([function.lineno, *(one.lineno for one in function.decorator_list)])


def _around(facts: Facts, path: str, line: int) -> FunctionNode | None:
    """Return the innermost function around a line of the user's."""
    if path not in facts.files:
        return None
    inside = [
        node
        for node in ast.walk(facts.tree(path))
        if isinstance(node, FunctionNode) and _first(node) <= line <= (node.end_lineno or node.lineno)
    ]
    return max(inside, key=lambda node: node.lineno, default=None)


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
