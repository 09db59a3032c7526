"""Which bindings nobody reads."""

import ast

import pytest

from jaxaudit.frontends.source.notes.scopes import scope_of, unread_parameters


def function(code: str) -> ast.FunctionDef:
    node = ast.parse(code).body[0]
    assert isinstance(node, ast.FunctionDef)
    return node


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
    node = function(f"def g(x):\n {body}\n")
    (statement,) = assignments(node)
    assert scope_of(node).is_unread("y", statement) is unread


def test_statements_that_may_be_there_to_fail():
    node = function("def g(x):\n with pytest.raises(E):\n  f(x)\n try:\n  f(x)\n except E:\n  f(x)\n f(x)")
    around = scope_of(node).around
    guarded = [around[one].guarded for one in ast.walk(node) if isinstance(one, ast.Expr)]
    assert sorted(guarded) == [False, False, True, True]


def test_unread_parameters():
    assert [one.arg for one in unread_parameters(function("def g(a, b, *, c):\n return lambda: b"))] == ["a", "c"]
    assert list(unread_parameters(function("def g(a):\n return locals()"))) == []
