"""The end-to-end data flow: from the arguments of each function, line by line, to its results.

Equal neighbours fold: the ops of one line inside one function are one step, which takes what comes from elsewhere and
makes what goes elsewhere. A value that nothing reads is told as dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from jaxaudit.ir import Op, Program, Region, Root, Value
from jaxaudit.reports.model import FlowStep, FlowValue
from jaxaudit.reports.stack import TRANSFORMS
from jaxaudit.reports.types_text import value_type

_MOST_STEPS = 4000
"""Steps to show of one function; what is beyond is said in one more step."""


def data_flow(program: Program) -> tuple[FlowStep, ...]:
    """Give the steps of every root of a traced program."""
    return tuple(step for root in program.roots for step in _Root(root, program).steps())


class _Group(NamedTuple):
    """Neighbouring ops of one line."""

    ops: tuple[Op, ...]
    function: str
    depth: int


class _Root:
    def __init__(self, root: Root, program: Program) -> None:
        self.root = root
        self.types = program.types
        self.uses = _uses(root.region)

    def steps(self) -> Iterator[FlowStep]:
        region = self.root.region
        span = region.span
        place = (self.root.name, self.root.name, 0, span.path, span.line)
        yield FlowStep(*place, "enter", "arguments", (), self.values(region.params))
        for number, group in enumerate(_groups(region, self.root.name)):
            if number >= _MOST_STEPS:
                yield FlowStep(*place, "more", f"further steps are left out after {_MOST_STEPS:,}")
                break
            yield self.step(group)
        yield FlowStep(*place, "leave", "results", _names(region.results), ())

    def step(self, group: _Group) -> FlowStep:
        made = [value for op in group.ops for value in op.results]
        inside = set(made)
        read = Counter(value for op in group.ops for value in op.operands if value in inside)
        taken = [value for op in group.ops for value in op.operands if value not in inside]
        shown = tuple(value for value in made if self.uses[value] > read[value] or not self.uses[value])
        span = group.ops[0].span
        return FlowStep(
            self.root.name,
            group.function,
            group.depth,
            span.path,
            span.line,
            _op_names(group.ops),
            _what(group.ops),
            _names(dict.fromkeys(taken)),
            self.values(shown),
            len(group.ops),
        )

    def values(self, values: Sequence[Value]) -> tuple[FlowValue, ...]:
        return tuple(FlowValue(value.name, value_type(value, self.types), self.uses[value]) for value in values)


def _groups(region: Region, function: str) -> Iterator[_Group]:
    """Walk the regions in order, without recursion, and fold neighbours of one line."""
    waiting: list[tuple[Iterator[_Group | tuple[Region, str, int]],]] = [(_folded(region, function, 1),)]
    while waiting:
        item = next(waiting[-1][0], None)
        if item is None:
            waiting.pop()
        elif isinstance(item, _Group):
            yield item
        else:
            waiting.append((_folded(*item),))


def _folded(region: Region, function: str, depth: int) -> Iterator[_Group | tuple[Region, str, int]]:
    run: list[Op] = []
    for op in region.ops:
        if op.name == "py.const":
            continue
        if run and (op.regions or op.span[:2] != run[0].span[:2]):
            yield _Group(tuple(run), function, depth)
            run = []
        if op.regions:
            yield _Group((op,), function, depth)
            label = op.text("function") or op.regions[-1].label
            yield from ((one, label if op.name in TRANSFORMS else one.label, depth + 1) for one in op.regions)
        else:
            run.append(op)
    if run:
        yield _Group(tuple(run), function, depth)


def _uses(region: Region) -> Counter[Value]:
    uses: Counter[Value] = Counter(region.results)
    for op in region.walk():
        uses.update(op.operands)
        for inner in op.regions:
            uses.update(inner.results)
    return uses


def _op_names(ops: Sequence[Op]) -> str:
    counts = Counter(op.name for op in ops)
    return ", ".join(name if count == 1 else f"{name} x{count}" for name, count in counts.items())


def _what(ops: Sequence[Op]) -> str:
    """Name what the ops do: the functions that they are calls of."""
    names = dict.fromkeys(_last(op.text("function")) for op in ops if op.text("function"))
    shown = list(names)[:4]
    return ", ".join(shown) + (", ..." if len(names) > len(shown) else "")


def _last(name: str) -> str:
    return name.rpartition(".")[2] or name


def _names(values: Sequence[Value] | dict[Value, None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value.name or f"line {value.span.line}" for value in values))
