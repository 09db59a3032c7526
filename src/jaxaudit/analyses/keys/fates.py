"""What becomes of drawn numbers in the end: they are kept, only shown, only lend their shape, or are compared."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import field
from enum import Enum
from itertools import chain

from jaxaudit.analyses.lineage.index import Flow, is_pure
from jaxaudit.analyses.queries import entered, left, reached, walk
from jaxaudit.ir import Op, Region, Value
from jaxaudit.ir.functions import DIFFERENCES, EQUALITY_CHECKS, ORDERINGS, PLOTS, RANKINGS
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import CALLS, INLINE, LOOKED_AT, LOOPS, PYTHON_LOOPS, VOCABULARY
from jaxaudit.ir.record import mutable, record

_PARTS = frozenset(("py.item", "py.unpack", "py.element", "py.container", "py.to_python", "py.loop", "py.while"))
_KEEPS_ELEMENTS = frozenset(
    ("array.map", "array.select", "array.convert", "array.reshape", "array.expand", "array.squeeze", "py.container")
)
_TEXTS = ("py.format", "py.print")
_TELLS = frozenset(("py.append", *_TEXTS))
_HARMLESS = LOOKED_AT | {"py.call_unknown"}


class Fate(Enum):
    """How a value ends; values that end nowhere are computed for nothing."""

    SHOWN = "shown"
    """It is plotted, or becomes plain numbers that are printed and listed."""
    SHAPE = "shape"
    """Its shape alone counts: it shows a network its input, or `eval_shape` its argument."""
    HANDED = "handed"
    """An unknown callee gets it, and nothing is done with what that gives."""
    KEPT = "kept"
    """Anything else: it is stored or returned."""


@record
class Fates:
    """Answers what becomes of the results of ops."""

    flow: Flow

    def of(self, op: Op, beside: Op | None = None) -> Set[Fate]:
        """Return all ends of an op's results, or those on the paths that a second op is on."""
        bodies = chain((op,), *(region.walk() for region in op.regions)) if op.in_place else ()
        walked = _Walk(self.flow, beside, inside={id(region) for one in bodies for region in one.regions})
        for _ in walk(((value, False) for value in op.results), walked.step):
            if Fate.KEPT in walked.found:
                break
        # A list of samples, or a print of them, shows that they repeat.
        listed = Fate.SHOWN in walked.found and not walked.numbers
        return walked.found | {Fate.KEPT} if listed else walked.found

    def is_unused(self, op: Op) -> bool:
        """Whether an op computes and nothing is done with what it gives."""
        return bool(op.results) and (op.name == "jit" or is_pure(op)) and not self.of(op)

    def gives_samples(self, op: Op) -> bool:
        """Whether an op gives numbers as they are drawn, scaled and shifted at most, and nothing computed of many."""
        if op.name == "key.draw":
            return op.function != "apply"
        draws = (inner for region in op.regions for inner in region.walk() if inner.name == "key.draw")
        made = [value for draw in draws for value in draw.results]
        kept, computed = reached(self.flow, made), set[Value]()
        for value in kept:
            readers = (one for one in self.flow.readers.get(value, ()) if one.name not in _KEEPS_ELEMENTS)
            computed.update(result for one in readers for result in one.results)
        computed = reached(self.flow, computed)
        drawn = walk(made, lambda one: (after for after in self._as_drawn(one) if after not in computed))
        if op.in_place:
            return any(value in op.results for value in drawn)
        return any(region in op.regions for value in drawn for region in self.flow.leaving.get(value, ()))

    def _as_drawn(self, value: Value) -> Iterator[Value]:
        for reader in self.flow.readers.get(value, ()):
            yield from reader.results if reader.name in _KEEPS_ELEMENTS else ()
        yield from left(self.flow, value)

    def are_equated(self, first: Op, second: Op) -> bool:
        """Whether results of two ops are checked to be equal, or not to be."""
        return self._meet(first, second, EQUALITY_CHECKS)

    def are_compared(self, first: Op, second: Op) -> bool:
        """Whether results of two ops are subtracted, divided or ordered."""
        return self._meet(first, second, DIFFERENCES)

    def _meet(self, first: Op, second: Op, functions: Set[str]) -> bool:
        one, other = (self._of_this_turn(op, (first, second)) for op in (first, second))
        readers = (op for value in one - other for op in self.flow.readers.get(value, ()))
        return any(op.function in functions and not (other - one).isdisjoint(op.operands) for op in readers)

    def _of_this_turn(self, op: Op, ends: tuple[Op, Op]) -> set[Value]:
        """Return what is made of an op's results before a loop around it brings them round to its next turn."""
        places = self.flow.places
        around = (Loop(holder) for _, holder in places.up(places.region_of[op]) if holder and holder.name in LOOPS)
        following = {param for loop in around for param, _ in loop.successors}

        def step(value: Value) -> Iterator[Value]:
            readers = [one for one in self.flow.readers.get(value, ()) if one not in ends]
            yield from (made for one in readers if one.name not in PYTHON_LOOPS for made in one.results)
            yield from (inside for one in readers for inside in entered(one, value))
            yield from (after for after in left(self.flow, value) if after not in following)

        return set(walk(op.results, step))

    def are_apart(self, first: Op, second: Op) -> bool:
        """Whether nothing depends on the results of both ops but a text that shows them side by side."""
        one, other = (reached(self.flow, op.results) for op in (first, second))
        texts = {text for op in self.flow.program.named(*_TEXTS) for text in op.results}
        return one & other <= reached(self.flow, texts)

    def are_ranked(self, op: Op) -> bool:
        """Whether results are ranked or searched for the best one."""
        return any(user.function in RANKINGS for user in self._readers(op))

    def are_tabulated(self, op: Op) -> bool:
        """Whether what is computed of samples is entered into a table, under a key that is not constant."""
        stores = (user.arguments.get("index") for user in self._readers(op) if user.name == "py.set_item")
        return not self.gives_samples(op) and any(isinstance(index, Value) for index in stores)

    def _readers(self, op: Op) -> Iterator[Op]:
        return (user for value in reached(self.flow, op.results) for user in self.flow.readers.get(value, ()))

    def only_choice(self, op: Op) -> tuple[Op, Value] | None:
        """Return the `where` or `select` that all of a result goes to, and the value that arrives there."""
        value = op.result if len(op.results) == 1 else None
        while value is not None and value not in self.flow.leaving:
            reader, *others = (*self.flow.readers.get(value, ()), None)
            if reader is None or others != [None]:
                return None
            if reader.name == "array.select":
                return reader, value
            passes = not reader.regions and reader.name.startswith("array.") and len(reader.results) == 1
            value = reader.result if passes else None
        return None

    def is_now_and_then(self, op: Op, loop: Op) -> bool:
        """Whether some turns of a Python loop judge what the turn made, and no later turn gets the result."""
        if loop.name != "py.loop" or not any(op in _ops(side) for branch in _branches(loop) for side in branch.regions):
            return False
        seen = reached(self.flow, op.results)
        users = list(self._readers(op))
        kept = {value for region in loop.regions for value in region.results}
        if not seen.isdisjoint(kept) or any(_has_effect(user) and user.name not in _HARMLESS for user in users):
            return False
        begun = loop.entered[0] if loop.entered else 0
        judges = [op, *(user for user in users if user.name not in _TELLS)]
        return any(value.id > begun and value not in seen for user in judges for value in user.operands)

    def are_rivals(self, op: Op, loop: Op) -> bool:
        """Whether later turns of a loop get of the result of a turn only what they order their own against.

        So it is where a score is compared with the best one so far, which it replaces.
        """
        pure = op.name == "jit" or is_pure(op)
        if loop.name not in PYTHON_LOOPS or not pure or self.gives_samples(op):
            return False
        turn = Loop(loop)
        params = {param for param, _ in turn.successors}
        own = set(walk(op.results, lambda one: (after for after in self._following(one) if after not in params)))
        kept = [param for param, following in turn.successors if following in own]
        return bool(kept) and all(self._is_ordered(param, own) for param in kept)

    def _following(self, value: Value) -> Iterator[Value]:
        for reader in self.flow.readers.get(value, ()):
            # A condition only says which side of a branch runs.
            yield from entered(reader, value)
            yield from reader.results if reader.name not in (*PYTHON_LOOPS, "py.branch") else ()
        yield from left(self.flow, value)

    def _is_ordered(self, value: Value, others: Set[Value]) -> bool:
        readers = self.flow.readers.get(value, ())
        return any(one.function in ORDERINGS and not others.isdisjoint(one.operands) for one in readers)


_Node = tuple[Value, bool]
"""A value, and whether more was done on the way to it than looking at it."""


@mutable
class _Walk:
    """Goes on from values to what is made of them, and notes where that ends."""

    flow: Flow
    beside: Op | None
    found: set[Fate] = field(default_factory=set)
    numbers: bool = False
    """Whether plain numbers are made on the way, or plots."""
    inside: set[int] = field(default_factory=set)
    """The regions that were entered."""

    def step(self, node: _Node) -> Iterator[_Node]:
        """Return what a value goes on as."""
        value, far = node
        functions = (self.flow.places.function_of(end) for end in self.flow.handed_back.get(value, ()))
        if any(id(region) not in self.inside for region in functions):
            self.found.add(Fate.KEPT)
        yield from ((one, far) for one in self._left(value))
        for reader in self.flow.readers.get(value, ()):
            if self.beside is not None and not self._together(reader, self.beside):
                continue
            self.numbers = self.numbers or reader.name == "py.to_python" or _plots(reader)
            fate = self._fate(reader, value, far=far)
            if fate is not None:
                self.found.add(fate)
                continue
            self.inside.update(map(id, reader.regions))
            # What a call does is seen in its body.
            body = reader.name in CALLS and bool(reader.regions)
            looks = body or reader.name in _PARTS or reader.name.startswith("array.")
            made = () if body or reader.name in PYTHON_LOOPS else reader.results
            yield from ((one, far or not looks) for one in (*made, *entered(reader, value)))

    def _fate(self, reader: Op, value: Value, *, far: bool) -> Fate | None:
        """Return how a reader ends a value; None where the value goes on in what the reader makes."""
        if reader.name == "abstract" or is_init(reader):
            return Fate.SHAPE
        if reader.name in _TELLS or _plots(reader):
            return Fate.KEPT if far else Fate.SHOWN
        if reader.name == "py.call_unknown":
            return None if any(map(self.flow.is_read, reader.results)) else Fate.HANDED
        if reader.name == "py.return":
            return None if value in self.flow.leaving else Fate.KEPT
        return Fate.KEPT if _has_effect(reader) and reader.name != "py.to_python" else None

    def _left(self, value: Value) -> Iterator[Value]:
        """Return what a value is called outside of what was entered, and of loops and branches of Python."""
        for region in self.flow.leaving.get(value, ()):
            holder = self.flow.places.holder.get(id(region))
            if holder is None and id(region) in self.inside:
                # It leaves a body that several calls share as what the call gives, which is followed already.
                continue
            if holder is None or (holder.name not in INLINE and id(region) not in self.inside):
                self.found.add(Fate.KEPT)
            elif self.beside is None or not self._is_apart(region, holder, self.beside):
                yield from left(self.flow, value)

    def _is_apart(self, region: Region, holder: Op, beside: Op) -> bool:
        """Whether an op stands on another side of a branch."""
        places = self.flow.places
        return any(places.within(places.region_of[beside], one) for one in holder.regions if one is not region)

    def _together(self, one: Op, other: Op) -> bool:
        places = self.flow.places
        return places.both_happen(one, other) or places.both_happen(other, one)


def is_init(op: Op) -> bool:
    """Whether an op makes the first parameters of a network, which are drawn for the shape of its input."""
    return op.name == "key.draw" and op.function == "init"


def _has_effect(op: Op) -> bool:
    return VOCABULARY[op.name].effect


def _plots(op: Op) -> bool:
    return op.name == "py.call_unknown" and op.callee.rpartition(".")[2] in PLOTS


def _branches(loop: Op) -> Iterator[Op]:
    """Return the branches that are part of a loop's own body."""
    return (op for region in loop.regions for op in _ops(region) if op.name == "py.branch")


def _ops(region: Region) -> Iterator[Op]:
    """Return the ops of a region and of the branches in it."""
    for op in region.ops:
        yield op
        if op.name == "py.branch":
            yield from (inner for side in op.regions for inner in _ops(side))
