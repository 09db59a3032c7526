"""Well-formedness: what must hold for every program before an analysis may read it.

Kept by every front end: each value is made once; an operand was made before it is used, in the same region or one
around it; op names are in the vocabulary; branches that fall through leave as many values as their op has results.
`py.join` alone may name values made inside earlier nested regions, because a `return` deep in a branch leaves there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from jaxaudit.ir.ops import BRANCHES, VOCABULARY
from jaxaudit.ir.types import Exit, Op, Program, Region, Value


def check_program(program: Program) -> list[str]:
    """List what is malformed in a program; an empty list means it is sound."""
    problems: list[str] = []
    for root in program.roots:
        checker = _Checker(root.name)
        checker.region(root.region, frozenset())
        problems.extend(checker.problems)
    return problems


@dataclass(slots=True)
class _Checker:
    root: str
    problems: list[str] = field(default_factory=list)
    made: set[Value] = field(default_factory=set)
    checked: set[int] = field(default_factory=set)

    def region(self, region: Region, outer: frozenset[Value]) -> None:
        # A region shared by several calls is closed, so one visit is enough.
        if id(region) in self.checked:
            return
        self.checked.add(id(region))
        visible = set(outer)
        self.define(region.params, visible, f"region {region.label}")
        for op in region.ops:
            self.op(op, visible)
        for value in region.results:
            if value not in visible:
                self.problems.append(f"{self.root}: region {region.label} gives {value!r}, which it cannot see")
        if region.exit is not Exit.FALL and region.results and region.kind == "branch":
            self.problems.append(f"{self.root}: region {region.label} leaves by {region.exit.value} yet has results")

    def define(self, values: tuple[Value, ...], visible: set[Value], where: str) -> None:
        for value in values:
            if value in self.made:
                self.problems.append(f"{self.root}: {value!r} is made twice, again in {where}")
            self.made.add(value)
            visible.add(value)

    def op(self, op: Op, visible: set[Value]) -> None:
        self.problems.extend(f"{self.root}: {op.span}: {text}" for text in _op_problems(op))
        for value in op.operands:
            seen = value in self.made if op.name == "py.join" else value in visible
            if not seen:
                self.problems.append(f"{self.root}: {op.span}: {op.name} uses {value!r} before it is made")
        inner = frozenset(visible)
        for region in op.regions:
            self.region(region, inner)
        self.define(op.results, visible, op.name)


def _op_problems(op: Op) -> Iterator[str]:
    spec = VOCABULARY.get(op.name)
    if spec is None:
        yield f"{op.name} is not in the vocabulary"
        return
    if op.regions and spec.regions == "none":
        yield f"{op.name} holds regions but may not"
    if op.name in BRANCHES:
        for region in op.regions:
            if region.exit is Exit.FALL and len(region.results) != len(op.results):
                yield f"{op.name} has {len(op.results)} results but its branch leaves {len(region.results)}"
    if op.span.line <= 0:
        yield f"{op.name} has no place in a file"
