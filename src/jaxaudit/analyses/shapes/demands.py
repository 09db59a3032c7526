"""What uses ask of a value: `batch, time = x.shape` runs where `x` has two axes, `range(n)` where `n` is an integer.

A use speaks of a value where it runs whenever the value is there, and for as long as it lives: a parameter has the rank
that its function asks for, and so has what callers give. Code that asks for the rank itself treats several, and says
nothing, unless it raises for all but one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from jaxaudit.analyses.dims import UNKNOWN
from jaxaudit.analyses.shapes.facts import ShapeFact, array
from jaxaudit.analyses.shapes.subscripts import subscripts
from jaxaudit.analyses.shapes.transfer.einops import axes_of, is_named_by_pattern
from jaxaudit.ir import REST, Argument, Exit, Op, Program, Region, Value
from jaxaudit.ir.interfaces import Loop, Mapped, given_to
from jaxaudit.ir.ops import BODIES, CARRYING, INLINE, PASSED_ON
from jaxaudit.ir.values import index_parts

Demands = dict[Value, ShapeFact]

_SHAPED = ("array.create", "key.draw", "array.reshape", "array.expand")
"""Ops that are given a shape."""
_ASKING = frozenset(
    (
        *("py.unpack", "py.loop", "scan", "array.dot", "array.permute", "array.convolve", "array.reduce"),
        *("array.gather", "array.scatter", "array.move", *_SHAPED),
    )
)
"""Ops that ask something of their operands by themselves, whatever is asked of what they make."""

INTEGER = ShapeFact((), None, False, UNKNOWN)
"""What is counted with: of its type nothing is said."""


def _ranked(rank: int) -> ShapeFact:
    return array((UNKNOWN,) * rank)


def demands(program: Program) -> Mapping[Value, ShapeFact]:
    """Return what is asked of each value where it is made."""
    reader = _Reader(program)
    return {value: fact for region in program.regions() for value, fact in reader.of(region).items()}


class _Reader:
    """Reads regions, each once, those of calls before what is around them."""

    def __init__(self, program: Program) -> None:
        self.shapes: dict[Value, Value] = {}
        """The arrays whose shape a value is."""
        self.ranks: dict[Value, Value] = {}
        """The arrays whose number of axes a value is."""
        self.required: dict[Op, tuple[Value, int]] = {}
        """Comparisons of the number of axes, where the program goes on only if they hold, with that number."""
        self.asked: set[Value] = set()
        self.known: dict[int, Demands] = {}
        for op in program.named("array.shape"):
            self._note_question(op)
        if self.ranks:
            self._note_answers(program)

    def _note_question(self, op: Op) -> None:
        base = next(iter(op.operands), None)
        if base is None:
            return
        if op.function == "shape":
            self.shapes[op.results[0]] = base
        elif op.function == "ndim":
            self.ranks[op.results[0]] = base
        elif op.function == "len" and base in self.shapes:
            self.ranks[op.results[0]] = self.shapes[base]

    def _note_answers(self, program: Program) -> None:
        """Note which arrays are asked for their rank but for one that the code insists on."""
        insisted: dict[Value, str] = {}
        for op in program.having(Op.construct):
            if op.construct == "assert" and op.operands:
                insisted[op.operands[0]] = "equal"
            elif op.name == "py.branch" and op.operands and op.regions[0].exit is Exit.RAISE:
                insisted[op.operands[0]] = "not_equal"
        for op in program.walk():
            for value in op.operands:
                if value not in self.ranks:
                    continue
                number = op.arguments.get("y")
                if op.results and isinstance(number, int) and insisted.get(op.results[0]) == op.function:
                    self.required[op] = (self.ranks[value], number)
                else:
                    self.asked.add(self.ranks[value])

    def of(self, region: Region) -> Demands:
        """Return what is asked of the values of a region."""
        known = self.known.get(id(region))
        if known is None:
            self.known[id(region)] = {}
            known = self.known[id(region)] = self._read(region)
        return known

    def _read(self, region: Region) -> Demands:
        ops = list(always(region))
        own = {*region.params, *(value for op in ops for value in op.results)}
        # What is calculated must be an integer too, but whether it is one is for its operands to say.
        calculated = {value for op in ops if op.name == "array.map" for value in op.results}
        found: Demands = {}
        at_odds: set[Value] = set()
        for op in reversed(ops):
            for value, fact in self._asks(op, found) if self._may_ask(op, found) else ():
                if value not in own or value in self.asked or (fact is INTEGER and value in calculated):
                    continue
                if found.setdefault(value, fact).rank != fact.rank:
                    at_odds.add(value)
        return {value: fact for value, fact in found.items() if value not in at_odds}

    def _may_ask(self, op: Op, found: Demands) -> bool:
        """Whether an op may ask something of values: most do not."""
        asks = op.name in _ASKING or op.regions or op in self.required or (op.results and op.results[0] in found)
        return bool(asks) and not op.guarded

    def _asks(self, op: Op, found: Demands) -> Iterator[tuple[Value, ShapeFact]]:
        """Return what an op asks of values, and what is asked of them by what it makes."""
        if op in self.required:
            value, rank = self.required[op]
            yield value, _ranked(rank)
        if op.name == "py.unpack" and op.operands and op.star is None and op.operands[0] in self.shapes:
            yield self.shapes[op.operands[0]], _ranked(len(op.results))
        yield from ((value, _ranked(rank)) for value, rank in written(op))
        yield from ((value, INTEGER) for value in counted_with(op))
        for region in op.regions:
            yield from self._asked_inside(op, region)
        made = found.get(op.results[0]) if len(op.results) == 1 else None
        if made is not None and made.rank is not None:
            yield from ((value, _ranked(rank)) for value, rank in _before(op, made.rank))

    def _asked_inside(self, op: Op, region: Region) -> Iterator[tuple[Value, ShapeFact]]:
        """Return what the body of a call, a loop of JAX or a map asks of what it is given."""
        if op.name not in BODIES | CARRYING and op.name not in ("vmap", "map", "cond"):
            return
        inside = self.of(region)
        for param, value in given_to(op, region) if inside else ():
            fact, more = inside.get(param), _axes_taken_off(op, param)
            if fact is None or fact.rank is None or more is None:
                continue
            if op.name == "py.call":
                yield value, fact
            elif fact.number is None:
                yield value, _ranked(fact.rank + more)


def _axes_taken_off(op: Op, param: Value) -> int | None:
    """Return how many axes fewer a parameter has than what it stands for; None where that is not known."""
    mapped = Mapped.of(op)
    if mapped is not None:
        taken = mapped.is_mapped(op.regions[0].params.index(param))
        return None if taken is None else int(taken)
    loop = Loop.of(op)
    return int(loop is not None and any(param is one for one, _ in loop.elements))


def written(op: Op) -> Iterator[tuple[Value, int]]:
    """Return the ranks that ops ask of operands whose axes they name or count, by letters, numbers or pairs."""
    named = subscripts(op) if op.name == "array.dot" else None
    if named is not None:
        pairs = zip(named.operands, named.inputs, strict=True)
        yield from ((one, len(names)) for one, names in pairs if isinstance(one, Value) and REST not in names)
    elif op.name == "array.permute" and op.operands:
        axes = op.arguments.get("axes")
        if isinstance(axes, tuple) and len(axes) == 1 and isinstance(axes[0], tuple):
            axes = axes[0]
        # Tensors of other libraries swap two axes so: those numbers say nothing of the rank.
        if isinstance(axes, tuple) and len(axes) > 1 and {*axes} == {*range(len(axes))}:
            yield op.operands[0], len(axes)
    elif op.name == "array.convolve":
        letters = op.arguments.get("dimension_numbers")
        for name, one in zip(("lhs", "rhs"), letters if isinstance(letters, tuple) else (), strict=False):
            value = op.arguments.get(name)
            if isinstance(value, Value) and isinstance(one, str):
                yield value, len(one)
    elif (rank := _counted(op)) is not None:
        # What is written into a slice has as many axes as the slice.
        written_to = [next(iter(op.arguments.values())), op.arguments.get("update")]
        yield from ((base, rank) for base in _values(written_to))


def _counted(op: Op) -> int | None:
    """Return how many axes a pattern of einops names, or a slice or padding has numbers for."""
    if is_named_by_pattern(op):
        pattern = op.arguments.get("pattern")
        axes = axes_of(pattern.partition("->")[0]) if isinstance(pattern, str) and "->" in pattern else None
        return None if axes is None or (REST,) in axes else len(axes)
    if op.function in ("dynamic_slice", "dynamic_update_slice"):
        sizes, starts = op.arguments.get("slice_sizes"), op.arguments.get("start_indices")
        counted = sizes if isinstance(sizes, tuple) else starts
        return len(counted) if isinstance(counted, tuple) else None
    widths = op.arguments.get("pad_width") if op.function == "pad" else None
    # One pair alone holds for all axes.
    several = isinstance(widths, tuple) and len(widths) > 1 and all(isinstance(one, tuple) for one in widths)
    return len(widths) if several and isinstance(widths, tuple) else None


def counted_with(op: Op) -> Iterator[Value]:
    """Return the values that an op takes for sizes of axes or for ends of a range."""
    if op.name == "py.loop":
        first = next((one for one in op.regions[0].ops if one.name == "py.element"), None)
        ends = None if first is None else first.arguments.get("iterable")
        yield from _values(ends.values() if isinstance(ends, Mapping) else ())
    elif op.name == "scan":
        yield from (value for value in (op.length,) if isinstance(value, Value))
    elif op.name in _SHAPED:
        shape = op.argument("shape", "newshape")
        # The only argument of the method `reshape` may be a shape.
        several = isinstance(shape, tuple) and len(shape) > (op.name == "array.reshape")
        yield from _values(shape if isinstance(shape, tuple) and several else ())


def _values(arguments: Iterable[Argument]) -> Iterator[Value]:
    return (one for one in arguments if isinstance(one, Value))


def _before(op: Op, rank: int) -> Iterator[tuple[Value, int]]:
    """Return the rank that operands have where the result has this one."""
    arguments = list(op.arguments.values())
    base = arguments[0] if arguments else None
    if op.name == "array.join" and isinstance(base, tuple) and op.function in ("stack", "concatenate"):
        yield from ((one, rank - (op.function == "stack")) for one in _values(base))
    if not isinstance(base, Value):
        return
    if op.name in PASSED_ON or op.name in ("array.permute", "array.scatter"):
        yield base, rank
    elif op.name == "array.map" and all(isinstance(one, int | float) for one in arguments[1:]):
        yield base, rank
    elif op.name == "array.reduce" and (dropped := _dropped(op)) is not None:
        yield base, rank + dropped
    elif op.function == "expand_dims" and isinstance(op.arguments.get("axis"), int):
        yield base, rank - 1
    elif op.name == "py.item" and (change := _taken(op.arguments.get("index"))) is not None:
        yield base, rank + change


def _dropped(op: Op) -> int | None:
    """Return how many axes a reduction takes away."""
    axis, keeps = op.arguments.get("axis"), op.arguments.get("keepdims", False)
    if not isinstance(keeps, bool) or op.function in ("histogram", "bincount"):
        return None
    if isinstance(axis, tuple) and all(isinstance(one, int) for one in axis):
        return 0 if keeps else len(axis)
    return int(not keeps) if isinstance(axis, int) else None


def _taken(index: Argument) -> int | None:
    """Return how many axes an index of numbers, slices and new axes takes away; of a list none need be an array."""
    parts = index_parts(index)
    sliced = sum(isinstance(one, Mapping) or one == REST for one in parts)
    numbers = sum(isinstance(one, int) for one in parts)
    new = sum(one is None for one in parts)
    known = sliced + numbers + new == len(parts)
    return numbers - new if known and sliced and len(parts) > 1 else None


def always(region: Region) -> Iterator[Op]:
    """Return the ops of a region that every way through it meets: those before the first way that leaves it early."""
    for op in region.ops:
        yield op
        if _may_leave(op):
            return


def _may_leave(op: Op) -> bool:
    if op.name not in INLINE:
        return False
    return any(inner.name == "py.return" or _may_leave(inner) for region in op.regions for inner in region.ops)
