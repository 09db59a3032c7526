"""What the source front end says of each expression: its abstract value in every context in which it was evaluated."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from jaxaudit.frontends.base import Reading, SourceFile
from jaxaudit.frontends.source.classes.members import is_abstract
from jaxaudit.frontends.source.interpret.interpreter import Interpreter
from jaxaudit.frontends.source.interpret.modules import Loader
from jaxaudit.frontends.source.read import read_source
from jaxaudit.frontends.source.values import callables, heap, model
from jaxaudit.ir import Program, Value
from jaxaudit.spans import Span

_DEEPEST = 5


@dataclass(frozen=True, slots=True)
class Said:
    """An abstract value as it was when its expression was evaluated: objects may change later."""

    kind: str
    """`leaf`, `const`, `tuple`, `list`, `dict`, `record`, `function`, `object`, or `any` for what says nothing."""
    value: Value | None = None
    const: object = None
    name: str = ""
    items: tuple[tuple[object, Said], ...] = ()
    """Of a container: its items, by key or number."""

    def leaves(self) -> Iterator[Value]:
        """Return the values in it."""
        if self.value is not None:
            yield self.value
        for _, item in self.items:
            yield from item.leaves()


ANY = Said("any")


@dataclass(slots=True)
class Reader:
    """One reading of files, with what was said of each place."""

    reading: Reading
    places: Mapping[Span, Sequence[Said]] = field(default_factory=dict)

    @property
    def program(self) -> Program:
        """The program that was read."""
        return self.reading.program


def read(files: Sequence[SourceFile], load: Loader) -> Reader:
    """Read files, and note what each expression was taken for."""
    noted: dict[Span, dict[Said, None]] = defaultdict(dict)
    with _noting(noted):
        reading = read_source(files, load)
    if reading.faults:
        # A reading that failed knows nothing, and nothing contradicts it.
        raise RuntimeError(reading.faults[0])
    alive = _alive(reading.program)
    places = {span: [one for one in found if alive.issuperset(one.leaves())] or [ANY] for span, found in noted.items()}
    return Reader(reading, places)


@contextmanager
def _noting(noted: dict[Span, dict[Said, None]]) -> Iterator[None]:
    evaluate = Interpreter.evaluate

    def noting(self: Interpreter, node: ast.expr) -> model.Abstract:
        value = evaluate(self, node)
        noted[self.span(node)][_said(self, value, 0)] = None
        return value

    Interpreter.evaluate = noting  # type: ignore[method-assign]
    try:
        yield
    finally:
        Interpreter.evaluate = evaluate  # type: ignore[method-assign]


def _alive(program: Program) -> set[Value]:
    """Return the values of the program as it was left: loops are interpreted more than once."""
    found = set(program.makers)
    for root in program.roots:
        found.update(root.region.params)
    for op in program.walk():
        for region in op.regions:
            found.update(region.params)
    return found


def _said(it: Interpreter, value: model.Abstract, depth: int) -> Said:
    if isinstance(value, model.Leaf):
        return Said("leaf", value.value, name=value.cls)
    if isinstance(value, model.Const):
        return Said("const", const=value.value)
    if depth == _DEEPEST:
        return ANY
    if isinstance(value, model.TupleValue):
        return Said("tuple", items=_items(it, value.items, depth))
    if isinstance(value, model.Record):
        return Said("record", name=value.cls.name, items=_items(it, value.items, depth))
    if isinstance(value, callables.BoundMethod):
        value = value.function
    if isinstance(value, callables.FunctionValue) and not is_abstract(value):
        return Said("function", name=value.module.path, const=_line(value))
    if isinstance(value, callables.FunctionValue | callables.PartialValue | callables.Transformed):
        return Said("function")
    return _boxed(it, value, depth) if isinstance(value, model.Ref) else ANY


def _line(function: callables.FunctionValue) -> int:
    """Return the line that Python takes for the first of a function."""
    return min([function.node.lineno, *(one.lineno for one in getattr(function.node, "decorator_list", ()))])


def _boxed(it: Interpreter, ref: model.Ref, depth: int) -> Said:
    box = it.heap[ref]
    if isinstance(box, heap.ListBox):
        return ANY if box.kind != "list" else Said("list", items=_items(it, box.items, depth))
    if isinstance(box, heap.DictBox) and box.rest is None:
        items = ((str(key), _said(it, one, depth + 1)) for key, one in box.entries.items())
        return Said("dict", items=tuple(items))
    return Said("object", name=box.cls.name) if isinstance(box, heap.ObjectBox) else ANY


def _items(it: Interpreter, items: Sequence[model.Abstract], depth: int) -> tuple[tuple[object, Said], ...]:
    return tuple(enumerate(_said(it, one, depth + 1) for one in items))
