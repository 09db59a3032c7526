"""What a function was called with: leaves by name, abstract copies to trace it again, and why two calls differ."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jaxaudit.frontends.jaxpr.imports import the_jax


@dataclass(frozen=True, slots=True)
class Leaf:
    """One leaf of the arguments: an array by its type, anything else by its text."""

    shape: tuple[int, ...] | None
    dtype: str
    weak: bool = False

    def __str__(self) -> str:
        if self.shape is None:
            return self.dtype
        return f"{self.dtype}[{','.join(map(str, self.shape))}]" + (" (weak)" if self.weak else "")


@dataclass(frozen=True, slots=True)
class Signature:
    """The leaves of one call by path, such as `params['w']`."""

    leaves: Mapping[str, Leaf]


def signature(fun: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Signature:
    """Return the signature of a call while it is traced."""
    jax = the_jax()
    leaves: dict[str, Leaf] = {}
    for name, value in named(fun, args, kwargs).items():
        for path, item in jax.tree_util.tree_flatten_with_path(value)[0]:
            leaves[name + jax.tree_util.keystr(path)] = _leaf(item)
    return Signature(leaves)


def named(fun: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments by the names of their parameters, by position where there is no signature."""
    try:
        return dict(inspect.signature(fun).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):
        return {**{str(number): value for number, value in enumerate(args)}, **kwargs}


def abstract(tree: Any) -> Any:
    """Replace every traced leaf by its type; what is static stays as it is."""
    jax = the_jax()

    def typed(item: Any) -> Any:
        return struct(item) if isinstance(item, jax.core.Tracer) else item

    return jax.tree.map(typed, tree)


def struct(item: Any) -> Any:
    """Return the type of an array, weak types and meshes included: without these JAX would trace it anew."""
    jax = the_jax()
    aval = jax.typeof(item) if hasattr(jax, "typeof") else item.aval
    options: dict[str, Any] = {}
    if getattr(aval, "weak_type", False):
        options["weak_type"] = True
    sharding = getattr(aval, "sharding", None)
    mesh = getattr(sharding, "mesh", None)
    if mesh is not None and not mesh.empty:
        options["sharding"] = sharding
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, **options)


def split_arrays(tree: Any, kind: type | None = None) -> tuple[list[Any], Callable[[Sequence[Any]], Any]]:
    """Return the types of the array leaves of a tree, and how to put other arrays in their place.

    With `kind` only what is of that class is an array.
    """
    jax = the_jax()
    leaves, structure = jax.tree_util.tree_flatten(tree)
    wanted = is_array if kind is None else lambda leaf: isinstance(leaf, kind)
    places = [number for number, leaf in enumerate(leaves) if wanted(leaf)]
    rest = [None if number in places else leaf for number, leaf in enumerate(leaves)]

    def rebuild(arrays: Sequence[Any]) -> Any:
        filled = list(rest)
        for place, array in zip(places, arrays, strict=True):
            filled[place] = array
        return jax.tree_util.tree_unflatten(structure, filled)

    return [
        struct(jax.numpy.asarray(leaves[place]) if isinstance(leaves[place], float | complex) else leaves[place])
        for place in places
    ], rebuild


def is_array(leaf: Any) -> bool:
    """Whether a leaf of an eager call is data; Python's integers may well be sizes, so they stay static."""
    return isinstance(leaf, float | complex) or (hasattr(leaf, "shape") and hasattr(leaf, "dtype"))


def difference(old: Signature, new: Signature) -> tuple[str, str]:
    """Return why a call had to be traced again: the kind, and the first leaf that differs."""
    if old.leaves.keys() != new.leaves.keys():
        names = sorted(old.leaves.keys() ^ new.leaves.keys())
        return "tree structure", f"{', '.join(names[:3])} {'is' if len(names) == 1 else 'are'} not in both calls"
    for name, now in new.leaves.items():
        before = old.leaves[name]
        if before != now:
            return _kind(before, now), f"`{name}` was {before} and is {now}"
    return "context", "the arguments are of the same types, so a setting, a mesh or a captured function changed"


def _kind(before: Leaf, now: Leaf) -> str:
    if before.shape is None or now.shape is None:
        return "static value"
    if before.shape != now.shape:
        return "shape"
    return "dtype" if before.dtype != now.dtype else "weak type"


def _leaf(item: Any) -> Leaf:
    jax = the_jax()
    if isinstance(item, jax.core.Tracer):
        aval: Any = item.aval
        return Leaf(tuple(getattr(aval, "shape", ())), str(getattr(aval, "dtype", aval)), _weak(aval))
    return Leaf(None, _text(item))


def _weak(aval: Any) -> bool:
    return bool(getattr(aval, "weak_type", False))


def _text(item: Any) -> str:
    try:
        text = repr(item)
    except Exception:  # noqa: BLE001
        text = f"a {type(item).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."
