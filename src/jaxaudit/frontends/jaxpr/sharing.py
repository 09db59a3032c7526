"""Calls that do the same share one region: an unrolled model of a hundred layers is lowered and judged as one layer.

Two calls do the same when the same instruction calls the same function, and the equations that they made are alike one
by one (`prints.py`). A call is looked at so only once a second one comes, so a function that is called once costs
nothing. Calls that use random keys stay apart: each is a use of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.nesting import Call
from jaxaudit.frontends.jaxpr.prints import Print, Prints
from jaxaudit.ir import Region, Value
from jaxaudit.spans import Span

if TYPE_CHECKING:
    from jaxaudit.frontends.jaxpr.equations import Body


@dataclass(slots=True)
class Passage:
    """The equations of one call that become an op with a region."""

    body: Body
    start: int
    stop: int
    equations: Sequence[Any]
    read: Sequence[Any]
    """The variables from outside that become parameters, in order."""
    op: str
    span: Span
    attrs: Mapping[str, object]
    print: Print | None = None
    """What the equations do; None until somebody asks, and where that cannot be told."""
    asked: bool = False

    @property
    def kind(self) -> tuple[object, ...]:
        """What two calls must have in common to be worth comparing; part of what an equation is told by its context."""
        context = self.body.context
        control = context.control.uid if context.control is not None else 0
        told = (context.span, context.inlined, context.recomputed, context.backward, control)
        return len(self.equations), *map(compat.type_of, self.read), *told


@dataclass(slots=True)
class _Group:
    """Calls that may do the same."""

    first: tuple[Passage, Region] | None
    """The first of them, until a second one asks what it does."""
    regions: dict[Print, Region | None] = field(default_factory=dict)
    """None where a region turned out to be no one's but its call's."""


class Sharing:
    """Knows the regions of one root that further calls may use."""

    def __init__(self, prints: Prints) -> None:
        self._prints = prints
        self._groups: dict[tuple[object, ...], _Group] = {}

    def forget(self) -> None:
        """Begin a new root, which shares nothing with those before it."""
        self._groups.clear()

    def find(self, call: Call, passage: Passage) -> Region | None:
        """Return the region of an earlier call that did the same."""
        group = self._groups.get(_name(call, passage))
        if group is None:
            return None
        if group.first is not None:
            before, region = group.first
            group.first = None
            self._add(group, before, region)
        mine = self._print(passage)
        region = None if mine is None else group.regions.get(mine)
        if region is not None:
            region.shared = True
        return region

    def keep(self, call: Call, passage: Passage, region: Region) -> None:
        """Let further calls use a region that was lowered for this one."""
        name = _name(call, passage)
        group = self._groups.get(name)
        if group is None:
            self._groups[name] = _Group((passage, region))
        else:
            self._add(group, passage, region)

    def _add(self, group: _Group, passage: Passage, region: Region) -> None:
        mine = self._print(passage)
        if mine is not None and mine not in group.regions:
            group.regions[mine] = region if _is_closed(region) else None

    def _print(self, passage: Passage) -> Print | None:
        if not passage.asked:
            passage.asked = True
            passage.print = self._prints.of(passage.body, passage.start, passage.stop, passage.read)
        return passage.print


def _name(call: Call, passage: Passage) -> tuple[object, ...]:
    code, offset = call.at
    return id(call.code), id(code), offset, call.under, *passage.kind


def _is_closed(region: Region) -> bool:
    """Whether a region sees its own parameters alone, and uses no random keys."""
    made: set[Value] = set(region.params)
    used: list[Value] = list(region.results)
    for op in region.walk():
        if op.name.startswith("key.") or op.attrs.get("recomputed"):
            return False
        used += op.operands
        made.update(op.results)
        for inner in op.regions:
            made.update(inner.params)
            used += inner.results
    return made.issuperset(used)
