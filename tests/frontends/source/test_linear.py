"""Long functions cost what they are long: state that most statements leave alone is not looked through again."""

from __future__ import annotations

import pytest

from jaxaudit.frontends.source.interpret.branches import _Merger

from .reading import ops, read


def _branches(count: int) -> str:
    lines = [f"    v{n} = jnp.sin(x) + {n}\n    if c > {n}:\n        v{n} = v{n} * 2" for n in range(count)]
    return "import jax.numpy as jnp\ndef f(x, c):\n" + "\n".join(lines) + "\n    return x\n"


def test_a_branch_merges_only_what_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    merged: list[str] = []
    real = _Merger.merged

    def counted(self: _Merger, values: list[object], name: str) -> object:
        merged.append(name)
        return real(self, values, name)  # type: ignore[arg-type]

    monkeypatch.setattr(_Merger, "merged", counted)
    read(_branches(30))
    assert merged == [f"v{n}" for n in range(30)]


def test_a_name_that_one_side_deletes_is_not_bound_for_sure() -> None:
    code = """
    def f(x, c):
        y = x
        z = x
        if c:
            del y
        return y, z
    """
    assert [op.reason for op in ops(code, "py.unknown")] == ["not assigned on every path"]


def test_a_name_that_both_sides_delete_is_gone() -> None:
    code = """
    def f(x, c):
        y = x
        if c:
            del y
        else:
            del y
        return y
    """
    assert [op.reason for op in ops(code, "py.unknown")] == ["the name y is not defined in what was read"]


def test_calls_forget_only_what_they_were_given() -> None:
    code = """
    def f(config, other, g):
        a = config.width + 1
        g(other)
        b = config.width + 2
        g(config)
        return a, b, config.width + 3
    """
    assert [op.span.line for op in ops(code, "py.attr")] == [3, 7]
