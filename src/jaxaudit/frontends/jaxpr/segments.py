"""Puts the flat equations of a jaxpr into the functions and transformations they were made under.

Equations that one call made stand next to each other. The two halves of a gradient belong to one segment, and so does
what stands between them; any other transformation that is left and entered again becomes two segments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from jaxaudit.frontends.jaxpr.nesting import Step
from jaxaudit.frontends.jaxpr.records import Record
from jaxaudit.frontends.jaxpr.sites import Key

_WHOLE = ("grad", "value_and_grad", "jacrev", "hessian", "jacfwd")
"""Kinds that run as a whole before anything else does, so that gaps belong to them."""


@dataclass(slots=True)
class Segment:
    """One passage through a transformation or a function: a run of items, some of which are segments themselves."""

    key: Step
    record: Record | None
    """The call of a transformation; None for a plain function."""
    items: list[int | Segment] = field(default_factory=list)

    @property
    def first(self) -> int:
        """The position of its first item."""
        item = self.items[0]
        return item if isinstance(item, int) else item.first

    @property
    def last(self) -> int:
        """The position of its last item."""
        item = self.items[-1]
        return item if isinstance(item, int) else item.last


def arrange(stacks: Sequence[tuple[Step, ...]], records: Mapping[int, Record]) -> list[int | Segment]:
    """Nest positions by the transformations around them."""
    last = _last(stacks)
    top: list[int | Segment] = []
    opened: list[Segment] = []
    before: tuple[Step, ...] = ()
    for position, stack in enumerate(stacks):
        if stack is before and len(stack) == len(opened):
            (opened[-1].items if opened else top).append(position)
            continue
        before = stack
        del opened[_kept(opened, stack, position, last) :]
        for key in stack[len(opened) :]:
            segment = Segment(key, records[key.uid] if isinstance(key, Key) else None)
            (opened[-1].items if opened else top).append(segment)
            opened.append(segment)
        (opened[-1].items if opened else top).append(position)
    return top


def _last(stacks: Sequence[tuple[Step, ...]]) -> dict[Step, int]:
    """Return the last position under each transformation."""
    found: dict[Step, int] = {}
    before: tuple[Step, ...] = ()
    for position, stack in enumerate(stacks):
        if stack is not before:
            found.update((key, position - 1) for key in before if isinstance(key, Key))
            before = stack
    found.update((key, len(stacks) - 1) for key in before if isinstance(key, Key))
    return found


def _kept(opened: Sequence[Segment], stack: Sequence[Step], position: int, last: Mapping[Step, int]) -> int:
    """Say how many of the open segments go on."""
    kept = 0
    while kept < min(len(opened), len(stack)) and opened[kept].key == stack[kept]:
        kept += 1
    if kept < len(stack):
        return kept
    while kept < len(opened) and _is_whole(opened[kept]) and last[opened[kept].key] > position:
        kept += 1
    return kept


def _is_whole(segment: Segment) -> bool:
    return segment.record is not None and segment.record.kind in _WHOLE
