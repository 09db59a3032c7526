"""Python's own acts, NumPy functions, and collectives between devices."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from math import inf

from jaxaudit.analyses.ranges import arithmetic
from jaxaudit.analyses.ranges.facts import ANY, TRUTH, WILD, Range, Zero, exactly, join, plain
from jaxaudit.analyses.ranges.look import Look, Transfer, single
from jaxaudit.analyses.ranges.transfer import create, layout, reduce
from jaxaudit.analyses.ranges.transfer.maps import by_dtype, map_range
from jaxaudit.ir import Argument, Value
from jaxaudit.ir.functions import SIZES
from jaxaudit.libraries.lookup import plays

_HALF, _LARGEST = 65504.0, sys.float_info.max
"""The highest numbers of 16 bits, and of 64."""
_SMALLEST = ("tiny", "eps", "smallest_normal", "smallest_subnormal")


def _unknown(look: Look) -> Sequence[Range]:
    return [WILD] * len(look.op.results)


def _attribute(look: Look) -> Range:
    """The smallest numbers that `finfo` gives are positive, and the lowest and the highest are so of any dtype."""
    if look.op.label in _SMALLEST:
        return Range(1e-38, 1.0, nonzero=True)
    limit = (made := look.maker(look.leading())) is not None and made.function == "finfo"
    ends = {"min": Range(-_LARGEST, -_HALF, nonzero=True), "max": Range(_HALF, _LARGEST, nonzero=True)}
    return ends.get(look.op.label, WILD) if limit else WILD


def _constant(look: Look) -> Range:
    value, extent = look.op.constant, look.op.extent
    if isinstance(extent, tuple) and value is None:
        return Range(float(extent[0]), float(extent[1]), integer=True)
    return look.of(value) if isinstance(value, bool | int | float) else WILD


def _read(look: Look) -> Range:
    value = look.op.constant
    return look.of(value) if isinstance(value, bool | int | float | Value) else WILD


def _joined(look: Look) -> Range:
    return plain(layout.join_all([look.read(value) for value in look.op.operands])) if look.op.operands else WILD


def _operator(look: Look) -> Range:
    name = look.op.operator
    if name in ("and", "or"):
        return _joined(look) if len(look.op.operands) > 1 else WILD
    return TRUTH._replace(zero=Zero("the condition may fail", ordinary=False))


def _element(look: Look) -> Range:
    iterable = look.raw("iterable")
    if isinstance(iterable, Mapping):
        return turns(iterable, look)
    return plain(look.of(iterable)) if iterable is not None and not isinstance(iterable, str | bytes) else WILD


def turns(iterable: Mapping[str, Argument], look: Look) -> Range:
    """Return the elements of a `range`."""
    step = iterable.get("step", 1)
    first, last = look.of(iterable.get("start")), look.of(iterable.get("stop"))
    if isinstance(step, int) and step > 0:
        return Range(first.low, max(last.high - 1, first.low), integer=True)
    if isinstance(step, int) and step < 0:
        return Range(min(last.low + 1, first.high), first.high, integer=True)
    return Range(integer=True)


def _to_python(look: Look) -> Range:
    x = plain(look.first())
    if look.function == "int":
        return create.put_into(x._replace(nan=False), "int64")
    return create.put_into(x, "bool") if look.function == "bool" else x


def _shape(look: Look) -> Range:
    number = look.known.number(look.op.results[0]) if look.op.results else None
    if number is not None:
        return exactly(float(number))
    return Range(0.0, inf, integer=True) if look.function in SIZES else WILD


def _library(look: Look) -> Sequence[Range]:
    """Calls of `math` and of Python's own functions; constants among their arguments may be missing."""
    function = look.op.qualified
    module, _, name = function.rpartition(".")
    ranges = [look.of(one) for one in look.given()]
    if module == "builtins" and ranges and not look.op.arguments:
        return [_builtin(name, ranges)] * len(look.op.results)
    if module in ("math", "numpy") and look.op.arguments:
        made = map_range(look, name)
        return [WILD if made is None else made] * len(look.op.results)
    if plays(function, "layer"):
        # Parameters are ordinary numbers like all inputs, and so is what layers make of them.
        return [ANY] * len(look.op.results)
    labels = look.of(look.op.arguments.get("labels"))
    if plays(function, "nonnegative") or (plays(function, "loss.of_shares") and labels.low >= 0 and labels.high <= 1):
        return [Range(0.0, inf, finite=False, nan=True)] * len(look.op.results)
    return _unknown(look)


def _builtin(name: str, ranges: Sequence[Range]) -> Range:
    if name == "max":
        return Range(max(one.low for one in ranges), inf, finite=False, nan=True)
    if name == "min":
        return Range(-inf, min(one.high for one in ranges), finite=False, nan=True)
    if name == "abs" and len(ranges) == 1:
        return arithmetic.absolute(ranges[0])
    return Range(0.0, inf, integer=True) if name == "len" else WILD


def _numpy(look: Look) -> Sequence[Range]:
    """NumPy functions do what their kin in `jax.numpy` do."""
    name, count = look.function, len(look.op.results)
    if look.has("*", "**") or count != 1:
        return _unknown(look)
    if name in create.CREATE:
        return [create.CREATE[name](look)]
    known = reduce.REDUCE.get(name) or reduce.SCAN.get(name)
    if known is not None:
        return [known(look)]
    made = map_range(look, name)
    return [by_dtype(look) if made is None else made]


_ON_HOST = frozenset("choice beta poisson binomial exponential gamma lognormal".split())
"""The draws of NumPy that have the range of their kin in `jax.random`."""


def _drawn(look: Look) -> Range:
    """Return the range of what NumPy's generators draw."""
    name, low, high = look.function, look.raw("low"), look.raw("high")
    if look.has("*", "**"):
        return WILD
    if name in ("random", "random_sample", "rand"):
        return Range(0.0, 1.0)
    if name == "uniform":
        ends = exactly(0.0) if low is None else look.of(low), exactly(1.0) if high is None else look.of(high)
        return Range(ends[0].low, max(ends[0].low, ends[1].high))
    if name in ("integers", "randint") and low is not None:
        first, last = (exactly(0.0), look.of(low)) if high is None else (look.of(low), look.of(high))
        return Range(first.low, max(first.low, last.high - 1), integer=True)
    return create.DRAWS[name](look) if name in _ON_HOST else WILD


def _collective(look: Look) -> Sequence[Range]:
    name, x = look.function, plain(look.first())
    if name.startswith(("psum", "unreduced_psum", "reduce_scatter", "unreduced_reduce_scatter")):
        return [arithmetic.scaled(one, Range(1.0, inf, integer=True)) for one in _arrays(look)]
    if name in ("axis_index", "axis_size", "process_index"):
        return [Range(0.0, inf, integer=True)]
    if name.startswith(("ppermute", "pshuffle", "precv")):
        return [join(one, exactly(0.0)) for one in _arrays(look)]
    return [x] * len(look.op.results) if len(look.op.results) == 1 else _arrays(look)


def _arrays(look: Look) -> list[Range]:
    given = look.raw("x", "operand", "in_tree")
    count = len(look.op.results)
    if isinstance(given, tuple) and len(given) == count:
        return [plain(look.of(one)) for one in given]
    return [plain(look.of(given))] * count


TABLE: Mapping[str, Transfer] = {
    "py.const": single(_constant),
    "py.global": single(_read),
    "py.attr": single(_attribute),
    "py.join": single(_joined),
    "py.operator": single(_operator),
    "py.element": single(_element),
    "py.to_python": single(_to_python),
    "py.call_library": _library,
    "array.shape": single(_shape),
    "array.numpy": _numpy,
    "py.random": single(_drawn),
    "collective": _collective,
    **dict.fromkeys(
        "py.unknown py.container py.clock py.call_unknown py.format tree.other tree.leaf".split(), _unknown
    ),
}
