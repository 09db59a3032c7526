"""Ask whether findings survive rewrites that change nothing.

Every invalid example of every rule is written in other words: results get names, expressions move into functions of
their own, values go through a dict, functions become methods. What the rule says must stay. It needs no labels, and a
rewrite that hides a mistake shows which fact is lost on the way.

    python benchmarks/rewrites.py [RULE...]
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator

from jaxaudit.analyses.solve import solve
from jaxaudit.frontends.base import SourceFile
from jaxaudit.frontends.source.read import read_source
from jaxaudit.rules.base import Rule, Severity, Verdict
from jaxaudit.rules.intent import judged
from jaxaudit.rules.registry import all_rules

_COMPUTED = (ast.Call, ast.BinOp)


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


class Named(ast.NodeTransformer):
    """`return f(x)` becomes `made = f(x); return made`."""

    def visit_Return(self, node: ast.Return) -> ast.stmt | list[ast.stmt]:
        """Give what is returned a name."""
        if node.value is None or isinstance(node.value, ast.Name | ast.Constant):
            return node
        return [ast.Assign([ast.Name("made", ast.Store())], node.value), ast.Return(_load("made"))]


class Outlined(ast.NodeTransformer):
    """`x = f(y)` in a function becomes `def part(): return f(y)` and `x = part()`."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Move the statements of a function out of it."""
        node.body = [new for at, one in enumerate(node.body) for new in self._moved(one, f"part_{at}")]
        return node

    def _moved(self, node: ast.stmt, name: str) -> list[ast.stmt]:
        if isinstance(node, ast.FunctionDef):
            return [self.visit_FunctionDef(node)]
        if not isinstance(node, ast.Assign) or not isinstance(node.value, _COMPUTED):
            return [node]
        if any(_names(target) & _names(node.value) for target in node.targets):
            return [node]
        part = ast.parse(f"def {name}():\n    return 0").body[0]
        assert isinstance(part, ast.FunctionDef)
        part.body = [ast.Return(node.value)]
        return [part, ast.Assign(node.targets, ast.Call(_load(name), [], []))]


class Packed(ast.NodeTransformer):
    """`x = f(y)` becomes `box = {"value": f(y)}` and `x = box["value"]`."""

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        """Let a value go through a dict."""
        if not isinstance(node.value, _COMPUTED) or not all(isinstance(one, ast.Name) for one in node.targets):
            return node
        box = ast.Assign([ast.Name("box", ast.Store())], ast.Dict([ast.Constant("value")], [node.value]))
        return [box, ast.Assign(node.targets, ast.Subscript(_load("box"), ast.Constant("value"), ast.Load()))]


class Method(ast.NodeTransformer):
    """Functions become static methods of one class."""

    names: frozenset[str] = frozenset()

    def visit_Module(self, node: ast.Module) -> ast.Module:
        """Gather the functions of a module."""
        plain = [one for one in node.body if isinstance(one, ast.FunctionDef) and not one.decorator_list]
        if not plain:
            return node
        self.names = frozenset(one.name for one in plain)
        for one in plain:
            one.decorator_list = [_load("staticmethod")]
        holder = ast.parse("class Code:\n    pass").body[0]
        assert isinstance(holder, ast.ClassDef)
        holder.body = list(plain)
        node.body = [holder if one is plain[0] else one for one in node.body if one is plain[0] or one not in plain]
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Name a function by its class."""
        is_moved = node.id in self.names and isinstance(node.ctx, ast.Load)
        return ast.Attribute(_load("Code"), node.id, ast.Load()) if is_moved else node


REWRITES = (Named, Outlined, Packed, Method)


def said(text: str, rule: type[Rule]) -> set[Severity]:
    """Return how bad what a rule finds in a program is."""
    program = read_source([SourceFile("example.py", text)], lambda path: None).program
    found = judged(rule, solve(program, set(rule.needs)))
    return {one.severity for one in found if one.verdict is Verdict.VIOLATED}


def rewritten(text: str, kind: type[ast.NodeTransformer]) -> str | None:
    """Return a program in other words; None where they are the same."""
    before = ast.unparse(ast.parse(text))
    after = ast.unparse(ast.fix_missing_locations(kind().visit(ast.parse(text))))
    return None if before == after else after


def losses(rule: type[Rule]) -> Iterator[tuple[str, str, bool]]:
    """Return for each rewrite of each invalid example its name, the example, and whether the finding is lost."""
    for example in rule.invalid:
        before = said(example.program, rule)
        for kind in REWRITES if before else ():
            text = rewritten(example.program, kind)
            if text is not None:
                after = said(text, rule)
                yield kind.__name__, example.title, not (before <= after or Severity.ERROR in before & after)


def main(names: list[str]) -> None:
    """Print what is lost, and how much of it by rewrite."""
    tried: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    for rule in all_rules():
        if rule.traced_only or (names and rule.name not in names):
            continue
        for kind, title, is_lost in losses(rule):
            tried[kind] += 1
            lost[kind] += is_lost
            if is_lost:
                print(f"{kind:9} {rule.name}: {title}")
    for kind, count in tried.items():
        print(f"{kind}: {count - lost[kind]} of {count} findings survive")


if __name__ == "__main__":
    main(sys.argv[1:])
