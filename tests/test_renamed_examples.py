"""No rule decides on a name: with every variable of an example renamed, the verdicts stay."""

import ast
from typing import TypeGuard

import pytest

from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.rules.base import Example, Rule
from jaxaudit.rules.registry import all_rules
from jaxaudit.session import audit


class Renamer(ast.NodeTransformer):
    """Renames variables, parameters and functions; fields, methods, imports, globals and names with an underscore stay."""

    def __init__(self, tree: ast.Module) -> None:
        self.functions = {one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.ClassDef)}
        self.functions -= set(_free_functions(tree))
        fixed = {str(name) for one in ast.walk(tree) for name in _said(one)}
        fields = {field for one in ast.walk(tree) if isinstance(one, ast.ClassDef) for field in _fields(one)}
        bound = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        bound |= {one.arg for one in ast.walk(tree) if isinstance(one, ast.arg)} | set(_free_functions(tree))
        kept = {"self", "cls"} | fixed | fields | self.functions
        free = sorted(name for name in bound - kept if not name.startswith("_"))
        self.names = {name: f"name{number}" for number, name in enumerate(free)}

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.name = self.names.get(node.name, node.name)
        self.generic_visit(node)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.arg = self.names.get(node.arg, node.arg)
        return node


def _said(node: ast.AST) -> list[object]:
    """Return the names that a node says in another way than as a variable."""
    match node:
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return [name.asname or name.name for name in names]
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            return list(names)
        case ast.Constant(value=str(text)):
            return [text]
        case ast.keyword(arg=str(name)):
            return [name]
    return []


def _free_functions(tree: ast.Module) -> list[str]:
    """Return the functions that nothing reaches as an attribute; what pytest runs is told by its name."""
    methods = {one.name for cls in ast.walk(tree) if isinstance(cls, ast.ClassDef) for one in cls.body if _is_def(one)}
    named = {one.attr for one in ast.walk(tree) if isinstance(one, ast.Attribute)} | methods
    found = (one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef))
    return [name for name in found if name not in named and not name.startswith("test")]


def _is_def(node: ast.stmt) -> TypeGuard[ast.FunctionDef]:
    return isinstance(node, ast.FunctionDef)


def _fields(node: ast.ClassDef) -> list[str]:
    """Return what a class binds in its body: it is read as an attribute."""
    targets = [one.targets if isinstance(one, ast.Assign) else [one.target] for one in node.body if _binds(one)]
    return [name.id for some in targets for one in some for name in ast.walk(one) if isinstance(name, ast.Name)]


def _binds(node: ast.stmt) -> TypeGuard[ast.Assign | ast.AnnAssign]:
    return isinstance(node, ast.Assign | ast.AnnAssign)


def renamed(code: str) -> str:
    tree = ast.parse(code)
    return ast.unparse(ast.fix_missing_locations(Renamer(tree).visit(tree)))


def said(rule: type[Rule], code: str) -> list[tuple[int, str]]:
    report = audit([SourceFile("example.py", code)], Config(select=(rule.name,))).report
    return sorted((one.line, one.severity) for one in (*report.issues, *report.warnings))


def examples() -> list:
    return [
        pytest.param(rule, example, id=f"{rule.name}-{number}")
        for rule in all_rules()
        for number, example in enumerate((*rule.valid, *rule.invalid))
    ]


@pytest.mark.parametrize(("rule", "example"), examples())
def test_verdicts_do_not_hang_on_names(rule: type[Rule], example: Example) -> None:
    # Both are written anew from the tree, so that the lines are the same.
    code = ast.unparse(ast.parse(example.program))
    assert said(rule, renamed(code)) == said(rule, code)


def test_names_do_change():
    assert (
        renamed("def f(x, y=1):\n    z = x\n    return f(z)")
        == "def name0(name1, name2=1):\n    name3 = name1\n    return name0(name3)"
    )
