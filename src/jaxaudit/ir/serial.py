"""Programs as plain JSON, so that one process can trace and another can judge; nothing here runs what it reads.

Values, regions, places and types are tables referred to by number, so nesting never deepens the document, a region that
several ops share stays one region, and identity survives the journey. Constants keep their Python type (`1`, `1.0`,
`True`, tuples, symbols); an attribute of any other type travels as its text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jaxaudit.ir.collector import collector_paused
from jaxaudit.ir.types import ArrayType, Declared, Exit, Op, Program, Region, Root, Symbol, Value
from jaxaudit.spans import Span

_PLAIN = frozenset({type(None), bool, int, float, str})

Show = Callable[[str], str]
"""Turns a path of the sender into the path that reports show."""


@collector_paused()
def encode_program(program: Program) -> dict[str, Any]:
    """Turn a program into JSON data."""
    encoder = _Encoder(program.types, program.declared)
    roots = [[root.name, root.path, encoder.region(root.region)] for root in program.roots]
    return {
        "front_end": program.front_end,
        "comments": {path: {str(n): text for n, text in lines.items()} for path, lines in program.comments.items()},
        "values": encoder.values,
        "regions": encoder.regions,
        "spans": [[encoder.paths[span.path], *span[1:]] for span in encoder.spans],
        "types": [[list(kind.shape), kind.dtype, kind.weak] for kind in encoder.kinds],
        "paths": list(encoder.paths),
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
        decoder.declared,
    )


class _Encoder:
    def __init__(self, types: Mapping[Value, ArrayType], declared: Mapping[Value, Declared]) -> None:
        self.types = types
        self.declared = declared
        self.values: list[list[Any]] = []
        self.regions: list[Any] = []
        self.paths: dict[str, int] = {}
        self.spans: dict[Span, int] = {}
        self.kinds: dict[ArrayType, int] = {}
        self._value_numbers: dict[Value, int] = {}
        self._region_numbers: dict[int, int] = {}

    def region(self, region: Region) -> int:
        known = self._region_numbers.get(id(region))
        if known is not None:
            return known
        number = self._region_numbers[id(region)] = len(self.regions)
        self.regions.append(None)
        self.regions[number] = {
            "kind": region.kind,
            "label": region.label,
            "span": self.span(region.span),
            "params": self.numbers(region.params),
            "ops": [self.op(op) for op in region.ops],
            "results": self.numbers(region.results),
            "exit": region.exit.value,
            "shared": region.shared,
        }
        return number

    def op(self, op: Op) -> list[Any]:
        data = self.data
        return [
            op.name,
            self.numbers(op.operands),
            self.numbers(op.results),
            self.span(op.span),
            {key: data(value) for key, value in op.arguments.items()},
            {key: data(value) for key, value in op.attrs.items()},
            [self.region(region) for region in op.regions],
        ]

    def numbers(self, values: tuple[Value, ...]) -> list[int]:
        return [self.value(value) for value in values]

    def value(self, value: Value) -> int:
        known = self._value_numbers.get(value)
        if known is not None:
            return known
        number = self._value_numbers[value] = len(self.values)
        kind = self.types.get(value)
        exact = None if kind is None else self.kinds.setdefault(kind, len(self.kinds))
        axes = self.declared.get(value)
        named = [list(axes.names), axes.scope] if axes else None
        self.values.append([value.id, self.span(value.span), value.name, exact, named])
        return number

    def span(self, span: Span) -> int:
        known = self.spans.get(span)
        if known is None:
            known = self.spans[span] = len(self.spans)
            self.paths.setdefault(span.path, len(self.paths))
        return known

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


class _Decoder:
    def __init__(self, data: Mapping[str, Any], show: Show) -> None:
        paths = [show(path) for path in data["paths"]]
        self.spans = [Span(paths[row[0]], *row[1:]) for row in data["spans"]]
        self.kinds = [_array_type(row) for row in data["types"]]
        self.types: dict[Value, ArrayType] = {}
        self.declared: dict[Value, Declared] = {}
        self.values = [self.value(row) for row in data["values"]]
        self._rows = data["regions"]
        self._regions: dict[int, Region] = {}

    def value(self, row: list[Any]) -> Value:
        number, span, name, exact, named = row
        value = Value(number, self.spans[span], name)
        if exact is not None:
            self.types[value] = self.kinds[exact]
        if named is not None:
            self.declared[value] = Declared(tuple(named[0]), named[1])
        return value

    def region(self, number: int) -> Region:
        known = self._regions.get(number)
        if known is not None:
            return known
        row = self._rows[number]
        region = Region(row["kind"], row["label"], self.spans[row["span"]], self.many(row["params"]))
        self._regions[number] = region
        region.ops.extend(self.op(op) for op in row["ops"])
        region.results = self.many(row["results"])
        region.exit = Exit(row["exit"])
        region.shared = row["shared"]
        return region

    def op(self, row: list[Any]) -> Op:
        name, operands, results, span, arguments, attrs, regions = row
        return Op(
            name,
            self.many(operands),
            self.many(results),
            self.spans[span],
            {key: self.data(value) for key, value in arguments.items()},
            {key: self.data(value) for key, value in attrs.items()},
            tuple([self.region(region) for region in regions]),
        )

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
