"""The shapes domain: runs every region for the facts it is given, and keeps what each op met.

JAX traces the body of a loop once, with the types of the initial carry, and so does this domain; only Python's own
loops go round until nothing changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial, reduce

from jaxaudit.analyses.dims import UNKNOWN, Dim, variable
from jaxaudit.analyses.domain import WIDEN_AFTER, Direction, Read, Solution, Transfer, anywhere, whole
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.labels import Label
from jaxaudit.analyses.shapes import facts, regions
from jaxaudit.analyses.shapes.carried import Carrier, given_back, taken_off
from jaxaudit.analyses.shapes.declared import declared_axes, declared_dims, with_names
from jaxaudit.analyses.shapes.demands import demands
from jaxaudit.analyses.shapes.facts import NOTHING, ShapeFact, as_number, exact, forget, is_named, join, named
from jaxaudit.analyses.shapes.literals import literal
from jaxaudit.analyses.shapes.own import of_object
from jaxaudit.analyses.shapes.result import Context, Fit, Shapes
from jaxaudit.analyses.shapes.traced import sizes_meet
from jaxaudit.analyses.shapes.transfer.look import Look
from jaxaudit.analyses.shapes.transfer.look import Transfer as Inner
from jaxaudit.analyses.shapes.transfer.table import TABLE
from jaxaudit.ir import ArrayType, Op, Program, Region, Value
from jaxaudit.ir.record import replace

_MAKE_ARRAYS = ("array.", "key.", "grad.stop", "collective", "device.place")
_METHODS = ("array.reduce", "array.order")
_TAKE_ARRAYS = ("array.map", "array.reduce", "array.normalise", "array.select", "array.dot", "array.join")

_MOST_CONTEXTS = 16

_NOTED = ("scan", "associative_scan", "fori", "while", "cond", "grad", "vmap", "map", "pmap")
"""Ops with regions whose inside rules compare with their outside."""


class ShapesDomain:
    """Shapes and dtypes, by context."""

    name = "shapes"
    direction = Direction.FORWARD
    by_summary = False
    widen_after = WIDEN_AFTER
    place = anywhere
    part = whole

    def __init__(self, known: Facts) -> None:
        program = known.program
        self.types = program.types
        self.observed = program.observed
        self.fields = program.fields
        self.kept = program.kept
        self.declared = declared_axes(program)
        self.asked = self._with_certain({} if program.types else demands(program))
        """What is known of a value of which its op says nothing."""
        self.read = frozenset() if program.types else _measured(program)
        self.carrier = Carrier(self.types) if self.types and self.declared else None
        self.seen: dict[Op, list[Context]] = {}
        self.blank: set[Op] = set()
        self._way: tuple[Op, ...] = ()
        """The calls whose bodies are being solved, outermost first."""
        self._doubted: list[Op] = []
        """Ops whose regions are being solved though an open condition asks what they are given, or a `try` catches."""
        self.tested = {
            value for op in program.having(Op.operator) if op.operator == "isinstance" for value in op.operands
        }
        """Values whose type the program asks for: what follows may be for other types only."""
        self.doubtful = frozenset() if program.types else _methods_of_objects(program)
        self._told_of = frozenset((*self.declared, *self.asked, *self.read))
        """Values of which something is known besides what their op says."""
        self._own: dict[Value, ShapeFact] = {}
        self._names: tuple[Read[ShapeFact] | None, Read[ShapeFact]] = (None, self.unknown)
        """The last reader that was asked for, and the one that gives names to what it reads."""
        self._table = {name: self._wrap(transfer) for name, transfer in TABLE.items()}

    @property
    def table(self) -> Mapping[str, Transfer[ShapeFact]]:
        """The transfer functions by op name."""
        return self._table

    def unknown(self, value: Value) -> ShapeFact:
        """Return the exact type where JAX told it, the rank where the code takes the shape apart, else an identity."""
        fact = self._own.get(value)
        if fact is None:
            fact = self._own[value] = self._with_declared(value, named(self._first(value), value))
        return fact

    def _with_declared(self, value: Value, fact: ShapeFact) -> ShapeFact:
        """Return what is known of a value with the names that were declared for its axes."""
        declared = self.declared.get(value)
        return fact if declared is None else with_names(fact, declared)

    def _first(self, value: Value) -> ShapeFact:
        known = self.types.get(value) or self.observed.get(value)
        if known is not None:
            return exact(known)
        return self.asked.get(value, NOTHING)

    def _with_certain(self, asked: Mapping[Value, ShapeFact]) -> dict[Value, ShapeFact]:
        """Add what declarations that are checked say of shapes, where the code itself does not speak against them."""
        found = dict(asked)
        for value, one in self.declared.items():
            if one.is_certain and one.rank is not None and (value not in found or found[value].rank == one.rank):
                found[value] = facts.array(declared_dims(one))
        return found

    def join(self, first: ShapeFact, second: ShapeFact) -> ShapeFact:
        """Return the fact that covers both."""
        return facts.join(first, second)

    def widen(self, old: ShapeFact, new: ShapeFact) -> ShapeFact:
        """Return the fact that covers both; no chain of facts is long."""
        return facts.join(old, new)

    def parts(self, start: ShapeFact, left: ShapeFact) -> bool:
        """Whether the first turn of a loop makes an array of another rank, as `total = 0.0` and a sum of arrays do."""
        return start.rank is not None and left.rank is not None and start.rank != left.rank

    def enter(self, op: Op, region: Region, read: Read[ShapeFact], turn: int) -> Sequence[ShapeFact]:
        """Return the facts of a region's parameters."""
        if op.name == "py.call":
            self._way = (*self._way, op)
        # What the program catches it catches in functions that it calls, too.
        if (op.guarded or self._is_asked(op, read)) and op not in self._doubted:
            self._doubted.append(op)
        made = regions.enter(op, region, self._naming(read), turn)
        bound = [self._bound(param, fact) for param, fact in zip(region.params, made, strict=True)]
        return bound if self.carrier is None else taken_off(op, self.carrier.onto(op, region.params, bound, read))

    def leave(self, op: Op, read: Read[ShapeFact]) -> Sequence[ShapeFact | None]:
        """Return the facts of an op's results once its regions are solved."""
        if self._way and self._way[-1] is op:
            self._way = self._way[:-1]
        if self._doubted and self._doubted[-1] is op:
            self._doubted.pop()
        look = Look(op, self._naming(read))
        results = self._carried(op, self._results(op, regions.leave(op, look)), read)
        for inner, made in look.inner:
            self._note(inner, made)
        if op.name in _NOTED:
            for value in (*op.operands, *(one for region in op.regions for one in (*region.params, *region.results))):
                look.read(value)
            self._note(look, results)
        return results

    def taken(self, op: Op, read: Read[ShapeFact]) -> int | None:
        """Return which branch of an `if` runs, where its condition is decided by sizes."""
        return regions.taken(op, read)

    def at_once(self, known: Facts) -> Shapes | None:
        """Return the result where JAX told the type of every value and nobody named an axis.

        Nothing is to be solved.
        """
        written = self._written(known.program) if self.types and self.carrier is None else None
        if written is None:
            return None
        self._own = {value: exact(kind) for value, kind in self.types.items()} | written
        return Shapes(self._own, self.seen, look=self._looked_at, meet=partial(sizes_meet, types=self.types))

    def _written(self, program: Program) -> dict[Value, ShapeFact] | None:
        """Return the facts of the values without a type, where all of them are constants that were written down."""
        untyped = {value for value in program.values() if value not in self.types}
        found: dict[Value, ShapeFact] = {}
        for op in program.named("py.const") if untyped else ():
            if untyped.issuperset(op.results):
                made = self._table[op.name](op, self.unknown)
                found.update((value, fact) for value, fact in zip(op.results, made, strict=False) if fact is not None)
        return found if len(found) == len(untyped) else None

    def _looked_at(self, op: Op) -> Sequence[Context]:
        """Look at an op by itself, once; what it meets is the same wherever it is met."""
        known = self.seen.get(op)
        if known is None:
            known = self.seen.setdefault(op, [])
            transfer = self._table.get(op.name)
            if op.regions:
                if op.name in _NOTED:
                    self.leave(op, self.unknown)
            elif transfer is not None and op.operands and (meet := sizes_meet(op, self.types)) is not None:
                known.append(Context(op, self._own, Fit.FITS if meet else None))
            elif transfer is not None:
                transfer(op, self.unknown)
        return known

    def finish(self, known: Facts, solution: Solution[ShapeFact]) -> Shapes:
        """Return rules the facts of all values and the contexts of all ops."""
        told = {value: exact(kind) for value, kind in (*self.types.items(), *self.observed.items())}
        if self.carrier is not None:
            told.update((value, fact) for value, fact in solution.facts.items() if value in told)
        return Shapes({**solution.facts, **told}, self.seen, self.blank)

    def _bound(self, param: Value, fact: ShapeFact) -> ShapeFact:
        if param in self.types:
            return self.unknown(param)
        if param in self.asked and not _is_told(fact):
            return self._as_asked(param, fact)
        return self._with_declared(param, self._marked(param, fact))

    def _marked(self, value: Value, fact: ShapeFact) -> ShapeFact:
        """Let the axes of an array whose shape is read be known again by the numbers that were read."""
        if value not in self.read or not fact.dims:
            return fact
        marks = [frozenset((Label("axis", f"{value.id}.{at}"),)) for at in range(len(fact.dims))]
        return replace(fact, dims=tuple(dim.labelled(mark) for dim, mark in zip(fact.dims, marks, strict=True)))

    def _naming(self, read: Read[ShapeFact]) -> Read[ShapeFact]:
        if self._names[0] is read:
            return self._names[1]

        symbols: dict[Value, ShapeFact] = {}

        def name(value: Value) -> ShapeFact:
            fact = read(value)
            if fact is not NOTHING:
                return fact if is_named(fact) else named(fact, value)
            known = symbols.get(value)
            if known is None:
                known = symbols[value] = named(fact, value)
            return known

        self._names = (read, name)
        return name

    def _results(self, op: Op, made: Sequence[ShapeFact | None]) -> Sequence[ShapeFact | None]:
        if self.types:
            return [self.unknown(value) if value in self.types else fact for value, fact in _paired(op.results, made)]
        if self._told_of.isdisjoint(op.results):
            return [None if fact is NOTHING else fact for fact in made]
        if any(value in self.declared for value in op.results):
            return [self._hinted(value, fact) for value, fact in _paired(op.results, made)]
        if any(value in self.asked for value in op.results):
            made = [self._ranked(value, fact) for value, fact in _paired(op.results, made)]
        if any(value in self.read for value in op.results):
            pairs = _paired(op.results, made)
            return [None if fact is None or fact is NOTHING else self._marked(value, fact) for value, fact in pairs]
        return [None if fact is NOTHING else fact for fact in made]

    def _ranked(self, value: Value, fact: ShapeFact | None) -> ShapeFact | None:
        if value not in self.asked or (fact is not None and _is_told(fact)):
            return fact
        return self._as_asked(value, fact)

    def _as_asked(self, value: Value, fact: ShapeFact | None) -> ShapeFact:
        """Return what is asked of a value; the sizes of one thing that is read twice are the same."""
        wanted = self.asked[value]
        if fact is None or not fact.symbol or wanted.dims is None:
            return self.unknown(value)
        number = None if wanted.number is None else as_number(fact)
        dims = (
            variable(f"{fact.symbol}.shape[{at}]", "size", fact.born) if dim.terms is None else dim
            for at, dim in enumerate(wanted.dims)
        )
        return self._with_declared(value, replace(wanted, dims=tuple(dims), number=number))

    def _carried(
        self, op: Op, results: Sequence[ShapeFact | None], read: Read[ShapeFact]
    ) -> Sequence[ShapeFact | None]:
        """Hand the names of axes on to the results of an op that JAX traced."""
        if self.carrier is None or len(results) != len(op.results):
            return results
        return given_back(op, self.carrier.onto(op, op.results, [one or NOTHING for one in results], read))

    def _hinted(self, value: Value, fact: ShapeFact | None) -> ShapeFact | None:
        if value not in self.declared:
            return fact
        if fact is None or fact.dims is None:
            return self._as_asked(value, fact) if value in self.asked else fact
        return self._with_declared(value, fact)

    def _wrap(self, transfer: Inner) -> Transfer[ShapeFact]:
        def run(op: Op, read: Read[ShapeFact]) -> Sequence[ShapeFact | None]:
            look = Look(op, self._naming(read))
            made = transfer(op, look)
            if op.name == "py.attr" and op.results[0] in self.kept and not _is_told(made[0] or NOTHING):
                made = [of_object(literal(self.kept[op.results[0]], look.read), look.first())]
            if op.name == "py.attr" and op.results[0] in self.fields:
                made = [_assumed(made[0], self.fields[op.results[0]], read)]
            if op.results and op.results[0] in self.doubtful and look.first().dims is None:
                made = [facts.array(None, None)]
            results = self._carried(op, self._results(op, made), read)
            self._note(look, results)
            return results

        return run

    def _is_asked(self, op: Op, read: Read[ShapeFact]) -> bool:
        """Whether a condition around an op asks what it is given, and sizes do not decide it."""
        return any(regions.truth(read(condition)) is None for condition in op.questioned or ())

    def _note(self, look: Look, results: Sequence[ShapeFact | None]) -> None:
        """Keep what an op met, where anything is known of it."""
        op = look.op
        if look.fit is Fit.CLASHES and (self._doubted or self._is_asked(op, look.read)):
            look.fit = Fit.OPEN
        if look.fit is None:
            for fact in look.met.values():
                if fact.dims is not None:
                    break
            else:
                self.blank.add(op)
                return
        if look.fit is not None and op.results and all(value in self.types for value in op.results):
            # JAX itself made these types, so what met here goes together.
            look.fit, look.clash = Fit.FITS, ""
        if look.fit is Fit.CLASHES and (op.guarded or not self.tested.isdisjoint(op.operands)):
            # The program catches what JAX raises here, or asks for the type first: it need not be a mistake.
            look.fit = Fit.OPEN
        contexts = self.seen.setdefault(op, [])
        if len(contexts) < _MOST_CONTEXTS:
            known = {value: fact for value, fact in zip(op.results, results, strict=False) if fact is not None}
            contexts.append(Context(op, {**look.met, **known}, look.fit, look.clash, self._way))
        else:
            self.blank.add(op)


def _is_told(fact: ShapeFact) -> bool:
    container = fact.items is not None or fact.each is not None or fact.parts is not None
    return container or fact.dims is not None or fact.layer is not None or fact.placing is not None


def _paired(values: Sequence[Value], made: Sequence[ShapeFact | None]) -> list[tuple[Value, ShapeFact | None]]:
    return [(value, made[i] if i < len(made) else None) for i, value in enumerate(values)]


def _methods_of_objects(program: Program) -> frozenset[Value]:
    """Return what methods such as `mean` give of objects that nothing shows to be arrays.

    A distribution has a `mean` as well, and a table of another library a `sum`: neither need be a number. What array
    functions and operators make is an array, so their methods are its own; so is what has methods and is given to
    functions of JAX, which refuse anything else.
    """
    computed = [op for op in program.walk() if op.name in _TAKE_ARRAYS and op.qualified.startswith("jax.")]
    arrays: set[Value] = {value for op in computed for value in op.operands[: None if op.name == "array.join" else 1]}
    found: set[Value] = set()
    for op in program.walk():
        if op.name in _METHODS and op.operands and "." not in op.qualified and op.operands[0] not in arrays:
            found.update(op.results)
        elif op.name.startswith(_MAKE_ARRAYS):
            arrays.update(op.results)
    return frozenset(found)


def _measured(program: Program) -> frozenset[Value]:
    """Return the arrays whose shape the code reads."""
    asked = (op for op in program.named("array.shape") if op.operands)
    return frozenset(op.operands[0] for op in asked if op.function == "shape")


def _assumed(known: ShapeFact | None, stored: Sequence[Value | ArrayType], read: Read[ShapeFact]) -> ShapeFact | None:
    """Return the fact of a field: its rank, and those sizes that are the same wherever it is stored; or its layer."""
    fact = NOTHING if known is None else known
    if fact.dims is not None or fact.items is not None or fact.each is not None or fact.layer is not None:
        return known
    facts = [exact(one) if isinstance(one, ArrayType) else read(one) for one in stored]
    if facts and all(one.layer is not None for one in facts):
        layer = forget(reduce(join, facts), lambda atom: atom.born == 0)
        return known if layer.layer is None else layer
    arrays = [one for one in facts if one.dims is not None]
    shapes = [one.dims for one in arrays if one.dims is not None]
    if not shapes or len({len(dims) for dims in shapes}) != 1:
        return known
    dtypes = {one.dtype for one in arrays}
    counts = all(isinstance(one, ArrayType) and one.dtype == "int32" for one in stored)
    return ShapeFact(
        dims=tuple(_common(column, fact, at) for at, column in enumerate(zip(*shapes, strict=True))),
        dtype=dtypes.pop() if len(dtypes) == 1 else None,
        weak=all(one.weak for one in arrays),
        number=variable(fact.symbol, "number", fact.born) if counts and fact.symbol else None,
    )


def _common(sizes: Sequence[Dim], field: ShapeFact, at: int) -> Dim:
    """Return the size of an axis where it is one number; variables of other functions say nothing here.

    A field that is read twice has the same size both times.
    """
    first = sizes[0]
    if first.constant is not None and all(size.constant == first.constant for size in sizes):
        return first
    return variable(f"{field.symbol}.shape[{at}]", "size", field.born) if field.symbol else UNKNOWN
