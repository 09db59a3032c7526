"""The stable text form of a program, for golden tests and `jaxaudit check --show-ir`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from jaxaudit.ir.types import Exit, Op, Program, Region
from jaxaudit.ir.values import Argument, Value


def show_program(program: Program) -> str:
    """Print every root; values are numbered anew in each, so that one edit does not renumber the rest."""
    return "\n".join(line for root in program.roots for line in _Printer().root(root.name, root.region))


class _Printer:
    def __init__(self) -> None:
        self._names: dict[Value, str] = {}
        self._regions: dict[int, str] = {}

    def root(self, name: str, region: Region) -> Iterator[str]:
        yield f"root {name}{self.params(region)}:"
        yield from self.body(region, 1)
        yield ""

    def body(self, region: Region, depth: int) -> Iterator[str]:
        for op in region.ops:
            yield from self.op(op, depth)
        if region.results or region.exit is not Exit.FALL:
            values = " ".join(self.value(value) for value in region.results)
            yield "  " * depth + f"{region.exit.value} {values}".rstrip()

    def op(self, op: Op, depth: int) -> Iterator[str]:
        made = ", ".join(self.value(value) for value in op.results)
        given = self.arguments(op.arguments) if op.arguments else ", ".join(self.value(value) for value in op.operands)
        attrs = "".join(f" {key}={_plain(value)}" for key, value in op.attrs.items())
        yield "  " * depth + (f"{made} = " if made else "") + f"{op.name}({given}){attrs}  # {op.span.line}"
        for region in op.regions:
            if id(region) in self._regions:
                yield "  " * (depth + 1) + f"same region as {self._regions[id(region)]}"
                continue
            self._regions[id(region)] = f"{region.kind} {region.label} (line {region.span.line})"
            yield "  " * (depth + 1) + f"{region.kind} {region.label}{self.params(region)}:"
            yield from self.body(region, depth + 2)

    def params(self, region: Region) -> str:
        return "(" + ", ".join(self.value(value) for value in region.params) + ")"

    def arguments(self, arguments: Mapping[str, Argument]) -> str:
        return ", ".join(f"{key}={self.argument(value)}" for key, value in arguments.items())

    def argument(self, argument: Argument) -> str:
        if isinstance(argument, Value):
            return self.value(argument)
        if isinstance(argument, tuple):
            return "(" + ", ".join(self.argument(item) for item in argument) + ")"
        if isinstance(argument, Mapping):
            return "{" + self.arguments(argument) + "}"
        return _plain(argument)

    def value(self, value: Value) -> str:
        if value not in self._names:
            self._names[value] = f"%{len(self._names)}" + (f":{value.name}" if value.name else "")
        return self._names[value]


def _plain(value: object) -> str:
    if isinstance(value, str | int | float | complex | bool | bytes | None):
        text = repr(value)
        return text if len(text) <= 60 else text[:57] + "..."
    if isinstance(value, Sequence):
        return "(" + ", ".join(_plain(item) for item in value) + ")"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}={_plain(item)}" for key, item in value.items()) + "}"
    return str(value)
