"""A condition that one around it has answered goes one way; what may have changed since is asked again."""

from __future__ import annotations

import pytest

from .reading import shapes

_START = "import jax\nimport jax.numpy as jnp\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if flag:\n  found(made(flag))", ["2"]),
        ("if not flag:\n  found(made(flag))", ["3"]),
        ("if flag:\n  return 0\n found(made(flag))", ["3"]),
        ("if flag and other:\n  found(made(flag))", ["2"]),
        ("if x is None:\n  found(jnp.ones(2) if x is None else jnp.ones(3))", ["2"]),
        ("if x is None:\n  return 0\n found(jnp.ones(2) if x is None else jnp.ones(3))", ["3"]),
        ("if flag or other:\n  found(made(flag))", ["?.shape[0]"]),
        # The loop may have been left before anybody asked.
        ("for i in x:\n  if i:\n   break\n  if flag:\n   return 0\n found(made(flag))", ["?.shape[0]"]),
        # The function that asked has ended.
        ("early(flag)\n found(made(flag))", ["?.shape[0]"]),
        # What is asked may be another thing by now.
        ("if x.ready:\n  x.run()\n  found(made(x.ready))", ["?.shape[0]"]),
        ("if flag:\n  flag = x\n  found(made(flag))", ["?.shape[0]"]),
        ("if x[0]:\n  x[0] = other\n  found(made(x[0]))", ["?.shape[0]"]),
    ],
)
def test_what_is_asked_twice(body: str, expected: list[str]) -> None:
    code = f"""
def made(flag):
    if flag:
        return jnp.ones(2)
    return jnp.ones(3)

def found(made):
    result = made * 2
    return 0

def early(flag):
    if flag:
        return 1
    return 2

def f(x, flag, other):
 {body}
"""
    assert shapes(_START + code) == expected


@pytest.mark.parametrize(
    ("setup", "expected"), [("raise ValueError('one or the other')", ["2", "?"]), ("pass", ["2", "3", "?"])]
)
def test_an_object_is_what_its_setup_lets_it_be(setup: str, expected: list[str]) -> None:
    code = f"""
import flax.linen as nn

def found(made):
    result = made * 2
    return 0

class Base(nn.Module):
    flag: bool = False
    def run(self):
        return found(self.size())

class Local(Base):
    def run(self):
        if self.flag:
            return super().run()
        return self.size()
    def size(self):
        return jnp.ones(2)

class Last(Local):
    def setup(self):
        if self.flag:
            {setup}
    def size(self):
        return jnp.ones(3)
"""
    assert sorted(set(shapes(_START + code))) == expected
