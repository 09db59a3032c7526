"""Switches: constants that somebody wrote down and may write otherwise, and conditions that ask for nothing else.

A side that a switch leaves out is read aside, with what is known on the side that is taken. Where the same switch chose
something before, that is what the other side never sees, and all that it reads is open:

    keys = jnp.zeros(n) if self.greedy else jax.random.split(key, n)
    ...
    if not self.greedy:
        noise = jax.random.normal(keys[i])
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.values.callables import (
    BoundMethod,
    ClassValue,
    FunctionValue,
    Library,
    PartialValue,
    Transformed,
)
from jaxaudit.frontends.source.values.heap import ObjectBox
from jaxaudit.frontends.source.values.model import Abstract, Const, Ref
from jaxaudit.ir.record import record
from jaxaudit.spans import Span

_CODE = FunctionValue | BoundMethod | PartialValue | Transformed | ClassValue | Library


@record
class Choice:
    """A condition that is about switches and words alone."""

    switches: tuple[Const, ...]
    """Those that are not written in the condition itself."""

    def is_made(self, it: Interpreter) -> bool:
        """Whether one of the switches chose something before: the same constant, not one of its value."""
        return any(id(one) in it.decided for one in self.switches)

    def note(self, it: Interpreter) -> None:
        """Remember that the switches chose something."""
        it.decided.update((id(one), one) for one in self.switches)


def choice(it: Interpreter, test: ast.expr) -> Choice | None:
    """Return the switches that a condition is about; None where it asks for anything else."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return choice(it, inner)
        case ast.BoolOp(values=parts):
            found = [choice(it, part) for part in parts]
            known = [one for one in found if one is not None]
            return Choice(tuple(s for one in known for s in one.switches)) if len(known) == len(found) else None
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() | ast.In() | ast.NotIn()], comparators=[right]):
            return _of_words(it, [left, right])
        case ast.Name() | ast.Attribute() | ast.Subscript():
            return _of_words(it, [test])
    return None


def _of_words(it: Interpreter, nodes: list[ast.expr]) -> Choice | None:
    switches: list[Const] = []
    for node in nodes:
        match node:
            case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
                nodes += items
                continue
            case ast.Constant() | ast.Name() | ast.Attribute() | ast.Subscript():
                value = it.evaluate(node)
            case _:
                return None
        if not isinstance(value, Const) or not isinstance(value.value, bool | str):
            return None
        if isinstance(node, ast.Name) and node.id == "__name__":
            return None
        switches += [] if isinstance(node, ast.Constant) else [value]
    return Choice(tuple(switches))


def is_given(it: Interpreter, test: ast.expr) -> bool:
    """Whether a condition asks about a parameter, so that whoever calls the function chooses."""
    function = it.frame.function
    given = () if function is None else [one.arg for one in ast.walk(function.node.args) if isinstance(one, ast.arg)]
    return any(isinstance(part, ast.Name) and part.id in given for part in ast.walk(test))


def opened(it: Interpreter, env: Mapping[str, Abstract], span: Span) -> dict[str, Abstract]:
    """Return what variables are where a switch is set otherwise than it was when they were bound."""
    return {name: _opened(it, name, value, span) for name, value in env.items() if not isinstance(value, _CODE)}


def _opened(it: Interpreter, name: str, value: Abstract, span: Span) -> Abstract:
    found = it.unknown("a switch that is set otherwise here chose what it is", span, name)
    box = it.heap[value] if isinstance(value, Ref) else None
    return it.heap.new(ObjectBox(box.cls, {}, found.value)) if isinstance(box, ObjectBox) else found
