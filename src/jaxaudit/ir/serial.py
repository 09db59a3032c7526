"""Programs as plain JSON, so that one process can trace and another can judge; nothing here runs what it reads.

Values, regions, places and types are tables referred to by number, so nesting never deepens the document, a region that
several ops share stays one region, and identity survives the journey. What ops have in common is in tables too: the
attributes that several of them share, and their form (name and constants), since many ops differ in their values
alone. Constants keep their Python type (`1`, `1.0`, `True`, tuples, symbols); an attribute of any other type travels as
its text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jaxaudit.ir.collector import collector_paused
from jaxaudit.ir.types import ArrayType, Declared, Exit, Op, Program, Region, Root
from jaxaudit.ir.values import Argument, Symbol, Value
from jaxaudit.spans import Span

_PLAIN = frozenset({type(None), bool, int, float, str})

_EXITS = {one.value: one for one in Exit}

Show = Callable[[str], str]
"""Turns a path of the sender into the path that reports show."""

Key = tuple[object, ...]
"""Equal for ops of one form."""


@collector_paused()
def encode_program(program: Program) -> dict[str, Any]:
    """Turn a program into JSON data."""
    encoder = _Encoder()
    roots = [[root.name, root.path, encoder.region(root.region)] for root in program.roots]
    values = encoder.table_of_values(program.types)
    paths = {path: number for number, path in enumerate(dict.fromkeys(span.path for span in encoder.spans))}
    return {
        "front_end": program.front_end,
        "comments": {path: {str(n): text for n, text in lines.items()} for path, lines in program.comments.items()},
        "values": values,
        "declared": [
            [encoder.value(value), list(axes.names), axes.scope]
            for value, axes in program.declared.items()
            if value in encoder.numbers
        ],
        "forms": encoder.forms,
        "attrs": encoder.attrs,
        "regions": encoder.regions,
        "spans": [[paths[span.path], *span[1:]] for span in encoder.spans],
        "types": [[list(kind.shape), kind.dtype, kind.weak] for kind in encoder.kinds],
        "paths": list(paths),
        "roots": roots,
    }


@collector_paused()
def decode_program(data: Mapping[str, Any], show: Show = str) -> Program:
    """Turn JSON data back into a program; paths become those that reports show."""
    decoder = _Decoder(data, show)
    return Program(
        tuple(Root(name, show(path), decoder.region(number)) for name, path, number in data["roots"]),
        data["front_end"],
        {show(path): {int(n): text for n, text in lines.items()} for path, lines in data["comments"].items()},
        decoder.types,
        {decoder.values[number]: Declared(tuple(names), scope) for number, names, scope in data["declared"]},
    )


class _Encoder:
    def __init__(self) -> None:
        self.numbers: dict[Value, int] = {}
        self.forms: list[list[Any]] = []
        self.attrs: list[dict[str, Any]] = []
        self.regions: list[Any] = []
        self.spans: dict[Span, int] = {}
        self.kinds: dict[ArrayType, int] = {}
        self._form_numbers: dict[Key, int] = {}
        self._attrs_numbers: dict[int, int] = {}
        self._region_numbers: dict[int, int] = {}

    def region(self, region: Region) -> int:
        known = self._region_numbers.get(id(region))
        if known is not None:
            return known
        number = self._region_numbers[id(region)] = len(self.regions)
        self.regions.append(None)
        self.regions[number] = [
            region.kind,
            region.label,
            self.span(region.span),
            self.many(region.params),
            [self.op(op) for op in region.ops],
            self.many(region.results),
            region.exit.value,
            region.shared,
        ]
        return number

    def op(self, op: Op) -> list[Any]:
        row = [
            self.form(op),
            self.attributes(op.attrs),
            self.many(op.operands),
            self.many(op.results),
            self.spans.setdefault(op.span, len(self.spans)),
        ]
        return [*row, [self.region(region) for region in op.regions]] if op.regions else row

    def form(self, op: Op) -> int:
        """Return the number of what an op has in common with others; values among its arguments are left open."""
        key = _form_of(op)
        known = None if key is None else self._form_numbers.get(key)
        if known is None:
            known = len(self.forms)
            self.forms.append([op.name, self.arguments(op, left_open=key is not None)])
            if key is not None:
                self._form_numbers[key] = known
        return known

    def arguments(self, op: Op, *, left_open: bool) -> list[list[Any]]:
        return [
            [name] if left_open and isinstance(argument, Value) else [name, self.data(argument)]
            for name, argument in op.arguments.items()
        ]

    def attributes(self, attrs: Mapping[str, object]) -> int:
        known = self._attrs_numbers.get(id(attrs))
        if known is None:
            known = self._attrs_numbers[id(attrs)] = len(self.attrs)
            self.attrs.append({name: self.data(attr) for name, attr in attrs.items()})
        return known

    def value(self, value: Value) -> int:
        return self.numbers.setdefault(value, len(self.numbers))

    def many(self, values: tuple[Value, ...]) -> list[int]:
        numbers = self.numbers
        return [numbers.setdefault(value, len(numbers)) for value in values]

    def span(self, span: Span) -> int:
        return self.spans.setdefault(span, len(self.spans))

    def table_of_values(self, types: Mapping[Value, ArrayType]) -> list[list[Any]]:
        """Return everything about the values that were met, one column after the other."""
        kinds, told = self.kinds, list(map(types.get, self.numbers))
        return [
            [value.id for value in self.numbers],
            [self.span(value.span) for value in self.numbers],
            [value.name for value in self.numbers],
            [None if kind is None else kinds.setdefault(kind, len(kinds)) for kind in told],
        ]

    def data(self, item: object) -> Any:
        if isinstance(item, Value):
            return {"v": self.value(item)}
        return item if type(item) in _PLAIN else self.structure(item)

    def structure(self, item: object) -> Any:
        match item:
            case Symbol():
                return {"s": str(item)}
            case None | bool() | int() | float() | str():
                return item
            case bytes():
                return {"b": item.hex()}
            case complex():
                return {"c": [item.real, item.imag]}
            case ArrayType():
                return {"a": [list(item.shape), item.dtype, item.weak]}
            case tuple() | list():
                return {"t": [self.data(part) for part in item]}
            case Mapping():
                return {"m": [[self.data(key), self.data(part)] for key, part in item.items()]}
        return str(item)


def _form_of(op: Op) -> Key | None:
    """Return what decides the form of an op; None where its operands are not its arguments in order, or are nested.

    Constants stand beside their types, since `1`, `1.0` and `True` are equal.
    """
    parts: list[object] = [op.name]
    operands = iter(op.operands)
    for name, argument in op.arguments.items():
        kind = type(argument)
        if kind is Value:
            if next(operands, None) is not argument:
                return None
            parts += (name, kind)
        elif kind in _PLAIN or (kind is tuple and _is_of_numbers(argument)):
            # Zero and minus zero are equal, too.
            parts += (name, kind, repr(argument) if kind is float else argument)
        else:
            return None
    return None if op.arguments and next(operands, None) is not None else tuple(parts)


def _is_of_numbers(item: object) -> bool:
    return type(item) is int or (type(item) is tuple and all(map(_is_of_numbers, item)))


class _Decoder:
    def __init__(self, data: Mapping[str, Any], show: Show) -> None:
        paths = [show(path) for path in data["paths"]]
        self.spans = [Span(paths[row[0]], *row[1:]) for row in data["spans"]]
        ids, spans, names, kinds = data["values"]
        self.values = list(map(Value, ids, map(self.spans.__getitem__, spans), names))
        told = [_array_type(row) for row in data["types"]]
        self.types = {value: told[kind] for value, kind in zip(self.values, kinds, strict=True) if kind is not None}
        self._forms = [self.form(*row) for row in data["forms"]]
        self._attrs = [{key: self.data(attr) for key, attr in row.items()} for row in data["attrs"]]
        self._rows = data["regions"]
        self._regions: dict[int, Region] = {}

    def region(self, number: int) -> Region:
        known = self._regions.get(number)
        if known is not None:
            return known
        kind, label, span, params, ops, results, way_out, shared = self._rows[number]
        region = self._regions[number] = Region(kind, label, self.spans[span], self.many(params))
        region.ops.extend([self.op(*row) for row in ops])
        region.results = self.many(results)
        region.exit = _EXITS[way_out]
        region.shared = shared
        return region

    def op(
        self, form: int, attrs: int, operands: list[int], results: list[int], span: int, regions: Sequence[int] = ()
    ) -> Op:
        name, arguments, left_open = self._forms[form]
        given = self.many(operands)
        if left_open:
            arguments = arguments.copy()
            arguments.update(zip(left_open, given, strict=True))
        inner = tuple([self.region(number) for number in regions])
        return Op(name, given, self.many(results), self.spans[span], arguments, self._attrs[attrs], inner)

    def form(self, name: str, arguments: list[list[Any]]) -> tuple[str, dict[str, Argument], list[str]]:
        """Return the name of an op, its arguments, and which of them are its operands."""
        given = {row[0]: self.data(row[1]) if len(row) > 1 else None for row in arguments}
        return name, given, [row[0] for row in arguments if len(row) == 1]

    def many(self, numbers: list[int]) -> tuple[Value, ...]:
        values = self.values
        return tuple([values[number] for number in numbers])

    def data(self, item: Any) -> Any:
        if not isinstance(item, dict):
            return item
        ((tag, inner),) = item.items()
        match tag:
            case "v":
                return self.values[inner]
            case "s":
                return Symbol(inner)
            case "b":
                return bytes.fromhex(inner)
            case "c":
                return complex(*inner)
            case "t":
                return tuple(self.data(part) for part in inner)
            case "m":
                return {self.data(key): self.data(part) for key, part in inner}
        return _array_type(inner)


def _array_type(row: list[Any]) -> ArrayType:
    shape, dtype, weak = row
    return ArrayType(tuple(shape), dtype, weak)
