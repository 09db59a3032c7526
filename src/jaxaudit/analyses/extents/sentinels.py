"""Numbers that stand for nothing in an array of indices: `where(valid, i, -1)`, `full(shape, PAD)` before it is filled.

They are put beside the indices by a choice, by padding, by joining arrays or by filling one that was full of them.
Whether there is an element for them is another question than how far the indices reach.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

from jaxaudit.analyses.dims import Dim, constant
from jaxaudit.analyses.extents.look import Look, look_at
from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import Answers, ahead, behind, nothing, through_ops, walk
from jaxaudit.analyses.ranges import Ranges
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.functions import ARRAYS_OF_ITEMS, COMPARISONS, UNIFORM
from jaxaudit.ir.interfaces import moved
from jaxaudit.ir.ops import KEEPING, MOVING
from jaxaudit.ir.record import record


@record
class Sentinel:
    """One number that was put beside indices."""

    number: Dim
    source: Op
    """What puts it there."""
    guard: Value | None = None
    """The condition that says where, if there is one."""
    spare: bool = False
    """Whether it stands where a search has found less than it was to give: an index like the others."""


Found = tuple[Sentinel, ...]
Ask = Callable[[Value], Found]
_HANDING_ON = through_ops("py.container", "py.unpack", "py.item", *MOVING)


@remembered
def sentinels(facts: Facts) -> Ask:
    """Return the numbers beside the indices in an array; each is found out when it is asked for."""
    return Answers(_Look(facts).answer, ())


def is_asked_for(index: Value, sentinel: Sentinel, facts: Facts) -> bool:
    """Whether the code tells the number from the indices somewhere: it compares, or has the condition at hand."""
    flow = facts.flow
    if sentinel.spare and sentinel.guard is None:
        return True
    if sentinel.guard is not None and len(flow.readers.get(sentinel.guard, ())) > 1:
        return True
    origins = set(walk((index,), lambda one: _sources(flow, one)))
    alike = walk(origins, lambda one: ahead(flow, one, _HANDING_ON))
    return any(op.function in COMPARISONS for one in alike for op in flow.readers.get(one, ()))


def _sources(flow: Flow, value: Value) -> Iterator[Value]:
    op = flow.maker(value)
    if op is None or op.regions:
        yield from behind(flow, value, nothing)
    elif op.name in ("array.join", "array.select", "array.scatter", "array.create", *MOVING):
        yield from op.operands


class _Look:
    def __init__(self, facts: Facts) -> None:
        self._look: Look = look_at(facts)
        self._flow = facts.flow
        self._ranges = facts.get(Ranges)
        self._written: defaultdict[Value, list[Op]] = defaultdict(list)
        """What is written into arrays in place, by the array."""
        for op in facts.program.named("py.set_item"):
            if (base := op.value("base")) is not None:
                self._written[base].append(op)

    def answer(self, value: Value, ask: Ask) -> Found:
        """Return the numbers in one array that stand beside indices."""
        op = self._flow.maker(value)
        if op is None or op.regions:
            before = behind(self._flow, value, nothing)
            return ask(before[0]) if len(before) == 1 else ()
        own = tuple(self._filled(op, value))
        rule = _RULES.get(op.name) or _NUMPY.get(op.function if op.name == "array.numpy" else "")
        if rule is not None:
            return (*own, *rule(self, op, ask))
        first = moved(op, KEEPING | {"py.item", "py.unpack", "array.gather"})
        return (*own, *(ask(first) if first is not None else ()))

    def _filled(self, op: Op, value: Value) -> Iterator[Sentinel]:
        """Return what an array was full of before some of its elements were written, and what was written."""
        writes = self._written.get(value, ())
        number = self._number(value) if writes else None
        if number is not None:
            yield Sentinel(number, op)
        for write in writes:
            number = self._look.number(write.arguments.get("value"))
            if number is not None:
                yield Sentinel(number, write)

    def _number(self, argument: Argument) -> Dim | None:
        """Return the number that an argument is, or is full of."""
        op = self._flow.maker(argument) if isinstance(argument, Value) else None
        full = op is not None and op.function in UNIFORM and op.has("fill_value")
        given = op.arguments["fill_value"] if op is not None and full else argument
        number = None if given is None else self._look.number(given)
        if number is not None or not isinstance(argument, Value):
            return number
        known = self._ranges.of(argument)
        return constant(int(known.low)) if known.integer and known.constant is not None else None

    def _put(self, argument: Argument, op: Op, ask: Ask, guard: Value | None = None) -> Iterator[Sentinel]:
        number = self._number(argument)
        if number is not None:
            yield Sentinel(number, op, guard)
        elif isinstance(argument, Value):
            yield from ask(argument)

    def chosen(self, op: Op, ask: Ask) -> Iterator[Sentinel]:
        """`where(valid, i, -1)`, and `where(valid, size=8)`, which is a search."""
        if op.has("size"):
            yield from self.searched(op, ask)
        sides = [op.argument(*names) for names in (("x", "on_true"), ("y", "on_false"))]
        if not op.has("max", "min", "a_max", "a_min") and None not in sides:
            guard = op.value("condition", "pred", "which")
            yield from (one for side in sides for one in self._put(side, op, ask, guard))

    def joined(self, op: Op, ask: Ask) -> Iterator[Sentinel]:
        """`concatenate([i, full(3, -1)])`."""
        parts = op.argument("arrays", "tup", "operands")
        if isinstance(parts, tuple):
            yield from (one for part in parts for one in self._put(part, op, ask))

    def padded(self, op: Op, ask: Ask) -> Iterator[Sentinel]:
        """`pad(i, (0, 3), constant_values=-1)`."""
        first = op.value("array", "operand")
        yield from ask(first) if first is not None else ()
        number = self._number(op.argument("constant_values", "padding_value")) if op.function == "pad" else None
        if number is not None:
            yield Sentinel(number, op)

    def scattered(self, op: Op, ask: Ask) -> Iterator[Sentinel]:
        """`i.at[3:].set(-1)`."""
        if op.function == "set":
            yield from (one for name in ("base", "value") for one in self._put(op.arguments.get(name), op, ask))

    def made(self, op: Op, ask: Ask) -> Iterator[Sentinel]:
        """`asarray(i)`."""
        given = op.argument("object", "a")
        if op.function in ARRAYS_OF_ITEMS and isinstance(given, Value):
            yield from ask(given)

    def searched(self, op: Op, ask: Ask) -> Iterator[Sentinel]:
        """`flatnonzero(mask, size=8, fill_value=-1)`, which gives 0 for what is not there unless it is told."""
        number = self._number(op.arguments.get("fill_value")) if op.has("size") else None
        if number is not None:
            yield Sentinel(number, op)
        elif op.has("size") and not op.has("fill_value", "*", "**"):
            yield Sentinel(constant(0), op, op.value("a", "condition"), spare=True)


_Rule = Callable[[_Look, Op, Ask], Iterator[Sentinel]]
_NUMPY: Mapping[str, _Rule] = {
    "where": _Look.chosen,
    "pad": _Look.padded,
    **dict.fromkeys(("concatenate", "stack", "hstack", "append"), _Look.joined),
    **dict.fromkeys(ARRAYS_OF_ITEMS, _Look.made),
}
"""NumPy's own functions, which make data before JAX gets them."""
_RULES: Mapping[str, _Rule] = {
    "array.select": _Look.chosen,
    "array.join": _Look.joined,
    "array.move": _Look.padded,
    "array.scatter": _Look.scattered,
    "array.create": _Look.made,
    "array.order": _Look.searched,
}
