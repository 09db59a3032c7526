"""The uses of values: who reads a value, what for, and what becomes of it in the end.

A backward domain: what becomes of an operand follows from what becomes of the results. A value that crosses a border
is one value under two names, so calls, branches, loops and maps are looked through.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Flag
from functools import reduce
from operator import or_

from jaxaudit.analyses.domain import (
    WIDEN_AFTER,
    Direction,
    Read,
    Solution,
    Transfer,
    any_branch,
    anywhere,
    never_parts,
    not_at_once,
    whole,
)
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.queries import walk
from jaxaudit.ir import Op, Region, Value
from jaxaudit.ir.functions import COMPARISONS
from jaxaudit.ir.interfaces import Branch, Loop, given_to
from jaxaudit.ir.ops import VOCABULARY
from jaxaudit.ir.record import record
from jaxaudit.libraries.lookup import plays


class Use(Flag):
    """What a value is read for."""

    COMPUTED = 1
    """Something is computed of it."""
    COMPARED = 2
    MEASURED = 4
    """Its shape or type is asked for, and not its numbers."""
    TESTED = 8
    """Python or JAX decides by it which way to go."""
    SHOWN = 16
    """It becomes text, or is printed or logged."""
    STORED = 32
    """It is put where others find it: an attribute, a list, a global name."""
    HANDED = 64
    """It is given to a callee that could not be followed."""
    CARRIED = 128
    """The next turn of a loop gets it."""
    RETURNED = 256
    """It leaves the program, to whoever calls it."""
    DROPPED = 512
    """A statement computes it and does nothing with it."""


EFFECTS = Use.TESTED | Use.SHOWN | Use.STORED | Use.HANDED | Use.RETURNED
"""The uses by which a value makes a difference outside of itself."""

_SHIFT = 16
_DIRECT = (1 << _SHIFT) - 1
"""A fact is one number: the uses of the value itself, and above them those of all that is computed from it."""

_COMPUTED, _TESTED, _CARRIED, _RETURNED = (use.value for use in (Use.COMPUTED, Use.TESTED, Use.CARRIED, Use.RETURNED))
"""As plain numbers, which are put together much faster."""

_KINDS: Mapping[str, Use] = {
    "array.shape": Use.MEASURED,
    "py.test": Use.TESTED,
    "py.print": Use.SHOWN,
    "py.format": Use.SHOWN,
    "py.call_unknown": Use.HANDED,
    "callback": Use.HANDED,
    "py.store_attr": Use.STORED,
    "py.store_global": Use.STORED,
    "py.store_nonlocal": Use.STORED,
    "py.set_item": Use.STORED,
    "py.append": Use.STORED,
    "py.raise": Use.SHOWN,
}


@record
class Uses:
    """The solved uses of all values."""

    facts: Mapping[Value, int]
    dropped: frozenset[Value]

    def of(self, value: Value) -> Use:
        """Return what a value itself is read for, under any name."""
        found = Use(self.facts.get(value, 0) & _DIRECT)
        return found | Use.DROPPED if value in self.dropped else found

    def becomes(self, value: Value) -> Use:
        """Return what a value and all that is computed from it are read for."""
        return self.of(value) | Use(self.facts.get(value, 0) >> _SHIFT)

    def is_read(self, value: Value) -> bool:
        """Whether anything reads a value."""
        return bool(self.facts.get(value, 0))


class UsesDomain:
    """What values are read for, on some path."""

    name = "uses"
    direction = Direction.BACKWARD
    by_summary = False
    widen_after = WIDEN_AFTER
    parts = never_parts
    taken = any_branch
    place = anywhere
    at_once = not_at_once
    part = whole

    def __init__(self, facts: Facts) -> None:
        roots = facts.program.roots
        self._given = frozenset(value for root in roots for value in root.region.results)
        """What the roots give to whoever calls them."""
        own = walk((root.region for root in roots), _own_regions)
        self._returns = frozenset(op for region in own for op in region.ops if op.name == "py.return")
        self._table: Mapping[str, Transfer[int]] = {**_TABLE, "py.return": self._return}

    @property
    def table(self) -> Mapping[str, Transfer[int]]:
        """The transfer functions by op name."""
        return self._table

    def unknown(self, value: Value) -> int:
        """Return what is known of a value that nothing reads."""
        return _RETURNED if value in self._given else 0

    def join(self, first: int, second: int) -> int:
        """Return the uses on either of two paths."""
        return first | second

    def widen(self, old: int, new: int) -> int:
        """Return the uses in either of two turns; there are few, so every rising sequence ends."""
        return old | new

    def enter(self, op: Op, region: Region, read: Read[int], turn: int) -> Sequence[int]:
        """Return the uses of what a region gives: those of the results, and of what the next turn gets."""
        loop, results = Loop.of(op), region.results
        found = {value: read(value) for value in results}
        if loop is not None and loop.is_condition(region):
            return [found[value] | _TESTED for value in results]
        if len(op.results) == len(results):
            for value, made in zip(results, op.results, strict=True):
                found[value] |= read(made)
        else:
            # A derivative makes results of its own from what the body gives.
            after = reduce(or_, (_read_for(_COMPUTED, read(made)) for made in op.results), 0)
            found = {value: one | after for value, one in found.items()}
        for one in loop.carried_in(region) if loop is not None else ():
            if one.position < len(results):
                found[results[one.position]] |= read(one.param) | _CARRIED
        return [found[value] for value in results]

    def leave(self, op: Op, read: Read[int]) -> Sequence[int | None]:
        """Return the uses of operands: those of the parameters that stand for them."""
        found = {value: read(value) for value in op.operands}
        for region in op.regions:
            for param, given in given_to(op, region):
                found[given] |= read(param)
        asked = op.operands[: len(op.operands) - len(branch.operands)] if (branch := Branch.of(op)) is not None else ()
        for value in op.operands if op.name == "py.branch" else asked:
            found[value] |= _TESTED
        return [found[value] for value in op.operands]

    def finish(self, facts: Facts, solution: Solution[int]) -> Uses:
        """Return what rules read."""
        noted = (op.values or () for op in facts.program.named("py.drop"))
        return Uses(solution.facts, frozenset(one for values in noted for one in values if isinstance(one, Value)))

    def _return(self, op: Op, read: Read[int]) -> Sequence[int | None]:
        """Let a root return its values; what a known caller gets is a result of the region."""
        return [read(value) | _RETURNED for value in op.operands] if op in self._returns else ()


def _read_for(use: int, after: int) -> int:
    """Return what an op that reads a value adds to its uses, given the uses of what the op makes."""
    return use | ((after | after >> _SHIFT) & _DIRECT) << _SHIFT


def _reader(kind: Use) -> Transfer[int]:
    use = kind.value

    def transfer(op: Op, read: Read[int]) -> Sequence[int | None]:
        after = 0
        for value in op.results:
            after |= read(value)
        added = _read_for(use, after)
        return [read(value) | added for value in op.operands]

    return transfer


_COMPARES, _COMPUTES, _HANDS = _reader(Use.COMPARED), _reader(Use.COMPUTED), _reader(Use.HANDED)


def _map(op: Op, read: Read[int]) -> Sequence[int | None]:
    return (_COMPARES if op.function in COMPARISONS else _COMPUTES)(op, read)


def _library(op: Op, read: Read[int]) -> Sequence[int | None]:
    """Let parameters make a difference by the module they are applied to: its body is followed without them."""
    followed = plays(op.qualified, "module.apply") and not any(map(read, op.results))
    return (_HANDS if followed else _COMPUTES)(op, read)


_TABLE: Mapping[str, Transfer[int]] = {
    **dict.fromkeys(VOCABULARY, _COMPUTES),
    "py.call_library": _library,
    **{name: _reader(kind) for name, kind in _KINDS.items()},
    "array.map": _map,
}


def _own_regions(region: Region) -> Iterator[Region]:
    """Return the branches and loops of Python in a region: not the bodies of functions that it calls."""
    return (inner for op in region.ops for inner in op.regions if inner.kind in ("branch", "loop"))
