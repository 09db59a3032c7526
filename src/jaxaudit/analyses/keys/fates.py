"""What becomes of drawn numbers in the end: they are kept, only shown, only lend their shape, or are compared."""

from __future__ import annotations

from collections.abc import Iterator, Set
from enum import Enum

from jaxaudit.analyses.lineage.index import Flow, entered, is_pure
from jaxaudit.ir import Op, Region, Value
from jaxaudit.ir.functions import DIFFERENCES, EQUALITIES, PLOTS, RANKINGS
from jaxaudit.ir.ops import LOOPS, VOCABULARY

_PARTS = frozenset(("py.item", "py.unpack", "py.element", "py.container", "py.to_python"))
_KEEPS_ELEMENTS = frozenset(
    ("array.map", "array.select", "array.convert", "array.reshape", "array.expand", "array.squeeze", "py.container")
)
_TELLS = frozenset(("py.append", "py.format", "py.print"))
_PYTHON_LOOPS = ("py.loop", "py.while")
_MOST = 400


class Fate(Enum):
    """How a value ends; values that end nowhere are computed for nothing."""

    SHOWN = "shown"
    """It is plotted, or becomes plain numbers that are printed and listed."""
    SHAPE = "shape"
    """Its shape alone counts: it shows a network its input, or `eval_shape` its argument."""
    KEPT = "kept"
    """Anything else: it is stored, returned, or goes where it cannot be followed."""


class Fates:
    """Answers what becomes of the results of ops."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow

    def of(self, op: Op, beside: Op | None = None) -> frozenset[Fate]:
        """Return all ends of an op's results, or those on the paths that a second op is on."""
        pending, seen = list(op.results), set(op.results)
        inside, far, found, numbers = set[int](), set[Value](), set[Fate](), False
        for value in pending:
            made = list(self._left(value, beside, inside))
            if None in made or len(seen) > _MOST:
                return frozenset((Fate.KEPT,))
            for reader in self._flow.readers.get(value, ()):
                if beside is not None and not self._together(reader, beside):
                    continue
                numbers = numbers or reader.name == "py.to_python" or _plots(reader)
                fate = self._fate(reader, value, far=value in far)
                if fate is not None:
                    found.add(fate)
                    continue
                results = tuple(_goes_on(reader, value))
                made += results
                inside.update(map(id, reader.regions))
                if not (reader.name in _PARTS or reader.name.startswith("array.") or reader.name in _PYTHON_LOOPS):
                    far.update(results)
            fresh = [one for one in made if one is not None and one not in seen]
            far.update(fresh if value in far else ())
            pending += fresh
            seen.update(fresh)
        # A list of samples, or a print of them, shows that they repeat.
        return frozenset(found if numbers or Fate.SHOWN not in found else {*found, Fate.KEPT})

    def _fate(self, reader: Op, value: Value, *, far: bool) -> Fate | None:
        """Say how a reader ends a value; None where the value goes on in what the reader makes."""
        if reader.name == "abstract" or is_init(reader):
            return Fate.SHAPE
        if reader.name in _TELLS or _plots(reader):
            return Fate.KEPT if far else Fate.SHOWN
        if reader.name == "py.call_unknown":
            return None if any(map(self._flow.is_read, reader.results)) else Fate.KEPT
        if reader.name == "py.return" and value not in self._flow.leaving:
            return Fate.KEPT
        passes = reader.name in ("py.return", "py.to_python") or not VOCABULARY[reader.name].effect
        return None if passes else Fate.KEPT

    def _left(self, value: Value, beside: Op | None, inside: Set[int]) -> Iterator[Value | None]:
        """Return what a value is called outside of the regions it leaves; None for functions that it did not enter."""
        places = self._flow.places
        for region in self._flow.leaving.get(value, ()):
            holder = places.holder.get(id(region))
            if holder is None or (holder.name not in (*_PYTHON_LOOPS, "py.branch") and id(region) not in inside):
                yield None
            elif beside is not None and any(
                places.within(places.region_of[beside], other) for other in holder.regions if other is not region
            ):
                continue
            elif len(holder.results) == len(region.results):
                again = region.params[-len(region.results) :] if holder.name in LOOPS else ()
                pairs = [*zip(region.results, holder.results, strict=True), *zip(region.results, again, strict=False)]
                yield from (made for left, made in pairs if left is value)
            else:
                yield from holder.results

    def _together(self, one: Op, other: Op) -> bool:
        places = self._flow.places
        return places.both_happen(one, other) or places.both_happen(other, one)

    def is_unused(self, op: Op) -> bool:
        """Whether an op computes and nothing is done with what it gives."""
        return bool(op.results) and (op.name == "jit" or is_pure(op)) and not self.of(op)

    def is_dropped(self, op: Op) -> bool:
        """Whether nobody reads what an op gives, whatever else it does."""
        return bool(op.results) and not any(map(self._flow.is_read, op.results))

    def are_equated(self, first: Op, second: Op) -> bool:
        """Whether results of two ops are checked to be equal, or not to be."""
        return self._meet(first, second, EQUALITIES)

    def are_compared(self, first: Op, second: Op) -> bool:
        """Whether results of two ops are subtracted, divided or ordered."""
        return self._meet(first, second, DIFFERENCES)

    def gives_samples(self, op: Op) -> bool:
        """Whether an op gives numbers as they are drawn, scaled and shifted at most, and nothing computed of many."""
        if op.name == "key.draw":
            return op.function != "apply"
        draws = (inner for region in op.regions for inner in region.walk() if inner.name == "key.draw")
        pending = [value for draw in draws for value in draw.results]
        seen = set(pending)
        for value in pending:
            if any(region in op.regions for region in self._flow.leaving.get(value, ())):
                return True
            readers = (reader for reader in self._flow.readers.get(value, ()) if reader.name in _KEEPS_ELEMENTS)
            made = [one for reader in readers for one in reader.results]
            everywhere = {id(region) for region in self._flow.leaving.get(value, ())}
            fresh = [
                one for one in (*made, *self._left(value, None, everywhere)) if one is not None and one not in seen
            ]
            pending += fresh
            seen.update(fresh)
        return False

    def are_apart(self, first: Op, second: Op) -> bool:
        """Whether nothing depends on the results of both ops."""
        return self._flow.reached(first.results).isdisjoint(self._flow.reached(second.results))

    def _meet(self, first: Op, second: Op, functions: frozenset[str]) -> bool:
        one, other = self._flow.reached(first.results), self._flow.reached(second.results)
        readers = (op for value in one - other for op in self._flow.readers.get(value, ()))
        return any(op.function in functions and not (other - one).isdisjoint(op.operands) for op in readers)

    def are_ranked(self, op: Op) -> bool:
        """Whether results are ranked or searched for the best one."""
        return any(user.function in RANKINGS for user in self._readers(op))

    def are_tabulated(self, op: Op) -> bool:
        """Whether what is computed of samples is entered into a table, under a key that is not constant."""
        return not self.gives_samples(op) and any(
            user.name == "py.set_item" and isinstance(user.arguments.get("index"), Value) for user in self._readers(op)
        )

    def _readers(self, op: Op) -> Iterator[Op]:
        return (user for value in self._flow.reached(op.results) for user in self._flow.readers.get(value, ()))

    def are_parts(self, first: Op, second: Op) -> bool:
        """Whether two calls are alike but for operands that are two parts of one object."""
        pairs = [pair for pair in zip(first.operands, second.operands, strict=False) if pair[0] is not pair[1]]
        owners = [tuple(map(self._owner, pair)) for pair in pairs]
        alike = len(first.operands) == len(second.operands) and bool(pairs)
        return alike and all(one is not None and one is other for one, other in owners)

    def _owner(self, value: Value) -> Value | None:
        made = self._flow.maker(value)
        return made.operands[0] if made is not None and made.name == "py.attr" and made.operands else None

    def only_choice(self, op: Op) -> tuple[Op, Value] | None:
        """Return the `where` or `select` that all of a result goes to, and the value that arrives there."""
        value = op.result if len(op.results) == 1 else None
        while value is not None and value not in self._flow.leaving:
            (reader, *others) = self._flow.readers.get(value, ()) or (None,)
            if reader is None or others:
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
        seen = self._flow.reached(op.results)
        users = [user for value in seen for user in self._flow.readers.get(value, ())]
        kept = {value for region in loop.regions for value in region.results}
        stores = (user for user in users if VOCABULARY[user.name].effect)
        if not seen.isdisjoint(kept) or any(user.name not in _HARMLESS for user in stores):
            return False
        mark = loop.entered
        begun = mark[0] if isinstance(mark, tuple) else 0
        judges = [op, *(user for user in users if user.name not in ("py.print", "py.format"))]
        return any(value.id > begun and value not in seen for user in judges for value in user.operands)


_HARMLESS = frozenset(("py.call_unknown", "py.print", "py.format", "py.to_python", "py.test"))


def is_init(op: Op) -> bool:
    """Whether an op makes the first parameters of a network, which are drawn for the shape of its input."""
    return op.name == "key.draw" and op.function == "init"


def _plots(op: Op) -> bool:
    return op.name == "py.call_unknown" and op.callee.rpartition(".")[2] in PLOTS


def _goes_on(reader: Op, value: Value) -> Iterator[Value]:
    """Return what a reader makes of a value."""
    if reader.name not in _PYTHON_LOOPS:
        yield from (*reader.results, *entered(reader, value))
        return
    for region in reader.regions:
        # The carried values come last, after a count.
        pairs = zip(reversed(region.params), reversed(reader.operands), strict=False)
        yield from (param for param, operand in pairs if operand is value)


def _branches(loop: Op) -> Iterator[Op]:
    """Return the branches that are part of a loop's own body."""
    return (op for region in loop.regions for op in _ops(region) if op.name == "py.branch")


def _ops(region: Region) -> Iterator[Op]:
    """Return the ops of a region and of the branches in it."""
    for op in region.ops:
        yield op
        if op.name == "py.branch":
            yield from (inner for side in op.regions for inner in _ops(side))
