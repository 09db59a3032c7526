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
_WRITERS = ("append", "add", "extend", "update", "setdefault", "insert")
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
    near = ((path, *store) for path, line in frames for store in _stores(_around(facts, path, line)))
    for path, node, target in (*near, *_kept(facts)):
        told = f"`{target}` lives outside the transformed function and keeps a traced value"
        return Leak(told, "return the value instead of storing it", span_of(node, path), used)
    created = Span(frames[0][0], frames[0][1], 0, frames[0][1], 0) if frames else None
    cure = "return every value that is needed outside; `jax.checking_leaks()` shows where it gets out"
    return Leak("a traced value is kept after the function that made it has ended", cure, created, used)


def _kept(facts: Facts) -> Iterator[tuple[str, ast.stmt, str]]:
    """Return the stores, in any function of the user's, into what the failing line reads."""
    read = set(re.findall(r"[A-Za-z_]\w*", facts.line))
    for path, function in _functions(facts):
        for node, target in _stores(function):
            if re.split(r"\W", target)[0] in read:
                yield path, node, target


def rule_of_derivative(facts: Facts, method: str, position: int) -> Span | None:
    """Find the rule that was given to `f.defvjp(fwd, bwd)` or decorated by `@f.defjvp`: its last return."""
    lines = [facts.texts(facts.shown(frame.path)).line(frame.line) for frame in facts.origin]
    names = {name for line in lines for name in re.findall(r"(\w+)\s*\(", line)}
    rules = [one for one in _rules(facts) if one[1:3] == (method, position)]
    for owner, _, _, path, rule in rules:
        if len(rules) == 1 or owner in names:
            return _definition(facts, path, rule)
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
        node = _function(facts, path, rule)
        if node is not None and node.name == name:
            return method, position, _start(path, node)
    return None


def has_rule(facts: Facts, line: str) -> bool:
    """Whether a line calls or names a function that has a derivative rule of the user's."""
    words = set(re.findall(r"\w+", line))
    return any(owner in words for owner, *_ in _rules(facts))


def definition_of(facts: Facts, name: str) -> Span | None:
    """Find where a function of the user's is defined, when its name is defined once."""
    found = list(_functions(facts, name))
    return _start(*found[0]) if len(found) == 1 else None


def returned(facts: Facts, path: str, line: int) -> Span | None:
    """Find the one `return` of the function that is defined on a line, else the function."""
    for where, node in _functions(facts):
        if where == path and _first(node) <= line <= node.lineno:
            returns = [one for one in ast.walk(node) if isinstance(one, ast.Return)]
            return span_of(returns[0] if len(returns) == 1 else node, path)
    return None


def parameters_of(facts: Facts, name: str) -> tuple[str, ...]:
    """Name the positional parameters of a function of the user's, when its name is defined once."""
    found = [node.args for _, node in _functions(facts, name)]
    return tuple(one.arg for one in (*found[0].posonlyargs, *found[0].args)) if len(found) == 1 else ()


def static_names(facts: Facts, name: str) -> tuple[str, ...]:
    """Name the arguments that are declared static where a function is defined or compiled under this name."""
    parameters = parameters_of(facts, name)
    names: list[str] = []
    for _, node in _nodes(facts):
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
    """Return how many values a function of the user's gives, where every `return` of it gives as many."""
    found = list(_functions(facts, name))
    for path, node in found if len(found) == 1 else ():
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
    for path, node in _nodes(facts):
        if isinstance(node, ast.Call) and _last_name(node.func) in ("defvjp", "defjvp"):
            owner = _last_name(node.func.value) if isinstance(node.func, ast.Attribute) else ""
            for position, rule in enumerate(node.args):
                yield owner, _last_name(node.func), position, path, rule
        elif isinstance(node, FunctionNode):
            for method in node.decorator_list:
                if isinstance(method, ast.Attribute) and method.attr in ("defvjp", "defjvp"):
                    yield _last_name(method.value), method.attr, 0, path, node


def _nodes(facts: Facts) -> Iterator[tuple[str, ast.AST]]:
    """Return all nodes of the user's files."""
    return ((path, node) for path in sorted(facts.files) for node in ast.walk(facts.tree(path)))


def _functions(facts: Facts, name: str = "") -> Iterator[tuple[str, FunctionNode]]:
    """Return the functions of the user's, all or those of one name."""
    return ((path, one) for path, one in _nodes(facts) if isinstance(one, FunctionNode) and name in ("", one.name))


def _start(path: str, node: FunctionNode) -> Span:
    return Span(path, node.lineno, node.col_offset, node.lineno, node.col_offset)


def _function(facts: Facts, path: str, rule: ast.expr | FunctionNode) -> FunctionNode | None:
    """Return the function of a file that a derivative rule is, or names."""
    if isinstance(rule, FunctionNode):
        return rule
    return next((one for where, one in _functions(facts, _last_name(rule)) if where == path), None)


def spec_call(facts: Facts, spec: str) -> Span | None:
    """Find where the user wrote a PartitionSpec, when only one line has it."""
    try:
        wanted = ast.literal_eval(spec)
    except (ValueError, SyntaxError):
        return None
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    calls = [(path, node) for path, node in _nodes(facts) if isinstance(node, ast.Call)]
    specs = [(path, node) for path, node in calls if _last_name(node.func) in ("P", "PartitionSpec", "PS")]
    found = [span_of(node, path) for path, node in specs if _constants(node) == wanted]
    return found[0] if len(found) == 1 else None


def _definition(facts: Facts, path: str, rule: ast.expr | FunctionNode) -> Span | None:
    node = _function(facts, path, rule)
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
            if isinstance(call, ast.Attribute) and call.attr in _WRITERS and _base(call.value) not in local - outer:
                yield node, ast.unparse(call.value)


def _first(function: FunctionNode) -> int:
    """Return the first line of a function, its decorators included."""
    return min([function.lineno, *(one.lineno for one in function.decorator_list)])


def _around(facts: Facts, path: str, line: int) -> FunctionNode | None:
    """Return the innermost function around a line of the user's."""
    own = (node for where, node in _functions(facts) if where == path)
    inside = [node for node in own if _first(node) <= line <= (node.end_lineno or node.lineno)]
    return max(inside, key=lambda node: node.lineno, default=None)


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
