"""Transfer functions: what each op without regions makes of traced, static and concrete operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from jaxaudit.analyses.domain import Read, Transfer
from jaxaudit.analyses.tracing.boundaries import leaf_of
from jaxaudit.analyses.tracing.context import Context
from jaxaudit.analyses.tracing.facts import CONCRETE, NUMBER, NUMPY, STATIC, UNKNOWN, Kind, Trace, join, revised
from jaxaudit.analyses.tracing.items import (
    OF_NUMBERS,
    compares_items,
    fact_of,
    joined_items,
    joins_items,
    may_be_structural,
    together,
)
from jaxaudit.analyses.tracing.masks import makes_mask
from jaxaudit.analyses.tracing.sizes import resized, slides
from jaxaudit.ir import REST, Argument, Op, Value
from jaxaudit.ir.functions import (
    COMPARISONS,
    EQUALITIES,
    FILLED_LIKE,
    ONE_ARRAY,
    PLAIN_DATA,
    PYTHON_NUMBERS,
    SEVERAL_ARRAYS,
    SHOWN_AS_VIEWS,
    SIZES,
)
from jaxaudit.ir.ops import KEEPING, VOCABULARY
from jaxaudit.ir.values import index_parts
from jaxaudit.libraries.lookup import playing
from jaxaudit.libraries.methods import DELEGATING
from jaxaudit.libraries.packages import JAX, VALUES_ALONE, package

One = Callable[[Op, Read[Trace]], Trace]


class TransferTable:
    """The transfer functions of one solution; `context` says where the op runs."""

    def __init__(self, context: Context) -> None:
        self.context = context

    @property
    def table(self) -> Mapping[str, Transfer[Trace]]:
        """The transfer functions by op name; an op that is missing makes values nothing is known of."""
        table: dict[str, Transfer[Trace]] = {}
        for name, spec in VOCABULARY.items():
            if spec.regions == "none":
                single = self._single(name)
                table[name] = lambda op, read, single=single: _alike(op, read, single) if op.results else ()
        table["py.unpack"] = self._unpacked
        return table

    def _unpacked(self, op: Op, read: Read[Trace]) -> Sequence[Trace]:
        first = _placed(self._item(op, read), op, read)
        rest = STATIC if fact_of(op.arguments.get("base"), read).what == "flat" else first
        return [first, *[rest] * (len(op.results) - 1)]

    def _single(self, name: str) -> One:
        special: dict[str, One] = {
            "py.const": lambda op, read: NUMBER if isinstance(op.constant, (bool, int, float, complex)) else STATIC,
            "py.global": _global,
            "py.attr": self._attribute,
            "py.item": self._item,
            "py.element": self._element,
            "py.container": self._container,
            "py.join": lambda op, read: reduce(join, [read(value) for value in op.operands]),
            "py.operator": _operator,
            "py.set_item": self._changed,
            "py.append": self._changed,
            "py.to_python": self._to_python,
            "py.random": _random,
            "py.clock": lambda op, read: NUMBER,
            "py.call_library": self._library,
            "array.shape": _shape,
            "array.numpy": self._numpy,
            "array.at": lambda op, read: fact_of(op.arguments.get("base"), read),
            "grad.stop": self._passed,
            "key.within": self._passed,
            "tree.leaf": self._leaf,
            "tree.other": self._leaves,
            "device.place": self._passed,
            "collective": self._collective,
        }
        if name in special:
            return special[name]
        if name.startswith("key."):
            return self._key
        return self._array if name.startswith("array.") else lambda op, read: UNKNOWN

    def _operands(self, op: Op, read: Read[Trace]) -> list[Trace]:
        return [read(value) for value in op.operands]

    def _made(self, operands: Sequence[Trace], what: str = "array", *, mask: bool = False) -> Trace:
        """Return what a JAX function makes here: staged code traces everything."""
        traced = next((one for one in operands if one.kind is Kind.TRACED and not one.made), None)
        if traced is not None:
            return Trace(Kind.TRACED, what, mask=mask, by=traced.by, way=traced.way)
        stage = self.context.stage
        if stage is not None:
            known = all(one.kind is Kind.STATIC or one.made for one in operands)
            return Trace(Kind.TRACED, what, mask=mask, made=known, by=stage, way="made")
        if any(one.kind is Kind.UNKNOWN for one in operands):
            return Trace(Kind.UNKNOWN, what, mask=mask)
        return Trace(Kind.CONCRETE, what, mask=mask)

    def _leaf(self, op: Op, read: Read[Trace]) -> Trace:
        """Return a leaf of a tree that a library gives; what may be no array is structure, perhaps, and goes along."""
        like, made = fact_of(op.arguments.get("like"), read), self._made(self._operands(op, read))
        along = like.kind is Kind.STATIC and like.what not in _ARRAYS
        return UNKNOWN if along or like == UNKNOWN else made

    def _leaves(self, op: Op, read: Read[Trace]) -> Trace:
        """Return the list of the leaves of a tree, alone or with its structure, where these are arrays for sure."""
        what = "leaves" if op.qualified in _LEAVES else "flat" if op.qualified in _FLATTENED else ""
        leaf = leaf_of(fact_of(op.arguments.get("tree"), read))
        known = bool(what) and op.arguments.get("is_leaf") is None and leaf.what == "array"
        return revised(leaf, what=what, mask=False, again=False) if known else UNKNOWN

    def _array(self, op: Op, read: Read[Trace]) -> Trace:
        operands = self._operands(op, read)
        function = op.qualified
        mask = makes_mask(op, operands)
        if op.is_operator or package(function) not in JAX:
            made = (self._operated if op.is_operator else self._method)(op, operands, mask)
            return resized(made, op, operands, read) if made.what in _ARRAYS else made
        what = gives(op)
        if op.function in FILLED_LIKE and self.context.stage is None:
            # A shape is at hand, also that of what `vmap` maps.
            operands = operands[:0]
        made = self._made(operands, what, mask=mask)
        if made.kind is Kind.TRACED and _may_give_back(op, operands):
            made = revised(made, kind=Kind.UNKNOWN)
        return resized(made, op, operands, read)

    def _operated(self, op: Op, operands: list[Trace], mask: bool) -> Trace:
        """Return what a Python operator makes: its operands decide whose operator it is."""
        if joins_items(op, operands):
            return joined_items(op, operands)
        if compares_items(op, operands):
            return UNKNOWN
        if op.function in EQUALITIES and any(isinstance(one, str) for one in op.arguments.values()):
            # Arrays do not compare with text: Python answers, and says that they differ.
            return NUMBER
        if any(one.kind is Kind.TRACED for one in operands):
            return self._made(operands, "" if may_be_structural(op, operands) else "array", mask=mask)
        # The answer to a comparison is one of two, whatever the turn.
        turn = op.function not in COMPARISONS and any(one.turn for one in operands)
        number, axis = all(one.what == "number" for one in operands), any(one.axis for one in operands)
        kinds = {one.kind for one in operands}
        if number or kinds <= {Kind.STATIC}:
            kind = next((one for one in (Kind.UNKNOWN, Kind.CONCRETE) if one in kinds), Kind.STATIC)
            return Trace(kind, "number" if number else "", turn=turn, axis=axis)
        if any(one.what == "array" for one in operands):
            return self._made(operands, mask=mask)
        if all(one.what in ("numpy", "number") for one in operands):
            # Changed in place, an array of NumPy is the same one.
            same = op.augmented and operands[0].what == "numpy"
            return revised(NUMPY, mask=mask, frozen=operands[0].frozen if same else False)
        known = all(one.kind in (Kind.STATIC, Kind.CONCRETE) for one in operands)
        made = CONCRETE if known and self.context.stage is None else UNKNOWN
        return revised(made, turn=turn, mask=mask)

    def _method(self, op: Op, operands: list[Trace], mask: bool) -> Trace:
        """Return what a method of an array makes: NumPy's arrays stay NumPy's."""
        receiver = operands[0] if operands else UNKNOWN
        if op.qualified == "copy":
            # Dicts and lists have this method too.
            return revised(receiver, again=False, frozen=False)
        if receiver.kind is Kind.TRACED or receiver.what == "array":
            made = self._made(operands, gives(op), mask=mask)
            given_back = made.kind is Kind.TRACED and _may_give_back(op, operands)
            return revised(made, kind=Kind.UNKNOWN) if given_back else made
        if receiver.what == "numpy":
            view = receiver.frozen if op.function in SHOWN_AS_VIEWS else False
            return revised(NUMPY, mask=mask, frozen=view)
        return UNKNOWN if any(one.kind is Kind.UNKNOWN for one in operands) else CONCRETE

    def _attribute(self, op: Op, read: Read[Trace]) -> Trace:
        base = fact_of(op.arguments.get("base"), read)
        if base.kind is Kind.TRACED and op.role == "structure":
            return STATIC
        if base.kind is Kind.TRACED and op.role == "data":
            return revised(base, what="", mask=False, again=False)
        return CONCRETE if base.kind in (Kind.STATIC, Kind.CONCRETE) else UNKNOWN

    def _item(self, op: Op, read: Read[Trace]) -> Trace:
        base = fact_of(op.arguments.get("base"), read)
        index = fact_of(op.arguments.get("index"), read)
        if base.what == "empty":
            # Nothing was put in so far, and nothing is taken out.
            return base
        by_name = base.what == "array" and isinstance(op.arguments.get("index"), str)
        if base.what == "items" or by_name:
            # No array has items with names: what it is taken for is wrong, and it holds something else.
            return revised(base, what="", again=False)
        if base.what == "flat":
            leaves = op.name == "py.unpack" or op.arguments.get("index") == 0
            return revised(base, what="leaves") if leaves else STATIC if op.arguments.get("index") == 1 else UNKNOWN
        if base.what == "arrays":
            return base if isinstance(op.arguments.get("index"), Mapping) else revised(base, what="numpy")
        if base.what == "leaves":
            sliced = isinstance(op.arguments.get("index"), Mapping)
            return revised(base, what="leaves" if sliced else "array", again=False)
        if base.kind is Kind.TRACED:
            return revised(base, again=False)
        if base.what in ("shape", "list", "lists") and isinstance(op.arguments.get("index"), Mapping):
            return revised(base, axis=False)
        if base.what in ("shape", "list"):
            return revised(NUMBER, turn=base.turn, axis=base.axis and op.arguments.get("index") == 0)
        if base.what == "lists":
            return Trace(Kind.STATIC, "list", turn=base.turn)
        # As many rows as a mask or an array of places says.
        indices = [one for one in self._indices(op, read) if one.kind is not Kind.TRACED]
        counted = any(one.varies or one.mask for one in indices)
        if any(one.mask and not one.what for one in indices):
            # It may be one truth value, which picks one of two.
            return revised(UNKNOWN, what=base.what if base.what in _ARRAYS else "")
        # Lists and dicts refuse an index that is traced, so what has such a one is an array.
        refuses = base.what in ("", "tree") and base.kind is not Kind.STATIC
        if base.what == "array" or (refuses and index.kind is Kind.TRACED):
            made = self._picked(op, self._made([base, index], mask=base.mask), base, counted=counted, read=read)
            whole = all(one in _EVERYTHING for one in index_parts(op.arguments.get("index")))
            return revised(made, kind=Kind.UNKNOWN) if whole and made.kind is Kind.TRACED else made
        if base.what == "numpy":
            parts = index_parts(op.arguments.get("index"))
            copied = any(isinstance(one, (Value, tuple)) for one in parts)
            made = revised(base, frozen=False if copied else base.frozen)
            return self._picked(op, made, base, counted=counted, read=read)
        if base.kind is Kind.STATIC:
            return STATIC
        # A slice of an array or of a list of arrays: another size is another signature either way.
        varies = base.varies or counted or slides(op.arguments.get("index"), read)
        # Where all that JAX computes is traced, so are the rows of an array; those of a list are what they were.
        known = isinstance(op.arguments.get("index"), str) or self.context.stage is None
        held = base.what if base.what == "tree" else ""
        return revised(CONCRETE if known and base.kind is Kind.CONCRETE else UNKNOWN, what=held, varies=varies)

    def _picked(self, op: Op, made: Trace, base: Trace, *, counted: bool, read: Read[Trace]) -> Trace:
        """Return a part of an array with what is known of its size: of one that varies it may be the same each turn."""
        if counted or slides(op.arguments.get("index"), read):
            return revised(made, varies=True)
        whole = all(one is None or one in _EVERYTHING for one in index_parts(op.arguments.get("index")))
        doubtful = base.varies and not whole and made.kind is Kind.CONCRETE
        return revised(made, kind=Kind.UNKNOWN if doubtful else made.kind, varies=base.varies and whole)

    def _indices(self, op: Op, read: Read[Trace]) -> list[Trace]:
        parts = index_parts(op.arguments.get("index")) if op.has("index") else ()
        return [read(part) for part in parts if isinstance(part, Value)]

    def _element(self, op: Op, read: Read[Trace]) -> Trace:
        iterable = op.arguments.get("iterable")
        if isinstance(iterable, Mapping):
            return revised(NUMBER, turn=True)
        if isinstance(iterable, tuple):
            parts = [fact_of(part, read) for part in iterable]
            return reduce(join, parts) if parts else UNKNOWN
        base = fact_of(iterable, read)
        if base.what == "items":
            return revised(base, what="", again=False)
        if base.what in ("leaves", "arrays"):
            return revised(base, what="array" if base.what == "leaves" else "numpy", again=False)
        if base.kind is Kind.TRACED:
            # The elements of a dict are its keys.
            return revised(base, what="" if base.what == "tree" else base.what, again=False)
        if base.what in ("shape", "list"):
            return revised(NUMBER, turn=True)
        if base.what == "lists":
            return Trace(Kind.STATIC, "list", turn=True)
        if base.what == "array":
            return revised(self._made([base]), varies=base.varies)
        return base if base.what == "numpy" or base.kind is Kind.STATIC else revised(base, what="")

    def _container(self, op: Op, read: Read[Trace]) -> Trace:
        if op.has("rows"):
            base = fact_of(op.arguments.get("rows"), read)
            known = base.what in ("shape", "empty", *OF_NUMBERS)
            return base if known else revised(base, what="items", mask=False, made=False, again=False)
        made = together(self._operands(op, read))
        if made.what == "lists" and {"x", "y"} == op.arguments.keys():
            # Joined, not nested.
            made = revised(made, what=next(fact.what for fact in self._operands(op, read) if fact.what != "empty"))
        if made.what in ("list", "lists") and op.kind not in _SEQUENCES:
            return revised(made, what="")
        return revised(made, what="items") if not made.what and op.kind in _SEQUENCES else made

    def _changed(self, op: Op, read: Read[Trace]) -> Trace:
        base = fact_of(op.arguments.get("list", op.arguments.get("base")), read)
        added = fact_of(op.arguments.get("value"), read)
        longer = "list" if op.method == "extend" else "number"
        # One number more makes a list longer, not deeper.
        alike = base.what in ("list", "empty") and added.what == longer
        made = Trace(Kind.STATIC, "list", turn=base.turn or added.turn) if alike else together([base, added])
        grown = op.has("list") and base.what in ("empty", "list", "lists", "items") and not made.what
        return revised(made, what="items") if grown else made

    def _to_python(self, op: Op, read: Read[Trace]) -> Trace:
        operands = self._operands(op, read)
        fresh = any(read(value).what in ("array", "numpy") and self._of_this_turn(value) for value in op.operands)
        # An array of any rank but none becomes a list.
        made = {"tolist": Trace(Kind.STATIC, "list"), "tobytes": STATIC}.get(op.qualified, NUMBER)
        return revised(made, turn=fresh or any(one.turn for one in operands))

    def _of_this_turn(self, value: Value) -> bool:
        """Whether the innermost Python loop computes a value anew in each turn."""
        loop = self.context.loop
        mark = None if loop is None else loop.entered
        return isinstance(mark, tuple) and value.id > mark[0]

    def _numpy(self, op: Op, read: Read[Trace]) -> Trace:
        operands = self._operands(op, read)
        if any(one.traced_array for one in operands):
            # It raises, or it only calls a method of the traced array, or such arrays never come here.
            return Trace(Kind.UNKNOWN, "array", mask=makes_mask(op, operands))
        first = operands[0] if operands and op.qualified in DELEGATING else NUMPY
        if first.kind is Kind.UNKNOWN or (first.what in ("", "tree", "array") and first.kind is Kind.CONCRETE):
            # An array of JAX is given to its own method, and stays one.
            return revised(first, what="", mask=makes_mask(op, operands))
        given = operands[0] if operands else UNKNOWN
        frozen = given.frozen if op.function in SHOWN_AS_VIEWS else False
        # The same dtype is no conversion, and makes no copy; another one does.
        if op.function in ("asarray", "asanyarray") and len(op.arguments) == 1:
            is_other = given.kind is Kind.STATIC or given.what not in ("", "tree")
            frozen = given.jax_array or (given.frozen if is_other else None)
        made = revised(NUMPY, what="arrays" if gives_several(op) else "numpy", mask=makes_mask(op, operands))
        return resized(revised(made, frozen=frozen), op, operands, read)

    def _library(self, op: Op, read: Read[Trace]) -> Trace:
        operands = self._operands(op, read)
        function = op.qualified
        owner = package(function)
        if owner in VALUES_ALONE or function in PYTHON_NUMBERS:
            return self._computed(function, operands)
        if function in PLAIN_DATA:
            return STATIC
        if function == "builtins.map" and op.of == "builtins.len":
            return revised(UNKNOWN, length=True)
        traced = next((one for one in operands if one.kind is Kind.TRACED), None)
        if owner in JAX and traced is not None:
            what = "array" if op.loss else ""
            return Trace(Kind.TRACED, what, by=traced.by, way=traced.way)
        return UNKNOWN

    def _computed(self, function: str, operands: list[Trace]) -> Trace:
        if function == "builtins.abs" and operands:
            return revised(operands[0], again=False)
        if function == "builtins.max" and len(operands) == 1 and operands[0].length:
            # The longest of many: who asks for it expects lengths to differ, and so will the next batch's.
            return revised(NUMBER, turn=True)
        if all(one.kind is Kind.STATIC for one in operands):
            return revised(NUMBER, turn=any(one.turn for one in operands))
        return UNKNOWN

    def _key(self, op: Op, read: Read[Trace]) -> Trace:
        function = op.qualified
        own = function.startswith("jax.random.") or not function
        mask = function == "jax.random.bernoulli"
        return self._made(self._operands(op, read), "array" if own else "", mask=mask)

    def _passed(self, op: Op, read: Read[Trace]) -> Trace:
        operands = self._operands(op, read)
        if not operands:
            return UNKNOWN
        first = revised(operands[0], again=False)
        if first.kind is Kind.TRACED or self.context.stage is None:
            return first
        return self._made(operands, "array" if first.what in ("array", "numpy", "number") else "")

    def _collective(self, op: Op, read: Read[Trace]) -> Trace:
        operands = self._operands(op, read)
        if any(one.kind is Kind.TRACED for one in operands):
            passed = self._passed(op, read)
            # What is the same for all elements of a mapped axis is not mapped.
            return passed if self.context.stage is not None else revised(passed, kind=Kind.UNKNOWN)
        if op.qualified.endswith("axis_index"):
            return self._made(operands)
        # The sum of a constant over an axis is a Python number: people ask for the axis's size so.
        counts = op.qualified.endswith(("psum", "axis_size")) and all(one.kind is Kind.STATIC for one in operands)
        return NUMBER if counts else UNKNOWN


def _alike(op: Op, read: Read[Trace], single: One) -> Sequence[Trace]:
    return [_placed(single(op, read), op, read)] * len(op.results)


def _placed(fact: Trace, op: Op, read: Read[Trace]) -> Trace:
    """Return the fact of an array of JAX that no transformation hands in, with the place where it became one."""
    if fact.source is not None or fact.what != "array" or (fact.way != "made" and fact.kind is not Kind.CONCRETE):
        return fact
    older = (place for value in op.operands if (place := read(value).source) is not None)
    return revised(fact, source=next(older, op.span))


def _global(op: Op, read: Read[Trace]) -> Trace:
    """Return what a module holds: it is at hand, and of what kind says the value that it was left with."""
    held = op.constant
    fact = read(held) if isinstance(held, Value) else STATIC
    return revised(CONCRETE, what=fact.what if fact.what in _ARRAYS else "", source=fact.source)


def _operator(op: Op, read: Read[Trace]) -> Trace:
    asked = op.operator
    if asked == "text":
        return STATIC
    if asked == "not" and op.operands:
        answer = read(op.operands[0]).holds
        return NUMBER if answer is None else revised(NUMBER, holds=not answer)
    if asked in ("is", "is not") and len(op.operands) == 1 and op.arguments.get("y", ...) is None:
        # What is an array for sure is not None.
        return revised(NUMBER, holds=asked == "is not") if read(op.operands[0]).what in _ARRAYS else NUMBER
    return NUMBER


_ARRAYS = ("array", "numpy")


def _random(op: Op, read: Read[Trace]) -> Trace:
    if not op.qualified.startswith("numpy."):
        return NUMBER
    # A size that is itself a random number makes arrays of different lengths.
    size = fact_of(op.arguments.get("size"), read)
    return revised(NUMPY, varies=size.what == "numpy" or size.turn)


def _shape(op: Op, read: Read[Trace]) -> Trace:
    function = op.function
    if function == "shape":
        base = fact_of(op.arguments.get("a"), read)
        return Trace(Kind.STATIC, "shape", turn=base.varies, axis=base.kind is Kind.TRACED)
    if function == "len":
        base = fact_of(op.arguments.get("a"), read)
        # Of a list, `varies` speaks of what is in it.
        longer = base.varies and base.what in ("array", "numpy")
        return revised(NUMBER, turn=longer, axis=base.traced_array, length=base.kind is not Kind.TRACED)
    return NUMBER if function in SIZES else STATIC


_LEAVES = playing("tree.leaves")
_FLATTENED = playing("tree.flatten")
_SEQUENCES = ("list", "tuple", "sequence")


_EVERYTHING: tuple[Argument, ...] = (REST, {"start": None, "stop": None, "step": None})
"""Indices that take all of an axis."""


def _may_give_back(op: Op, operands: Sequence[Trace]) -> bool:
    """Whether an array that may be at hand may be given back as it is, also where all that JAX computes is traced.

    `jnp.asarray` does so, and `jnp.reshape` where the shape, which is among the operands too, is what it was.
    """
    arrays = [one for one in operands if one.kind is not Kind.STATIC]
    at_hand = bool(arrays) and all(one.kind is not Kind.TRACED and one.what == "array" for one in arrays)
    return at_hand and (op.name in KEEPING or op.name == "array.join" or op.function == "asarray")


def gives(op: Op) -> str:
    """Return what a function of arrays gives: one, or a tuple or list of them, if that is known."""
    if gives_several(op):
        return "leaves"
    return "" if op.name == "array.linalg" and op.function not in ONE_ARRAY else "array"


def gives_several(op: Op) -> bool:
    """Whether a function gives a tuple or list of arrays."""
    function = op.function
    if function == "unique" and not any(name.startswith("return_") for name in op.arguments):
        return False
    places = function == "where" and op.arguments.keys().isdisjoint(("x", "y"))
    options = not op.arguments.keys().isdisjoint(("compute_uv", "mode"))
    return op.name == "array.split" or (function in SEVERAL_ARRAYS and not options) or places
