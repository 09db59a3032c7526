"""The index that questions of lineage are asked of: built once for a program, read by several rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field
from typing import Any, NamedTuple

from jaxaudit.analyses.paths import Places
from jaxaudit.ir import Op, Program, Region, Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import REMARKS, VOCABULARY
from jaxaudit.ir.record import entity
from jaxaudit.spans import Span

_FEW = 16
"""How many values are searched one by one; the gradients of a large model are looked up in a table."""

_OPAQUE = frozenset(("py.call_library", "array.numpy", "key.stream", "device.place"))
"""Ops that may have effects of their own."""


class Entry(NamedTuple):
    """An op, and the region of it that has some value for parameter."""

    op: Op
    region: Region


@entity
class Flow:
    """Makers, readers and places of everything in a program."""

    program: Program
    places: Places
    maker: Callable[[Value], Op | None]
    """Gives the op that made a value. What made an argument, and has no other result, made the parameter that stands
    for it in a body that is read in place; None for all other parameters."""
    own_maker: Callable[[Value], Op | None]
    """Gives the op that made a value, and None for every parameter: for who crosses the borders of calls by itself."""
    given: dict[Value, Value]
    """What each parameter of a body that is read in place stands for, however many calls it was handed through."""
    readers: dict[Value, list[Op]]
    leaving: dict[Value, list[Region]]
    """The regions that a value is a result of."""
    handed_back: dict[Value, list[Op]]
    """The `return`s of bodies that are read in place, by the values made there: the caller has the very same."""
    callers: dict[int, list[Op]]
    """The calls of each body that several share, by the body's identity."""
    before: dict[Value, tuple[Value, ...]] = field(default_factory=dict)
    """What each value was called on the other side of the border it crossed, as far as somebody asked."""
    _at: dict[int, dict[Span, Op]] = field(default_factory=dict)
    """The last op at each place, by the identity of the region, for those that somebody asked about."""
    _positions: dict[int, dict[Value, int]] = field(default_factory=dict)
    _tables: dict[object, dict[Any, Any]] = field(default_factory=dict)

    def table(self, owner: Callable[..., object]) -> dict[Any, Any]:
        """Return the table in which a function keeps what it found in this program."""
        return self._tables.setdefault(owner, {})

    @classmethod
    def of(cls, program: Program, places: Places) -> Flow:
        """Index a program."""
        readers: defaultdict[Value, list[Op]] = defaultdict(list)
        leaving: defaultdict[Value, list[Region]] = defaultdict(list)
        handed_back: defaultdict[Value, list[Op]] = defaultdict(list)
        callers: defaultdict[int, list[Op]] = defaultdict(list)
        within: set[int] = set()
        for op in program.walk():
            if op.regions and op.in_place:
                within.update(map(id, op.regions))
            own = _handed_back(op, places) if op.name == "py.return" else ()
            for value in op.operands:
                (handed_back if value in own else readers)[value].append(op)
            for region in op.regions:
                if places.holder.get(id(region)) is None:
                    callers[id(region)].append(op)
        # Each region once, however many calls share it: whoever asks what a value is outside goes to all of them.
        for region in (one for one in program.regions() if id(one) not in within):
            for value in dict.fromkeys(region.results):
                leaving[value].append(region)
        given = _given(program)
        makers = _makers(places, given).get, places.maker.get
        return cls(program, places, *makers, given, dict(readers), dict(leaving), dict(handed_back), dict(callers))

    def position(self, values: tuple[Value, ...], value: Value) -> int:
        """Return the position of a value among the results of an op or the parameters of a region."""
        if len(values) < _FEW:
            return values.index(value)
        known = self._positions.get(id(values))
        if known is None:
            known = self._positions[id(values)] = {one: i for i, one in reversed(list(enumerate(values)))}
        return known[value]

    def giver(self, value: Value, beside: Op) -> Op | None:
        """Return the op in the region of another one that gives a value: its maker, or the call that this stands in."""
        maker = self.maker(value)
        return None if maker is None else self.through(maker, beside)

    def stands_for(self, value: Value) -> Value:
        """Return what was given for a parameter of a body that is read in place; any other value itself."""
        return self.given.get(value, value)

    def passed(self, param: Value) -> Value | None:
        """Return what the call that a body is read in place for gives for a parameter; None for any other value."""
        region = self.places.owner.get(param)
        call = None if region is None else self.places.holder.get(id(region))
        if region is None or call is None or not call.in_place:
            return None
        return call.operands[self.position(region.params, param)]

    def is_read_outside(self, value: Value, op: Op) -> bool:
        """Whether anything but the body of an op reads a value or gives it away."""
        homes = [self.places.region_of[one] for one in self.readers.get(value, ())]
        homes += self.leaving.get(value, ())
        return any(not any(self.places.within(home, region) for region in op.regions) for home in homes)

    def made_at(self, span: Span, beside: Op) -> Op | None:
        """Return the op that an expression became, where another op of the same region speaks of it."""
        region = self.places.region_of[beside]
        if id(region) not in self._at:
            self._at[id(region)] = {op.span: op for op in region.ops if op.name not in REMARKS}
        return self._at[id(region)].get(span)

    def is_read(self, value: Value) -> bool:
        """Whether any op reads a value or a region gives it away; to hand it through a call is not to read it."""
        return value in self.leaving or any(not self._hands_on(op, value) for op in self.readers.get(value, ()))

    def _hands_on(self, op: Op, value: Value) -> bool:
        """Whether an op only takes a value into a body that is read in place, or gives it back from there."""
        if op.name == "py.return":
            return self.passed(value) is not None
        if not (op.in_place and op.regions):
            return False
        params = zip(op.regions[0].params, op.operands, strict=False)
        return not any(self.is_read(param) for param, given in params if given is value)

    def holder(self, op: Op) -> Op | None:
        """Return the op whose region an op stands in; None at a root and in shared bodies."""
        return self.places.holder.get(id(self.places.region_of[op]))

    def entered(self, param: Value) -> Entry | None:
        """Return where a parameter comes in; None for other values, at a root and in shared bodies."""
        region = self.places.owner.get(param)
        op = None if region is None else self.places.holder.get(id(region))
        return None if region is None or op is None else Entry(op, region)

    def loop_of(self, param: Value) -> Loop | None:
        """Return the loop whose body has a value for parameter."""
        entry = self.entered(param)
        return None if entry is None else Loop.of(entry.op)

    def around(self, op: Op, outer: Op) -> Iterator[Op]:
        """Return an op and those that hold it, innermost first, up to but without another one."""
        current: Op | None = op
        while current is not None and current is not outer:
            yield current
            current = self.holder(current)

    def through(self, op: Op, beside: Op, values: Collection[Value] = (), calls: Mapping[int, Op] | None = None) -> Op:
        """Return the call, in the region of another op, by which control gets to an op; the op itself otherwise.

        Of the calls of a body that several share, it is the one that `calls` names, or that takes one of the values.
        """
        home, current = self.places.region_of[beside], op
        seen: set[Op] = set()
        while current not in seen:
            seen.add(current)
            region = self.places.region_of[current]
            if region is home:
                return current
            holder = self.places.holder.get(id(region)) or (calls or {}).get(id(region))
            callers = self.callers.get(id(region), ()) if holder is None else (holder,)
            fitting = [one for one in callers if len(callers) == 1 or any(value in values for value in one.operands)]
            if len(fitting) != 1:
                break
            current = fitting[0]
        return op


def _given(program: Program) -> dict[Value, Value]:
    found: dict[Value, Value] = {}
    for op in program.walk():
        if op.in_place and op.regions:
            pairs = zip(op.regions[0].params, op.operands, strict=False)
            found.update((param, found.get(value, value)) for param, value in pairs)
    return found


def _makers(places: Places, given: Mapping[Value, Value]) -> dict[Value, Op]:
    """Return what made each value, and what each parameter stands for that is the only result of an op."""
    found = ((param, places.maker.get(value)) for param, value in given.items())
    simple = {param: op for param, op in found if op is not None and len(op.results) == 1 and not op.regions}
    return {**places.maker, **simple}


def _handed_back(end: Op, places: Places) -> Collection[Value]:
    """Return what a `return` gives that its body made, where that is read in place."""
    region = places.function_of(end)
    holder = places.holder.get(id(region))
    is_in_place = holder is not None and holder.in_place
    return [value for value in end.operands if value not in region.params] if is_in_place else ()


def is_pure(op: Op) -> bool:
    """Whether an op and everything inside it surely does nothing but compute its results."""
    pending = [op]
    while pending:
        current = pending.pop()
        if current.name == "py.return" or (current.name == "py.test" and current.construct != "assert"):
            continue
        if VOCABULARY[current.name].effect or current.name in _OPAQUE:
            return False
        pending.extend(inner for region in current.regions for inner in region.ops)
    return True
