"""Fingerprints: which function of a file is which, and whether it is still the one that was seen in a run."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import blake2b

from jaxaudit.ir.record import record

Definition = ast.FunctionDef | ast.AsyncFunctionDef


@record
class Fingerprint:
    """One function of a file."""

    name: str
    """Its qualified name, as Python gives it; a second function of one name ends in `@2`."""
    line: int
    """Its first line, decorators included."""
    source: str
    """The digest of its text, without comments that stand alone and blank lines."""
    signature: str
    """The digest of its parameter list: names, order and kinds."""


def fingerprints(tree: ast.Module, text: str) -> dict[Definition, Fingerprint]:
    """Return the fingerprint of every function of a file that has a name."""
    lines = text.splitlines()
    counts = Counter[str]()
    found: dict[Definition, Fingerprint] = {}
    for node, name in _functions(tree, ""):
        counts[name] += 1
        name += f"@{counts[name]}" * (counts[name] > 1)
        first = min((node.lineno, *(one.lineno for one in node.decorator_list)))
        source = _digest(_essence(lines[first - 1 : node.end_lineno]))
        found[node] = Fingerprint(name, first, source, _digest(_parameters(node.args)))
    return found


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[Definition, str]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Definition):
            yield child, prefix + child.name
            yield from _functions(child, f"{prefix}{child.name}.<locals>.")
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.Lambda):
            yield from _functions(child, f"{prefix}<lambda>.<locals>.")
        elif not isinstance(child, ast.expr):
            yield from _functions(child, prefix)


def _essence(lines: Sequence[str]) -> str:
    texts = (line.rstrip() for line in lines)
    return "\n".join(text for text in texts if text and not text.lstrip().startswith("#"))


def _parameters(args: ast.arguments) -> str:
    parts = ([one.arg for one in group] for group in (args.posonlyargs, args.args, args.kwonlyargs))
    rest = [one.arg if one else "" for one in (args.vararg, args.kwarg)]
    return repr((*parts, rest))


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
