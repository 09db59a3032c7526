"""Python's own acts: constants, items, unpacking, loop variables, containers, and arithmetic on integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jaxaudit.analyses.dims import UNKNOWN, Dim, constant, product, variable
from jaxaudit.analyses.shapes.facts import (
    DEVICES,
    NOTHING,
    Layer,
    Outline,
    ShapeFact,
    array,
    as_number,
    atoms_of,
    integer,
    join,
    outline_of,
    sequence,
    truth,
)
from jaxaudit.analyses.shapes.literals import array_dims, is_slice, literal
from jaxaudit.analyses.shapes.mapped import without_axis
from jaxaudit.analyses.shapes.result import Fit
from jaxaudit.analyses.shapes.transfer import environments
from jaxaudit.analyses.shapes.transfer.index import index_array
from jaxaudit.analyses.shapes.transfer.look import Look, Transfer, single
from jaxaudit.analyses.shapes.transfer.numbers import joined_tuples
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.record import replace

_MOST_ROWS = 32
"""Rows of an array that are told one by one where it is made a tuple."""
_OF_INTEGERS = ("jax.numpy.iinfo", "numpy.iinfo")
_LIMITS = ("jax.numpy.finfo", "numpy.finfo", *_OF_INTEGERS)
"""Functions that tell the limits of a dtype: numbers of that dtype, or of Python's for integers."""
_OF_FLOATS = ("eps", "max", "min", "tiny", "smallest_normal", "smallest_subnormal", "resolution", "epsneg")
_MOST_SIZES = 8
"""Sizes that are read at once of a shape of unknown rank."""


def _const(look: Look) -> ShapeFact:
    value = look.op.constant
    if isinstance(value, bool):
        return truth(value)
    return literal(value, look.read) if isinstance(value, int | float | complex) else NOTHING


def _global(look: Look) -> ShapeFact:
    value = look.op.constant
    known = look.read(value) if isinstance(value, Value) else NOTHING
    if (known.is_array or known.placing or known.layer) and all(atom.born == 0 for atom in atoms_of(known)):
        return known
    return ShapeFact(symbol=f"{look.op.label.rpartition('.')[2]}#0{look.op.label}")


def _attribute(look: Look) -> ShapeFact:
    base = look.first()
    name = look.op.label
    if name == "value" and base.dims is not None:
        # A variable of flax is known by the array it holds.
        return base
    known = environments.attribute(base, name)
    if known is not None:
        return known
    if base.layer is not None and base.layer.name in _LIMITS:
        return _limit(base, name, integers=base.layer.name in _OF_INTEGERS)
    return ShapeFact(symbol=f"{base.symbol}.{name}", born=base.born) if base.symbol and name else NOTHING


def _limit(limits: ShapeFact, name: str, *, integers: bool) -> ShapeFact:
    """Return `jnp.finfo(dtype).eps`, a number of that dtype, or `jnp.iinfo(dtype).max`, one of Python's."""
    if name == "bits" or (integers and name in ("max", "min")):
        return integer(UNKNOWN)
    dtype = limits.dtype if limits.dtype and "float" in limits.dtype else None
    return array((), dtype) if name in _OF_FLOATS and not integers else NOTHING


def _item(look: Look) -> ShapeFact:
    base, index = look.fact("base"), look.raw("index")
    if base.items is not None:
        return _of_tuple(base.items, index)
    if base.each is not None:
        if is_slice(index):
            return replace(base, length=None)
        return base.each if look.of(index).items is None else NOTHING
    if base.dims is not None and base.number is None:
        return index_array(base, index, look)
    if base.sizes is not None:
        return _of_shape(base, base.sizes, index)
    if base.symbol and not isinstance(index, int | str | None):
        # Rules compare what an array is indexed by with its own shape, whatever its rank.
        look.of(index)
        return array(None, base.dtype)
    if isinstance(index, int) and _has_rows(base):
        return without_axis(base, 0)
    return _of_object(base, index) if base.symbol and isinstance(index, int | str) else NOTHING


def _has_rows(base: ShapeFact) -> bool:
    """Whether something is an array of unknown rank that has a first axis for sure."""
    return base.outline is not None and bool(base.outline.head)


def _of_shape(base: ShapeFact, sizes: Outline, index: Argument) -> ShapeFact:
    """Return `x.shape[-1]`, `x.shape[:2]` and `x.shape[:-1]` of an array whose rank is not known."""
    if isinstance(index, int):
        size = sizes.size(index)
        return integer(variable(f"{base.symbol}[{index}]", "size", base.born) if size is None else size)
    if not isinstance(index, Mapping) or index.get("step") not in (None, 1):
        return NOTHING
    start, stop = index.get("start"), index.get("stop")
    if start is None and stop is None:
        return base
    if start in (None, 0) and isinstance(stop, int):
        places = range(stop)
        return _listed(sizes, 0, -stop) if stop < 0 else _sizes_at(base, sizes, places)
    if stop is None and isinstance(start, int):
        return _listed(sizes, start, 0) if start >= 0 else _sizes_at(base, sizes, range(start, 0))
    return NOTHING


def _sizes_at(base: ShapeFact, sizes: Outline, places: range) -> ShapeFact:
    return sequence(tuple(_of_shape(base, sizes, at) for at in places)) if len(places) <= _MOST_SIZES else NOTHING


def _listed(sizes: Outline, front: int, back: int) -> ShapeFact:
    """Return what is left of a shape without some of its first or last sizes."""
    left = sizes.without_ends(front, back)
    return NOTHING if left is None else ShapeFact(sizes=left)


def _of_tuple(items: tuple[ShapeFact, ...], index: Argument) -> ShapeFact:
    if isinstance(index, int) and -len(items) <= index < len(items):
        return items[index]
    if isinstance(index, Mapping):
        bounds = [index.get(name) for name in ("start", "stop", "step")]
        if all(bound is None or isinstance(bound, int) for bound in bounds) and bounds[2] != 0:
            return sequence(items[slice(*bounds)])  # type: ignore[misc]
    return NOTHING


def _of_object(base: ShapeFact, index: int | str) -> ShapeFact:
    text = f"{base.symbol}[{index!r}]"
    if base.symbol.endswith(".shape"):
        return integer(variable(text, "size", base.born))
    # An entry of a tree has the first axes that all of its leaves have; a row of an array has one less.
    return ShapeFact(symbol=text, born=base.born, stack=base.stack if isinstance(index, str) else ())


def _unpack(op: Op, look: Look) -> Sequence[ShapeFact]:
    base, count, star = look.first(), len(op.results), op.star
    if base.items is not None:
        return _unpacked(base.items, count, star)
    if base.each is not None:
        return [replace(base, length=None) if i == star else base.each for i in range(count)]
    if base.dims == ():
        look.judge(Fit.CLASHES, f"an array with 0 axes is unpacked into {count} variables")
        return [NOTHING] * count
    if base.dims and base.number is None:
        _count_rows(base.dims[0], count if star is None else None, look)
        rows = without_axis(base, 0)
        rest = ShapeFact((base.dims[0] - constant(count - 1), *base.dims[1:]), base.dtype, base.weak)
        return [rest if i == star else rows for i in range(count)]
    if base.sizes is not None:
        return _unpacked_shape(base, base.sizes, count, star)
    if star is None and _has_rows(base):
        return [without_axis(base, 0)] * count
    if base.symbol and star is None:
        return [_of_object(base, i) for i in range(count)]
    return [NOTHING] * count


def _count_rows(rows: Dim, count: int | None, look: Look) -> None:
    """Judge whether an array has a row for each variable that it is unpacked into."""
    if count is None or rows.constant is None:
        look.judge(Fit.OPEN)
    elif rows.constant == count:
        look.judge(Fit.FITS)
    else:
        look.judge(Fit.CLASHES, f"an array whose axes begin with {rows.constant} is unpacked into {count} variables")


def _unpacked_shape(base: ShapeFact, sizes: Outline, count: int, star: int | None) -> Sequence[ShapeFact]:
    if star is None:
        return [_of_shape(base, sizes, at) for at in range(count)]
    after = [_of_shape(base, sizes, at) for at in range(star + 1 - count, 0)]
    return [*(_of_shape(base, sizes, at) for at in range(star)), _listed(sizes, star, len(after)), *after]


def _unpacked(items: tuple[ShapeFact, ...], count: int, star: int | None) -> Sequence[ShapeFact]:
    if star is None:
        return items if len(items) == count else [NOTHING] * count
    after = count - star - 1
    if len(items) < count - 1:
        return [NOTHING] * count
    middle = sequence(items[star : len(items) - after])
    return [*items[:star], middle, *items[len(items) - after :]]


def _element(look: Look) -> ShapeFact:
    iterable = look.raw("iterable")
    if isinstance(iterable, Mapping):
        return _counter(look, iterable)
    fact = look.of(iterable)
    if fact.items:
        return _join_all(fact.items)
    if fact.each is not None:
        return fact.each
    if fact.dims == ():
        look.judge(Fit.CLASHES, "an array with 0 axes has no rows to go through")
    return without_axis(fact, 0) if fact.dims and fact.number is None else NOTHING


def _counter(look: Look, bounds: Mapping[str, Argument]) -> ShapeFact:
    """Return the variable of a loop over a `range`, with its bounds where it counts up from zero."""
    stop, step = (as_number(look.of(bounds.get(name))) for name in ("stop", "step"))
    if bounds.get("start") != 0 or stop is None or step is None or step.constant is None or step.constant < 1:
        return integer(UNKNOWN)
    value = look.op.result
    return integer(variable(f"{value.name or '_'}#{value.id}", "number", value.id, (stop.plain(), step.plain())))


def _join_all(facts: Sequence[ShapeFact]) -> ShapeFact:
    made = facts[0]
    for fact in facts[1:]:
        made = join(made, fact)
    return made


def _joined(look: Look) -> ShapeFact:
    return _join_all([look.read(value) for value in look.op.operands]) if look.op.operands else NOTHING


def _container(look: Look) -> ShapeFact:
    operands = look.op.operands
    if look.has("rows"):
        return _rows(look.fact("rows"))
    if look.has("items"):
        return look.fact("items")
    if look.has("x"):
        x, y = look.fact("x"), look.fact("y")
        return NOTHING if (joined := joined_tuples(x, y)) is None else joined
    if look.op.kind == "sequence" and len(operands) == 1:
        fact = look.read(operands[0])
        return fact if fact.each is not None else NOTHING
    if look.has("values"):
        return look.fact("values")
    if not operands:
        return sequence(()) if look.op.kind == "list" else NOTHING
    return ShapeFact(parts=tuple(look.read(value) for value in operands))


def _rows(base: ShapeFact) -> ShapeFact:
    """Return the rows of an array as `tuple` or `list` does; what is no array stays what it is."""
    if not base.dims:
        return base if base.dims is None else NOTHING
    row, count = array(base.dims[1:], base.dtype, weak=base.weak), base.dims[0].constant
    return ShapeFact(each=row) if count is None or count > _MOST_ROWS else sequence((row,) * count)


def _shape(look: Look) -> ShapeFact:
    base, function = look.first(), look.function
    dims = array_dims(base)
    if function == "shape":
        if dims is not None:
            return sequence(tuple(integer(dim) for dim in dims))
        known = ShapeFact(symbol=f"{base.symbol}.shape", born=base.born, sizes=outline_of(base))
        return known if base.symbol else NOTHING
    if function == "ndim":
        return NOTHING if dims is None else integer(constant(len(dims)))
    if function == "size":
        return _size(look, base)
    if function == "dtype":
        return array(None, base.dtype)
    if look.op.qualified in _LIMITS:
        return ShapeFact(dtype=look.dtype("dtype"), layer=Layer(look.op.qualified))
    return _length(base) if function == "len" else NOTHING


def _size(look: Look, base: ShapeFact) -> ShapeFact:
    axis = look.raw("axis")
    if base.dims is None:
        return NOTHING
    if isinstance(axis, int) and -len(base.dims) <= axis < len(base.dims):
        return integer(base.dims[axis])
    total = base.dims[0] if len(base.dims) == 1 else product(base.dims)
    return integer(total) if axis is None else NOTHING


def _length(base: ShapeFact) -> ShapeFact:
    if base.items is not None:
        return integer(constant(len(base.items)))
    if base.dims:
        return integer(base.dims[0])
    if base.symbol in DEVICES:
        return DEVICES[base.symbol]
    outline = outline_of(base)
    if outline is not None and not base.symbol.endswith(".shape") and (size := outline.size(0)) is not None:
        return integer(size)
    return integer(UNKNOWN if base.length is None else base.length)


def _to_python(look: Look) -> ShapeFact:
    base, function = look.first(), look.function
    if function == "int":
        return base if base.number is not None else integer(UNKNOWN)
    if function == "float":
        return array((), "float32", weak=True)
    return array((), "bool") if function == "bool" else NOTHING


def _operator(look: Look) -> ShapeFact:
    """Return `not`, `and` and `or` of truth values that are known."""
    given = [look.read(value) for value in look.op.operands]
    known = [fact.number.constant for fact in given if fact.dtype == "bool" and fact.number is not None]
    if len(known) != len(given) or not known or None in known:
        return NOTHING
    values = [bool(value) for value in known]
    results = {"not": not values[0], "and": all(values), "or": any(values)}
    operator_name = look.op.operator
    return truth(results[operator_name]) if operator_name in results else NOTHING


TABLE: Mapping[str, Transfer] = {
    "py.const": single(_const),
    "py.global": single(_global),
    "py.attr": single(_attribute),
    "py.item": single(_item),
    "py.unpack": _unpack,
    "py.element": single(_element),
    "py.join": single(_joined),
    "py.container": single(_container),
    "py.to_python": single(_to_python),
    "py.operator": single(_operator),
    "array.shape": single(_shape),
}
