"""Elementwise functions: operands broadcast against each other, and their dtypes are promoted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from jaxaudit.analyses.dims import ONE, UNKNOWN, constant, same
from jaxaudit.analyses.labels import made_by, of_a_part
from jaxaudit.analyses.shapes.broadcast import broadcast, shape_text
from jaxaudit.analyses.shapes.dtypes import inexact, named_dtype, promote
from jaxaudit.analyses.shapes.facts import (
    DEVICES,
    NOTHING,
    Dims,
    ShapeFact,
    array,
    common_outline,
    outline_of,
    sequence,
)
from jaxaudit.analyses.shapes.literals import array_dims, array_like, axes_in
from jaxaudit.analyses.shapes.mapped import place_of, resized, with_axis, without_axis
from jaxaudit.analyses.shapes.result import Fit
from jaxaudit.analyses.shapes.transfer.look import Look, Transfer, single
from jaxaudit.analyses.shapes.transfer.meshes import put
from jaxaudit.analyses.shapes.transfer.numbers import arithmetic, negated
from jaxaudit.ir import Value
from jaxaudit.ir.functions import (
    COUNTS_TRUTHS,
    FLOATING,
    NOT_BROADCASTING,
    PROMOTING,
    REINTERPRETED,
    ROUNDED,
    TRIANGLES,
    TRUTHS,
)
from jaxaudit.ir.trees import CONTAINERS, Tree
from jaxaudit.libraries.lookup import plays
from jaxaudit.libraries.packages import ON_EACH_DEVICE

NOT_OPERANDS = frozenset(
    "out where rtol atol equal_nan decimals approximate negative_slope alpha b deg copy nan posinf neginf invert "
    "assume_unique exponent_bits mantissa_bits accuracy precision".split()
)
"""Arguments of elementwise functions that do not broadcast with the others."""


def operands(look: Look) -> list[ShapeFact]:
    """Return the operands of an elementwise op as arrays."""
    if not look.op.arguments:
        return [look.read(value) for value in look.op.operands]
    kept = [value for name, value in look.op.arguments.items() if name not in NOT_OPERANDS and value is not None]
    return [array_like(look.of(value)) for value in kept if not isinstance(value, (str, bytes))]


def _map(look: Look) -> ShapeFact:
    if look.op.is_operator:
        number = _python(look)
        if number is not None:
            return number
        if _joins_sequences(look) or _is_text(look):
            return NOTHING
    if look.function == "divmod" and not look.has("*", "**"):
        given = operands(look)
        part = array(fitted(look, given), promote(given)[0])
        return sequence((part, part))
    if look.function in NOT_BROADCASTING or look.has("*", "**"):
        return NOTHING
    given = operands(look)
    dims = fitted(look, given)
    dtype, weak = _dtype(look.function, given)
    return array(dims, dtype, weak=weak, outline=common_outline(given))


def _joins_sequences(look: Look) -> bool:
    """Whether `+` or `*` joins or repeats lists and tuples: Python looks at no shape then."""
    given = [look.fact("x"), look.fact("y")]
    return look.function in ("add", "multiply") and any(one.items is not None or one.each is not None for one in given)


def _is_text(look: Look) -> bool:
    """Whether an operand is text, or some object of a library: `string.ascii_lowercase + ...`."""
    return any(isinstance(value, (str, bytes)) for value in look.op.arguments.values())


def _python(look: Look) -> ShapeFact | None:
    x = look.fact("x")
    if not look.has("y"):
        return negated(x) if look.function == "negative" else None
    return arithmetic(look, x, look.fact("y"))


def fitted(look: Look, given: Sequence[ShapeFact]) -> Dims | None:
    """Broadcast operands and say whether they go together."""
    shapes = [fact.dims for fact in given]
    dims, fit = broadcast(shapes)
    # A number goes with everything, and where no shape is known there is nothing to compare.
    met = [shape for shape in shapes if shape != ()]
    if len(met) > 1 and common_outline(given) is not None:
        look.judge(Fit.FITS)
    elif len(met) > 1 and any(shape is not None for shape in met):
        look.judge(fit, " and ".join(map(shape_text, met)) if fit is Fit.CLASHES else "")
    return dims


def _dtype(function: str, given: Sequence[ShapeFact]) -> tuple[str | None, bool]:
    if function in TRUTHS:
        return "bool", False
    dtype, weak = promote(given)
    if function in FLOATING:
        return inexact(dtype, weak)
    if dtype == "bool" and function in COUNTS_TRUTHS:
        return None, False
    # What rounding makes of integers depends on the function and on the version of JAX.
    keeps = function in PROMOTING or (function in ROUNDED and "float" in (dtype or ""))
    return (dtype, weak) if keeps else (None, False)


def _select(look: Look) -> ShapeFact:
    if look.function in TRIANGLES:
        return look.first()
    if look.function not in ("where", "clip", "clamp", "select_n", "select"):
        return NOTHING
    if look.function == "where" and not look.has("x", "y"):
        return NOTHING
    if look.function == "select" and look.has("condlist"):
        return NOTHING
    given = operands(look)
    dims = fitted(look, given)
    if dims is None and look.op.qualified == "jax.lax.select" and all(one.dims is not None for one in given[1:]):
        # Both cases have the shape of the result, whatever decides between them.
        dims = given[-1].dims
    chosen = given[1:] if look.function in ("where", "select", "select_n") else given
    dtype, weak = promote(chosen)
    return array(dims, dtype, weak=weak, outline=common_outline(given))


def _like_first(look: Look) -> ShapeFact:
    """Functions that keep the shape of their first argument."""
    base = array_like(look.first())
    return array(base.dims, base.dtype, weak=base.weak, outline=outline_of(base))


def _normalise(look: Look) -> ShapeFact:
    base = array_like(look.first())
    _judge_axes(look, base)
    dtype, weak = inexact(base.dtype, base.weak)
    return array(base.dims, dtype, weak=weak, outline=outline_of(base))


def _judge_axes(look: Look, base: ShapeFact) -> None:
    """Whether an array has the axes that a function is told to work along."""
    axes, rank = axes_in(look.raw("axis")), base.rank
    if look.op.name == "array.normalise" and rank == 0 and not look.has("axis"):
        axes = (-1,)
    if axes is None or rank is None or look.has("*", "**"):
        return
    wrong = next((one for one in axes if place_of(one, rank) is None), None)
    text = f"axis {wrong} of an array with {rank} {'axis' if rank == 1 else 'axes'}"
    look.judge(Fit.FITS if wrong is None else Fit.CLASHES, "" if wrong is None else text)


def _cumulative(look: Look) -> ShapeFact:
    base = array_like(look.first())
    _judge_axes(look, base)
    if look.function == "diff":
        return _differences(look, base)
    if base.dims is None or look.function in ("ediff1d", "gradient"):
        return NOTHING
    if look.raw("include_initial"):
        # One more than there are: what the total is before the first.
        alone = len(base.dims) == 1
        return array((base.dims[0] + ONE,), running_dtype(look, base)) if alone else NOTHING
    if not look.has("axis") and look.function in ("cumsum", "cumprod", "nancumsum", "nancumprod"):
        # Without an axis the array is flattened.
        return array(base.dims, running_dtype(look, base)) if len(base.dims) == 1 else NOTHING
    return array(base.dims, running_dtype(look, base))


def running_dtype(look: Look, base: ShapeFact) -> str | None:
    """Return the dtype of what is added up along an axis: small integers stay small, truth values are counted."""
    if look.has("dtype"):
        return look.dtype("dtype")
    return "int32" if base.dtype == "bool" else base.dtype


def _differences(look: Look, base: ShapeFact) -> ShapeFact:
    """`diff` leaves one element less along an axis for each time it is taken, of what was put at the ends too."""
    times, axis = look.raw("n"), look.raw("axis")
    times, axis = (1 if times is None else times), (-1 if axis is None else axis)
    place = place_of(axis, base.rank) if isinstance(axis, int) else None
    if base.dims is None or place is None or not isinstance(times, int):
        return NOTHING
    size = base.dims[place] - constant(times)
    for name in ("prepend", "append"):
        if look.raw(name) is not None:
            end = array_dims(look.fact(name))
            size = size + (UNKNOWN if end is None else end[place] if len(end) == len(base.dims) else ONE)
    if same(size, base.dims[place]):
        size = base.dims[place]
    marks = of_a_part(base.dims[place].labels) | made_by("ordered", look.op)
    return resized(array(base.dims, base.dtype if base.dtype == "float32" else None), place, size.labelled(marks))


def _convert(look: Look) -> ShapeFact:
    base = array_like(look.first())
    given = look.raw("dtype", "new_dtype")
    if look.function == "copy":
        return base
    if look.function == "astype":
        return array(base.dims, look.named_dtype(given), outline=outline_of(base))
    if look.function in ("view", "bitcast_convert_type"):
        return _reinterpreted(base, look.named_dtype(given), view=look.function == "view")
    if look.function in REINTERPRETED or look.function == "from_dlpack":
        return NOTHING
    return array(base.dims, named_dtype(look.function) or look.named_dtype(given), outline=outline_of(base))


def _reinterpreted(base: ShapeFact, dtype: str | None, *, view: bool) -> ShapeFact:
    """Return an array whose bits are read as other numbers: there are more of them where these are narrower.

    A view has them along the last axis, `bitcast_convert_type` along one of their own.
    """
    old, new, dims = _bits(base.dtype), _bits(dtype), base.dims
    if not (old and new) or dims is None or (not dims and old != new):
        return array(None, dtype)
    if old == new:
        return array(dims, dtype)
    if view:
        return array((*dims[:-1], dims[-1] * constant(old) // constant(new)), dtype)
    return array((*dims, constant(old // new)) if new < old else dims[:-1], dtype)


def _bits(dtype: str | None) -> int:
    """Return how wide a number of a dtype is; 0 where that is not known."""
    width = _WIDTH.search(dtype or "")
    return int(width[0]) if width is not None and int(width[0]) >= _BYTE else 0


_WIDTH, _BYTE = re.compile(r"\d+"), 8


def _same_object(look: Look) -> ShapeFact:
    return look.first()


def _leaf(look: Look) -> ShapeFact:
    """Return a leaf of a tree: what lies there, where the tree is known leaf by leaf, else what it is like."""
    parts, at = look.fact("tree").leaves, look.op.position
    known = parts is not None and at is not None and len(parts) == look.op.target_count
    like = parts[at] if parts is not None and at is not None and known else look.first()
    # A number is like another number whatever the two are.
    return array((), like.dtype, weak=like.weak) if like.number is not None else like


def _tree(look: Look) -> ShapeFact:
    """Return what a function gives of a tree: its leaves, or parts of a model that have its arrays."""
    name = look.op.qualified
    if plays(name, "model.partition"):
        return sequence((_as_part(look.first()), NOTHING))
    if plays(name, "model.join"):
        given = look.raw("pytrees")
        return _as_part(look.of(given[0])) if isinstance(given, tuple) and given else NOTHING
    return _as_part(look.first()) if plays(name, "model.filter") else _leaves(look)


def _as_part(fact: ShapeFact) -> ShapeFact:
    return ShapeFact(parts=fact.leaves, layer=fact.layer, stack=fact.stack)


def _leaves(look: Look) -> ShapeFact:
    """Return the leaves of a tree in JAX's order, where each is surely an array; `flatten` gives them first of two."""
    border = look.op.border
    if border is None or look.function not in ("leaves", "flatten") or len(look.op.arguments) != 1:
        return NOTHING
    values = list(_in_order(border.trees[0]))
    facts = [NOTHING if value is None else look.read(value) for value in values]
    if not facts or any(fact.dims is None for fact in facts):
        return NOTHING
    listed = sequence(tuple(facts))
    return listed if look.function == "leaves" else sequence((listed, NOTHING))


def _in_order(tree: Tree) -> Iterator[Value | None]:
    """Return the values at the leaves as JAX goes through them.

    Dicts by their sorted keys; None for what is unknown.
    """
    if tree.kind == "dict" and any(key.lstrip("-").isdigit() for key in tree.keys):
        # Numbers have another order than their texts.
        yield None
    elif tree.kind == "dict":
        yield from (value for key in sorted(tree.keys) for value in _in_order(tree.child(key) or tree))
    elif tree.kind in CONTAINERS:
        yield from (value for child in tree.children for value in _in_order(child))
    elif tree.kind != "none":
        yield tree.value


def _placed(look: Look) -> ShapeFact:
    """An array stays as it is wherever it is put, but for the functions that make a copy for each device."""
    base = look.first()
    if look.function == "replicate":
        size = DEVICES["jax.local_devices()"].number
        return NOTHING if size is None or look.has("devices") else with_axis(array_like(base), 0, size)
    if look.function == "unreplicate":
        return without_axis(base, 0)
    if look.function in ON_EACH_DEVICE:
        return NOTHING
    return put(base, look.fact("device", "out_shardings", "shardings").placed) if len(look.op.arguments) > 1 else base


TABLE: Mapping[str, Transfer] = {
    "array.map": single(_map),
    "array.select": single(_select),
    "array.normalise": single(_normalise),
    "array.scan": single(_cumulative),
    "array.convert": single(_convert),
    "grad.stop": single(_same_object),
    "key.within": single(_same_object),
    "tree.leaf": single(_leaf),
    "tree.other": single(_tree),
    "device.place": single(_placed),
    "key.clone": single(_like_first),
    "key.fold_in": single(lambda look: look.fact("key")),
}
