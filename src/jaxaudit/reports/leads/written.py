"""What the text alone tells: calls of one function that differ, and pieces of code that are alike but for one place."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from jaxaudit.ir.ops import ARRAYS
from jaxaudit.reports.leads.base import Fact, Look
from jaxaudit.spans import span_of

_FEWEST_STATEMENTS = 3
_FEWEST_ALIKE = 3
"""So many calls that agree make a custom."""


class Site(NamedTuple):
    """One call, and the names that take its results."""

    path: str
    call: ast.Call
    taken: tuple[str, ...]


def call_differs(look: Look) -> Iterator[Fact]:
    """List calls that give or take the same names in another order than most calls of the same function."""
    for callee, sites in _sites(look):
        yield from _turned_round(callee, "is unpacked into", [(one, one.taken) for one in sites if one.taken])
        if _is_own(callee, look):
            yield from _turned_round(callee, "is given", [(one, _positional(one)) for one in sites])


def _turned_round(callee: str, what: str, sites: Sequence[tuple[Site, tuple[str, ...]]]) -> Iterator[Fact]:
    """Return the sites that most others, or the first of two, turn round."""
    for at, (site, names) in enumerate(sites):
        others = [(other, pair) for other, theirs in sites if (pair := _turned(theirs, names)) is not None]
        if others and (2 * len(others) > len(sites) or (len(sites) == 2 and at == 1)):
            other, (first, second) = others[0]
            place = f"line {other.call.lineno}" if site.path == other.path else f"{other.path}:{other.call.lineno}"
            text = f"`{callee}` {what} `{first}`, `{second}` here and the other way round on {place}"
            yield Fact(span_of(site.call, site.path), text, 7)


def _is_own(callee: str, look: Look) -> bool:
    """Whether a function of the audited files is called: what it takes has a meaning of its own."""
    return callee.rpartition(".")[2] in look.functions


def option_differs(look: Look) -> Iterator[Fact]:
    """List calls on arrays that give an option another value than all other calls of the function in the file."""
    arrays = {op.span for op in look.facts.program.named(*ARRAYS)}
    for callee, sites in _sites(look):
        for path in dict.fromkeys(site.path for site in sites):
            calls = [site.call for site in sites if site.path == path and span_of(site.call, path) in arrays]
            for name in dict.fromkeys(one.arg for call in calls for one in call.keywords if one.arg):
                values = [_option(call, name) for call in calls]
                (usual, count), *_ = Counter(values).most_common(1)
                odd = [(call, value) for call, value in zip(calls, values, strict=True) if value != usual]
                if usual not in ("", "?") and "?" not in values and len(odd) == 1 and count >= _FEWEST_ALIKE:
                    call, value = odd[0]
                    given = f"`{name}={value}`" if value else f"no `{name}`"
                    text = f"`{callee}` with {given}; its {count} other calls in this file give `{name}={usual}`"
                    yield Fact(span_of(call, path), text, 4)


def _option(call: ast.Call, name: str) -> str:
    """Return an option as it is written, where it is a constant; empty where it is not given."""
    given = next((one.value for one in call.keywords if one.arg == name), None)
    return "" if given is None else ast.unparse(given) if _is_literal(given) else "?"


def _is_literal(node: ast.expr) -> bool:
    return not any(isinstance(one, ast.Name | ast.Call) for one in ast.walk(node))


def _sites(look: Look) -> Iterator[tuple[str, list[Site]]]:
    """Return the calls of each function, by the text that names it; what an object is, differs from file to file."""
    found = defaultdict[tuple[str, str], list[Site]](list)
    for path in sorted(look.paths):
        taken: dict[ast.Call, tuple[str, ...]] = {}
        for node in look.nodes(path):
            match node:
                case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Call() as call):
                    taken[call] = tuple(one.id if isinstance(one, ast.Name) else "" for one in names)
                case ast.Call(func=ast.Name() | ast.Attribute()):
                    callee = ast.unparse(node.func)
                    shared = isinstance(node.func, ast.Name) and _is_own(callee, look)
                    found["" if shared else path, callee].append(Site(path, node, taken.get(node, ())))
    return ((callee, sites) for (_, callee), sites in found.items())


def _positional(site: Site) -> tuple[str, ...]:
    return tuple(one.id if isinstance(one, ast.Name) else "" for one in site.call.args)


def _turned(first: Sequence[str], second: Sequence[str]) -> tuple[str, str] | None:
    """Return two names that stand in each other's place."""
    for at, here in enumerate(second):
        for other, there in enumerate(second):
            if at < other and here and there and here != there and first[at : at + 1] and other < len(first):
                if first[at] == there and first[other] == here:
                    return here, there
    return None


def branch_differs(look: Look) -> Iterator[Fact]:
    """List branches that are alike in all statements but one, or that are the same altogether."""
    for path in sorted(look.paths):
        for node in look.nodes(path):
            if not isinstance(node, ast.If) or len(node.body) != len(node.orelse):
                continue
            pairs = list(zip(node.body, node.orelse, strict=True))
            odd = [(first, second) for first, second in pairs if _shape(first) != _shape(second)]
            if all(_same(first, second) for first, second in pairs):
                yield Fact(
                    span_of(node.orelse[0], path), f"the same as the other branch, line {node.body[0].lineno}", 8
                )
            elif len(odd) == 1 and len(pairs) >= _FEWEST_STATEMENTS:
                text = f"unlike line {odd[0][0].lineno}; the rest of both branches has the same form"
                yield Fact(span_of(odd[0][1], path), text, 4)


def _same(first: ast.stmt, second: ast.stmt) -> bool:
    return _shape(first) == _shape(second) and _leaves(first) == _leaves(second)


def _bodies(nodes: Iterable[ast.AST]) -> Iterator[list[ast.stmt]]:
    for node in nodes:
        for field in ("body", "orelse", "finalbody"):
            body = getattr(node, field, None)
            if isinstance(body, list):
                yield body


def _shape(node: ast.AST) -> tuple[str, ...]:
    """Return what kinds of syntax a piece of code is made of, in order."""
    return tuple(type(one).__name__ for one in ast.walk(node))


def _leaves(node: ast.AST) -> tuple[str, ...]:
    """Return the names and constants of a piece of code, in order."""
    return tuple(str(leaf) for one in ast.walk(node) if (leaf := _leaf(one)) is not None)


def _leaf(node: ast.AST) -> object:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.keyword(arg=name) | ast.arg(arg=name):
            return name
        case ast.Constant(value=value):
            return repr(value)
    return None
