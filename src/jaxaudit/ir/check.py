"""Well-formedness: what must hold for every program before an analysis may read it.

Kept by every front end: each value is made once and before it is used; a shared region sees its own parameters alone;
op names are in the vocabulary; branches that fall through leave as many values as their op has results; calls bind
operands to parameters one to one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from jaxaudit.ir.attributes import kinds_of
from jaxaudit.ir.ops import BODIES, BRANCHES, MAPPED, VOCABULARY
from jaxaudit.ir.record import mutable
from jaxaudit.ir.types import Exit, Op, Program, Region
from jaxaudit.ir.values import Value


def check_program(program: Program) -> list[str]:
    """List what is malformed in a program; an empty list means it is sound."""
    checker = _Checker()
    for root in program.roots:
        checker.region(root.region, checker.made)
    return checker.problems


def unread_attributes(program: Program) -> list[str]:
    """List attributes of ops that nobody reads: those without an accessor of their name and type.

    Kept by what front ends make; on the way between processes attributes that only source has become text.
    """
    return [
        f"{op.span}: {op.name} has an attribute {key} of type {type(value).__name__}, which nobody reads"
        for op in program.walk()
        for key, value in op.attrs.items()
        if value is not None and not isinstance(value, kinds_of(key))
    ]


@mutable
class _Checker:
    problems: list[str] = field(default_factory=list)
    made: set[Value] = field(default_factory=set)
    checked: set[int] = field(default_factory=set)

    def region(self, region: Region, visible: set[Value]) -> None:
        if id(region) in self.checked:
            return
        self.checked.add(id(region))
        if region.shared:
            visible = set()
        self.define(region.params, visible, f"region {region.label}")
        for op in region.ops:
            self.op(op, visible)
        for value in region.results:
            if value not in visible:
                self.problems.append(f"{region.span}: region {region.label} gives {value!r}, which it cannot see")
        if region.exit is not Exit.FALL and region.results:
            self.problems.append(f"{region.span}: region {region.label} leaves by {region.exit.value} yet has results")

    def define(self, values: tuple[Value, ...], visible: set[Value], where: str) -> None:
        for value in values:
            if value in self.made:
                self.problems.append(f"{value.span}: {value!r} is made twice, again in {where}")
            self.made.add(value)
            visible.add(value)

    def op(self, op: Op, visible: set[Value]) -> None:
        self.problems.extend(f"{op.span}: {text}" for text in _op_problems(op))
        for value in op.operands:
            if value not in visible:
                self.problems.append(f"{op.span}: {op.name} uses {value!r} before it is made")
        for region in op.regions:
            self.region(region, visible)
        if not op.in_place:
            self.define(op.results, visible, op.name)


def _op_problems(op: Op) -> Iterator[str]:
    spec = VOCABULARY.get(op.name)
    if spec is None:
        yield f"{op.name} is not in the vocabulary"
        return
    if op.regions and spec.regions == "none":
        yield f"{op.name} holds regions but may not"
    if op.span.line <= 0:
        yield f"{op.name} has no place in a file"
    for region in op.regions:
        if op.name in BRANCHES and region.exit is Exit.FALL and len(region.results) != len(op.results):
            yield f"{op.name} has {len(op.results)} results but its branch leaves {len(region.results)}"
        if (op.name in BODIES or op.name in MAPPED) and len(region.params) != len(op.operands):
            yield f"{op.name} has {len(op.operands)} operands but its region has {len(region.params)} parameters"
