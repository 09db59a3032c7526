"""The marker: an identity primitive that stays in the jaxpr and remembers what happened to the array it marks.

`trail` grows by one entry for each transformation the marker goes through, innermost first: `("v", axis, size)` for a
`vmap` (axis None when the array is not mapped), `("jvp",)`, `("tan",)` for the tangent, `("ct",)` for the cotangent.
A marker that is bound inside the function of a `vmap` meets that very `vmap` first, so its first entry is the mapped
axis as the caller gave it, and the rest say where that axis ended up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.records import SCOPE, Leaf, Record

Trail = tuple[tuple[Any, ...], ...]

MARKER = "jaxaudit_mark"

_primitive: Any = compat.Primitive(MARKER)


def _batch(axis_data: Any, operands: Sequence[Any], axes: Sequence[Any], *, trail: Trail, **params: Any) -> Any:
    (operand,), (axis,) = operands, axes
    entry = ("v", axis if isinstance(axis, int) else None, axis_data.size)
    return _primitive.bind(operand, trail=(*trail, entry), **params), axis


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, trail: Trail, **params: Any) -> tuple[Any, Any]:
    (primal,), (tangent,) = primals, tangents
    out = _primitive.bind(primal, trail=(*trail, ("jvp",)), **params)
    if type(tangent) is compat.ad.Zero:
        return out, tangent
    return out, _primitive.bind(tangent, trail=(*trail, ("tan",)), **params)


def _linearize(operand: Any, *, trail: Trail, **params: Any) -> tuple[Any, Callable[[Any], Any]]:
    out = _primitive.bind(operand, trail=(*trail, ("jvp",)), **params)
    return out, lambda tangent: _primitive.bind(tangent, trail=(*trail, ("tan",)), **params)


def _transpose(cotangent: Any, operand: Any, *, trail: Trail, **params: Any) -> list[Any]:
    if type(cotangent) is compat.ad.Zero:
        return [cotangent]
    return [_primitive.bind(cotangent, trail=(*trail, ("ct",)), **params)]


def _same(operand: Any, **_: Any) -> Any:
    return operand


def _lowered(_: Any, operand: Any, **__: Any) -> list[Any]:
    return [operand]


def _register() -> None:
    _primitive.def_impl(_same)
    _primitive.def_abstract_eval(_same)
    compat.batching.fancy_primitive_batchers[_primitive] = _batch
    compat.ad.primitive_jvps[_primitive] = _jvp
    compat.ad.primitive_transposes[_primitive] = _transpose
    compat.register_linearization(_primitive, _linearize)
    compat.mlir.register_lowering(_primitive, _lowered)


_register()


def mark(tree: Any, record: Record, side: str, names: Sequence[str] | None = None) -> Any:
    """Mark every traced array in a pytree; everything else stays as it is.

    With `names` the tree is a pair of arguments and keywords, and the names are those of the parameters.
    """
    leaves, treedef = compat.tree_util.tree_flatten_with_path(tree)
    marked = _marked(leaves, record, side, names)
    return compat.tree_util.tree_unflatten(treedef, list(marked))


def _path(path: Sequence[Any], names: Sequence[str] | None) -> str:
    """Write the path to a leaf as the function would: `params['w']` rather than `[0][1]['w']`."""
    keystr = compat.tree_util.keystr
    if names is None or len(path) < 2:
        return keystr(path)
    keyword = getattr(path[1], "key", None)
    position = getattr(path[1], "idx", None)
    if isinstance(keyword, str):
        return keyword + keystr(path[2:])
    known = isinstance(position, int) and position < len(names)
    return (names[position] if known else keystr(path[1:2])) + keystr(path[2:])


def _argument(path: Sequence[Any]) -> int | str:
    """Return the argument that a leaf of a pair of arguments and keywords belongs to."""
    step = path[1] if len(path) > 1 else None
    found = getattr(step, "idx", getattr(step, "key", 0))
    return found if isinstance(found, int | str) else 0


def _marked(leaves: Iterable[tuple[Any, Any]], record: Record, side: str, names: Sequence[str] | None) -> Iterator[Any]:
    for position, (path, leaf) in enumerate(leaves):
        if not (isinstance(leaf, compat.Tracer) and isinstance(leaf.aval, compat.ShapedArray)):
            yield leaf
            continue
        shape = tuple(leaf.shape)
        record.leaves[side, position] = Leaf(_path(path, names), shape, str(leaf.dtype), _argument(path))
        yield _primitive.bind(leaf, uid=record.uid, side=side, leaf=position, trail=())


@contextmanager
def scope_of(record: Record) -> Iterator[None]:
    """Let every equation that is made meanwhile carry the record's number."""
    with compat.jax.named_scope(f"{SCOPE}{record.uid}"):
        yield


def mapped_axis(trail: Trail) -> int | None:
    """Return where the axis that the first `vmap` of a trail took away stands in the physical array."""
    axis = trail[0][1] if trail and trail[0][0] == "v" else None
    return None if axis is None else shifted(axis, trail[1:])


def shifted(axis: int, trail: Trail) -> int:
    """Move an axis on for each axis that a later `vmap` put before it."""
    for entry in trail:
        if entry[0] == "v" and entry[1] is not None and entry[1] <= axis:
            axis += 1
    return axis


def is_tangent(trail: Trail) -> bool:
    """Whether a marker is on a tangent or cotangent."""
    return any(entry[0] in ("tan", "ct") for entry in trail)
