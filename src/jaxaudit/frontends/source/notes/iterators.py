"""Iterators of Python give their items once: where each is made, and where something runs through it to its end."""

from __future__ import annotations

import ast

from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.syntax import walk
from jaxaudit.frontends.source.values.arguments import Arguments
from jaxaudit.frontends.source.values.callables import FunctionValue, Library
from jaxaudit.frontends.source.values.model import Abstract, Leaf, Range
from jaxaudit.ir.functions import EXHAUSTING, ONE_SHOT
from jaxaudit.ir.record import record, replace
from jaxaudit.spans import Span


@record
class Opened:
    """An iterator, and where it was made."""

    value: Abstract
    """What stands for it, by whose identity it is known."""
    serial: int
    born: int
    """The youngest value when it was made."""
    kind: str
    span: Span
    bases: tuple[Opened, ...] = ()
    """The iterators that it takes its own items from."""


def opened(it: Interpreter, made: Abstract, kind: str, span: Span, parts: tuple[Abstract, ...] = ()) -> Abstract:
    """Return what a call gave as an object of its own, and remember that it is an iterator."""
    sources = parts[1:] if kind in ("map", "filter") else parts[:1] if kind == "enumerate" else parts
    bases = tuple(found for part in sources if (found := it.iterators.get(_identity(part))) is not None)
    if len(sources) > 1:
        # The shortest says where all end: a stream, or what a count takes items from, goes on.
        counted = any(isinstance(part, Range) for part in sources)
        bases = tuple(one for one in bases if not (counted or one.kind == "generator" or isinstance(one.value, Leaf)))
    if kind == "iter" and bases:
        return made
    made = made if isinstance(made, Leaf) else replace(made)
    it.iterators[_identity(made)] = Opened(made, len(it.iterators) + 1, it.builder.newest, kind, span, bases)
    return made


def called(it: Interpreter, callee: Abstract, given: Arguments, made: Abstract, span: Span) -> Abstract:
    """Note what a call runs through, and whether it makes an iterator."""
    if isinstance(callee, Library) and callee.name in EXHAUSTING:
        for part in given.positional:
            drained(it, part, span)
    if isinstance(callee, Library) and callee.name in ONE_SHOT and not given.star:
        return opened(it, made, callee.name.rpartition(".")[2], span, tuple(given.positional))
    if isinstance(callee, FunctionValue) and callee.kind == "generator":
        return opened(it, made, "generator", span)
    return made


def looped(it: Interpreter, node: ast.For | ast.AsyncFor, iterable: Abstract) -> None:
    """Note that a loop runs through an iterator, unless it may stop before the end."""
    if not any(isinstance(one, ast.Break | ast.Return) for statement in node.body for one in walk(statement)):
        drained(it, iterable, it.span(node.iter))


def drained(it: Interpreter, value: Abstract, span: Span) -> None:
    """Note that something runs through an iterator to its end, and through those that it takes its items from."""
    pending = [found for found in (it.iterators.get(_identity(value)),) if found is not None]
    for one in pending:
        attrs = {"object": one.serial, "born": one.born, "kind": one.kind, "made": one.span}
        it.emit("py.drain", span, attrs=attrs, results=0)
        pending += one.bases


def _identity(value: Abstract) -> object:
    return value.value if isinstance(value, Leaf) else id(value)
