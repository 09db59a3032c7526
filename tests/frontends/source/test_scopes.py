"""Which bindings nobody reads."""

import ast

import pytest

from jaxaudit.frontends.base import SourceFile
from jaxaudit.frontends.source.interpret.modules import Project
from jaxaudit.frontends.source.names.flow import scopes_of
from jaxaudit.frontends.source.names.scope import Scope

from .reading import read


def function(code: str) -> tuple[ast.FunctionDef, Scope]:
    project = Project(lambda path: None)
    project.add_all([SourceFile("m.py", code)])
    (module,) = project.modules.values()
    node = module.tree.body[0]
    assert isinstance(node, ast.FunctionDef)
    return node, scopes_of(module, project)[node]


def assignments(node: ast.FunctionDef) -> list[ast.Assign]:
    return [one for one in ast.walk(node) if isinstance(one, ast.Assign)]


@pytest.mark.parametrize(
    ("body", "unread"),
    [
        ("y = f(x)\n return x", True),
        ("y = f(x)\n return y", False),
        ("y = f(x)\n y += 1", False),
        ("y = f(x)\n del y", False),
        ("y = f(x)\n return lambda: y", False),
        ("y = f(x)\n return [y for _ in x]", False),
        ("for i in x:\n  print(y)\n  y = f(x)", False),
        ("for i in x:\n  y = f(x)", True),
        ("print(y)\n y = f(x)", True),
        ("y = f(x)\n return eval('y')", False),
        ("y = f(x)\n def g():\n  return y", False),
        ("nonlocal y\n y = f(x)", False),
        ("try:\n  y = f(x)\n finally:\n  print(y)", False),
    ],
)
def test_unread_bindings(body, unread):
    node, scope = function(f"def g(x):\n {body}\n")
    (statement,) = assignments(node)
    assert scope.is_unread("y", statement) is unread


@pytest.mark.parametrize(
    ("body", "unread"),
    [
        ("y = f(x)\n y = g(x)\n return y", [True, False]),
        ("y = f(x)\n if x:\n  y = g(x)\n return y", [False, False]),
        ("if x:\n  y = f(x)\n else:\n  y = g(x)\n y = h(x)\n return y", [True, True, False]),
        ("for i in x:\n  y = f(i)\n  y = g(i)\n  print(y)", [True, False]),
        ("y = f(x)\n for i in x:\n  y = g(y)\n return y", [False, False]),
        ("y = f(x)\n for i in x:\n  y = g(i)\n return y", [False, False]),
        ("y = f(x)\n while True:\n  y = g(x)\n  if y:\n   break\n return y", [True, False]),
        ("y = f(x)\n try:\n  y = g(x)\n except E:\n  pass\n return y", [False, False]),
        ("y = f(x)\n try:\n  y = g(x)\n except E:\n  y = h(x)\n return y", [True, False, False]),
        ("y = f(x)\n with x as y:\n  return y", [True]),
        ("y = f(x)\n z = [y for y in x]\n return z", [False, False]),
        ("y = f(x)\n def z(y):\n  y = 1\n  return y\n y = z(x)\n return y", [True, False, False]),
        ("for i in x:\n  y = f(i)\n  print(y)\n  y = g(i)", [False, True]),
        ("y = f(x)\n for i in x:\n  for j in i:\n   print(y)\n  y = g(i)", [False, False]),
        ("y = f(x)\n while y:\n  y = g(x)", [False, False]),
        ("try:\n  y = f(x)\n  y = g(x)\n except E:\n  pass\n return y", [False, False]),
        ("try:\n  y = f(x)\n finally:\n  y = g(x)\n return y", [True, False]),
        ("for i in x:\n  if i:\n   y = f(i)\n   continue\n  y = g(i)\n return y", [False, False]),
    ],
)
def test_bindings_that_others_replace(body, unread):
    node, scope = function(f"def g(x):\n {body}\n")
    found = sorted((one for one in assignments(node) if one.col_offset < 5), key=lambda one: one.lineno)
    names = [one.targets[0].id for one in found]
    assert [scope.is_unread(name, one) for name, one in zip(names, found, strict=True)][: len(unread)] == unread


def test_what_is_replaced_unread_on_one_path():
    node, scope = function("def g(x):\n y = f(x)\n if x:\n  y = g(x)\n return y\n")
    first, second = assignments(node)
    assert scope.bindings.replaced("y", second) == {first}


def test_statements_that_may_be_there_to_fail():
    node, scope = function("def g(x):\n with pytest.raises(E):\n  f(x)\n try:\n  f(x)\n except E:\n  f(x)\n f(x)")
    guarded = [one in scope.may_fail for one in ast.walk(node) if isinstance(one, ast.Expr)]
    assert sorted(guarded) == [False, False, True, True]


@pytest.mark.parametrize(
    ("body", "unread"),
    [
        ("return lambda: b", ["a", "c"]),
        ("return lambda a: (a, b)", ["a", "c"]),
        ("a = 1\n return b", ["c"]),
        ("c: a = b\n return c", []),
        ("return locals()", []),
    ],
)
def test_unread_parameters(body, unread):
    _, scope = function(f"def g(a, b, *, c):\n {body}")
    assert sorted(scope.unread_parameters()) == unread


def test_what_an_unread_result_was_made_of_is_what_the_names_held_before() -> None:
    program = read(
        """
        def turn(state, step):
            (state, count), losses = step(state)
            return state, count
        """
    ).program
    (note,) = program.named("py.unread")
    (root,) = (one for one in program.roots if one.region.params)
    assert note.made_of["state"] == (root.region.params[0],)
