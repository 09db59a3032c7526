"""What a function computes, tried out on numbers.

The values are steps, each after those that it needs. All of them are computed once for some data; a trial computes anew
only what hangs on the inputs that it changes.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from jaxaudit.analyses.arithmetic import ORDER
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.lineage.origins import outside_of_call
from jaxaudit.analyses.queries import last
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.functions import ADDITIONS, AVERAGES
from jaxaudit.ir.interfaces import Call
from jaxaudit.ir.ops import BODIES, KEEPING
from jaxaudit.ir.record import record
from jaxaudit.ir.values import index_parts

Number = float | list[float]
"""One number for each feature, or one for each sample."""
Leaf = Value | tuple[object, object]
"""Something that a function is given: a parameter, or a field of one."""

_UNARY: Mapping[str, Callable[[float], float]] = {
    "negative": operator.neg,
    "square": lambda x: x * x,
    "sqrt": math.sqrt,
    "abs": abs,
    "reciprocal": lambda x: 1 / x,
    "positive": lambda x: x,
}
_BINARY: Mapping[str, Callable[[float, float], float]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
    **ORDER,
}
_DATA = 1
"""The bit of the data among what a step hangs on; the inputs have those above."""
_UNKNOWN = 0
"""The first step, which is no number: so is a value that is computed from itself."""


@record
class Data:
    """What is merged: an array of which a statistic is taken, or one sample alone."""

    value: Value
    axes: tuple[int, ...]
    """The axes that are reduced; none for a single sample."""
    sizes: tuple[int, ...] = ()
    """The sizes of these axes: their own where `is_measured`, else some."""
    is_measured: bool = True

    @property
    def count(self) -> int:
        """How many samples are tried."""
        return math.prod(self.sizes)

    def size(self, axis: int) -> float:
        """Return the size of one axis; that of a feature is one."""
        return self.sizes[self.axes.index(axis)] if axis in self.axes else 1


@record
class _Form:
    """How a value is computed from others; from none of them, where it is given."""

    compute: Callable[..., Number] | None
    needs: tuple[Value | float, ...] = ()


class Trials:
    """Computes the values of a function for numbers that its inputs are given."""

    def __init__(self, flow: Flow, data: Data) -> None:
        self._flow, self._data = flow, data
        self._forms: dict[Value | float, _Form] = {}
        self._at: dict[Value | float | Leaf, int] = {data.value: 1}
        """The step of each value."""
        self._steps: list[tuple[Callable[..., Number] | None, tuple[int, ...]]] = [(None, ()), (None, ())]
        self._hangs_on: list[int] = [0, _DATA]
        """What each step hangs on, one bit for each input."""
        self._inputs: dict[Leaf, tuple[int, float]] = {}
        """The step of each input, and what it is where nothing else is said."""
        self._plain: dict[tuple[float, ...], list[Number | None]] = {}
        """All numbers for some data, where every input is what it is; None for what cannot be computed."""
        self._ways: dict[int, list[int]] = {}

    def add(self, value: Value) -> None:
        """Take a value in, and what it is computed from."""
        pending: list[Value | float] = [self._source(value)]
        while pending:
            one = pending[-1]
            if one not in self._at and one not in self._forms:
                form = self._forms[one] = self._formed(one)
                pending += reversed([need for need in form.needs if need not in self._forms])
            else:
                pending.pop()
                if one not in self._at:
                    self._at[one] = self._appended(one, self._forms[one])

    def number(self, value: Value, rows: Sequence[float], given: Mapping[Leaf, float]) -> float | None:
        """Return what a value is where it has one number for each feature; None where that cannot be computed."""
        end, plain = self._at[self._source(value)], self._computed(tuple(rows))
        found: dict[int, Number | None] = {
            self._inputs[leaf][0]: number for leaf, number in given.items() if leaf in self._inputs
        }
        changed = 0
        for at in found:
            changed |= self._hangs_on[at]
        for at in self._way(end):
            if self._hangs_on[at] & changed and at not in found:
                compute, needs = self._steps[at]
                found[at] = _result(compute, [found.get(need, plain[need]) for need in needs])
        number = found.get(end, plain[end])
        return None if isinstance(number, list) else number

    def hangs_on_data(self, value: Value) -> bool:
        """Whether a value is computed from the data themselves."""
        return bool(self._hangs_on[self._at[self._source(value)]] & _DATA)

    def inputs(self, value: Value) -> list[Leaf]:
        """Return what a value is computed from beside the data."""
        bits = self._hangs_on[self._at[self._source(value)]]
        return [leaf for leaf, (at, _) in self._inputs.items() if bits & self._hangs_on[at]]

    def _computed(self, rows: tuple[float, ...]) -> list[Number | None]:
        """Return all numbers for some data."""
        found = self._plain.setdefault(rows, [math.nan, list(rows) if self._data.axes else rows[0]])
        if len(found) < len(self._steps):
            given = dict(self._inputs.values())
            for at in range(len(found), len(self._steps)):
                compute, needs = self._steps[at]
                number = given.get(at)
                found.append(_result(compute, [found[need] for need in needs]) if number is None else number)
        return found

    def _way(self, end: int) -> list[int]:
        """Return the steps that lead to one."""
        way = self._ways.get(end)
        if way is None:
            met, pending = {end}, [end]
            for at in pending:
                new = [need for need in self._steps[at][1] if need not in met]
                met.update(new)
                pending += new
            way = self._ways[end] = sorted(met)
        return way

    def _source(self, value: Value) -> Value:
        """Return what a value is outside of calls and before conversions."""
        return last(value, self._same)

    def _same(self, value: Value) -> Value | None:
        op = self._flow.own_maker(value)
        if value is self._data.value:
            return None
        if op is None:
            return outside_of_call(self._flow, value, {})
        if op.name in BODIES and op.regions:
            return None if op.regions[0].shared else Call(op).inside(self._flow.position(op.results, value))
        return op.operands[0] if (op.name in KEEPING or op.name == "py.to_python") and op.operands else None

    def _appended(self, value: Value | float, form: _Form) -> int:
        """Add one step after those that it needs; a value that is given has one for all its names."""
        if isinstance(value, Value) and form.compute is None:
            leaf = leaf_of(value, self._flow)
            if leaf not in self._inputs:
                self._inputs[leaf] = len(self._steps), 1.1 + 0.37 * len(self._inputs)
                self._steps.append((None, ()))
                self._hangs_on.append(_DATA << len(self._inputs))
            return self._inputs[leaf][0]
        needs = tuple(self._at.get(need, _UNKNOWN) for need in form.needs)
        bits = 0
        for need in needs:
            bits |= self._hangs_on[need]
        self._steps.append((form.compute, needs))
        self._hangs_on.append(bits)
        return len(self._steps) - 1

    def _formed(self, value: Value | float) -> _Form:
        if not isinstance(value, Value):
            return _Form(lambda: value)
        op = self._flow.own_maker(value)
        if op is None or (op.name in BODIES and op.regions):
            return _Form(None)
        if op.name == "array.map":
            return self._mapped(op)
        if op.name == "array.reduce":
            return _Form(self._reduction(op), (self._source(op.operands[0]),))
        return self._sized(op)

    def _mapped(self, op: Op) -> _Form:
        unary, binary = _UNARY.get(op.function), _BINARY.get(op.function)
        names = "x" if unary or not binary else "xy"
        needs = tuple(self._needs(op.arguments.get(name) for name in names))
        function = unary or binary
        return _Form(_open if function is None or len(needs) < len(names) else partial(_each, function), needs)

    def _needs(self, given: Iterator[Argument]) -> Iterator[Value | float]:
        """Return what arguments are, up to the first that is none of that."""
        for one in given:
            if not isinstance(one, Value | int | float):
                return
            yield self._source(one) if isinstance(one, Value) else float(one)

    def _reduction(self, op: Op) -> Callable[..., Number]:
        """Return how the samples are made one number."""
        fits, ddof = axes_of(op, None) in (self._data.axes, None), op.arguments.get("ddof", 0)
        if fits and op.function in ADDITIONS:
            return partial(_reduced, sum)
        if fits and op.function in AVERAGES and not op.arguments.get("weights"):
            return partial(_reduced, _mean)
        if fits and op.function in ("var", "std") and isinstance(ddof, int):
            return partial(_reduced, partial(_spread, ddof=ddof, root=op.function == "std"))
        return _open

    def _sized(self, op: Op) -> _Form:
        """Return how many samples there are, where an op tells; what else it makes is taken as given."""
        shape = self._flow.maker(op.operands[0]) if op.name == "py.item" and op.operands else op
        if shape is None or shape.name != "array.shape" or not any(map(self._has_samples, shape.operands[:1])):
            return _Form(None)
        parts = index_parts(op.arguments.get("index")) if shape is not op else ()
        if shape.function == "size":
            return _Form(partial(float, self._data.count))
        if shape.function == "len" or (len(parts) == 1 and isinstance(parts[0], int)):
            return _Form(partial(self._data.size, parts[0] if parts and isinstance(parts[0], int) else 0))
        return _Form(_open)

    def _has_samples(self, value: Value) -> bool:
        """Whether a value has one number for each sample, as the data and what is computed of each of them."""
        if value is self._data.value or not self._data.axes:
            return value is self._data.value
        self.add(value)
        return isinstance(self._computed(rows_of(self._data))[self._at[self._source(value)]], list)


class _OpenError(Exception):
    """What a value is cannot be computed here."""


_ROWS = (1.3, -0.4, 2.2, 0.9, -1.7, 3.1, 0.2, 1.9)


def rows_of(data: Data) -> tuple[float, ...]:
    """Return some data, various ones."""
    return tuple(_ROWS[at % len(_ROWS)] + at // 8 for at in range(data.count))


def _result(compute: Callable[..., Number] | None, needs: Sequence[Number | None]) -> Number | None:
    """Compute one step; None where that is not possible."""
    if compute is None or None in needs:
        return None
    try:
        return compute(*needs)
    except (_OpenError, ArithmeticError, ValueError, TypeError):
        return None


def _open(*_given: Number) -> Number:
    raise _OpenError


def _each(function: Callable[..., float], *given: Number) -> Number:
    lengths = [len(one) for one in given if isinstance(one, list)]
    if not lengths:
        return float(function(*given))
    columns = [one if isinstance(one, list) else [one] * max(lengths) for one in given]
    return [float(function(*row)) for row in zip(*columns, strict=True)]


def _reduced(function: Callable[[list[float]], float], items: Number) -> float:
    if not isinstance(items, list):
        raise _OpenError
    return function(items)


def _mean(items: list[float]) -> float:
    return sum(items) / len(items)


def _spread(items: list[float], ddof: int, *, root: bool) -> float:
    mean = _mean(items)
    spread = sum((one - mean) ** 2 for one in items) / (len(items) - ddof)
    return math.sqrt(spread) if root else spread


def leaf_of(value: Value, flow: Flow) -> Leaf:
    """Return what a function is given, under one name for each field of a parameter."""
    op = flow.maker(value)
    if op is not None and op.name == "py.attr":
        return (op.operands[0], op.label)
    index = op.arguments.get("index") if op is not None and op.name == "py.item" and op.operands else None
    return (op.operands[0], index) if op is not None and isinstance(index, str | int) else value


def axes_of(op: Op, otherwise: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Return the axes that an op reduces, where they are written down."""
    given = op.arguments.get("axis")
    if isinstance(given, int):
        return (given,)
    known = isinstance(given, tuple) and all(isinstance(one, int) for one in given)
    return (
        tuple(sorted(one for one in given if isinstance(one, int))) if known and isinstance(given, tuple) else otherwise
    )
