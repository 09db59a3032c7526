"""What the patterns of einops make of an array: `rearrange(x, "b t (h d) -> b h t d", h=8)`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from jaxaudit.analyses.dims import ONE, UNKNOWN, Dim, constant, product
from jaxaudit.analyses.labels import Label
from jaxaudit.analyses.regroup import expanded
from jaxaudit.analyses.shapes.dtypes import promote
from jaxaudit.analyses.shapes.facts import NOTHING, Dims, ShapeFact, array, integer, sequence
from jaxaudit.analyses.shapes.literals import array_like, shape_of
from jaxaudit.analyses.shapes.result import Fit
from jaxaudit.analyses.shapes.transfer.look import Look
from jaxaudit.ir import Op

_TOKEN = re.compile(r"\(([^()]*)\)|(\.\.\.|[A-Za-z_]\w*|1)")
_REST = "..."

Axis = tuple[str, ...]
"""The names that one axis is made of; none for an axis of size one."""


def is_pattern(look: Look) -> bool:
    """Whether an op is one of einops."""
    return is_named_by_pattern(look.op)


def is_named_by_pattern(op: Op) -> bool:
    """Whether an op is one of einops, which name the axes of what they take."""
    return op.qualified.startswith("einops.")


def patterned(look: Look) -> ShapeFact:
    """Return the shape that `rearrange`, `reduce` or `repeat` make."""
    base, pattern = array_like(look.first()), look.raw("pattern")
    if base.dims is None or not isinstance(pattern, str) or "->" not in pattern or look.has("*", "**"):
        return NOTHING
    left, right = (axes_of(side) for side in pattern.split("->", 1))
    old = None if left is None else _spelled(left, len(base.dims))
    if old is None or right is None:
        if left is not None and (_REST,) not in left:
            look.judge(Fit.CLASHES, f"the pattern names {len(left)} axes, the array has {len(base.dims)}")
        return NOTHING
    sizes = _sizes(old, base.dims, look)
    rest = [axis for axis in old if axis[:1] and axis[0].startswith(_REST)]
    wanted = [one for axis in right for one in (rest if axis == (_REST,) else [axis])]
    if any(_REST in axis for axis in wanted):
        return NOTHING
    return array(tuple(_joined(axis, sizes, look) for axis in wanted), base.dtype)


def packed(look: Look) -> ShapeFact:
    """Return what `pack(tensors, "b * d")` makes: one array, and the shape that each tensor had at the star."""
    given, names = look.fact("tensors").items, _starred(look)
    if given is None or names is None or look.has("*", "**"):
        return NOTHING
    before, after = names
    shapes = [array_like(one).dims for one in given]
    known = [dims for dims in shapes if dims is not None and len(dims) >= before + after]
    if not known or len(known) != len(shapes):
        return NOTHING
    middles = [dims[before : len(dims) - after] for dims in known]
    total = constant(0)
    for middle in middles:
        total = total + product(middle)
    first = known[0]
    dims = (*first[:before], total, *first[len(first) - after :])
    parts = tuple(sequence(tuple(integer(dim) for dim in middle)) for middle in middles)
    return sequence((array(dims, promote([array_like(one) for one in given])[0]), sequence(parts)))


def unpacked(look: Look) -> ShapeFact:
    """Return what `unpack(tensor, shapes, "b * d")` makes: each array with the shape it had at the star."""
    base, parts, names = array_like(look.first()), look.fact("packed_shapes").items, _starred(look)
    if base.dims is None or parts is None or names is None or len(base.dims) != sum(names) + 1:
        return NOTHING
    before, after = base.dims[: names[0]], base.dims[names[0] + 1 :]
    middles = [shape_of(part) for part in parts]
    return sequence(tuple(NOTHING if one is None else array((*before, *one, *after), base.dtype) for one in middles))


def _starred(look: Look) -> tuple[int, int] | None:
    """Return how many axes a pattern names before its star and after it."""
    pattern = look.raw("pattern")
    words = pattern.split() if isinstance(pattern, str) else []
    return (words.index("*"), len(words) - words.index("*") - 1) if words.count("*") == 1 else None


def axes_of(side: str) -> list[Axis] | None:
    """Return the axes of one side of a pattern; None where it is not understood."""
    if _TOKEN.sub("", side).strip():
        return None
    found: list[Axis] = []
    for match in _TOKEN.finditer(side):
        words = match[2] if match[1] is None else match[1]
        found.append(tuple(word for word in words.split() if word != "1"))
    return found


def _spelled(axes: Sequence[Axis], rank: int) -> list[Axis] | None:
    """Write out an ellipsis as axes with names of their own; None where the rank does not fit."""
    at = next((i for i, axis in enumerate(axes) if axis == (_REST,)), None)
    if at is None:
        return list(axes) if len(axes) == rank else None
    missing = rank - len(axes) + 1
    if missing < 0:
        return None
    return [*axes[:at], *((f"{_REST}{i}",) for i in range(missing)), *axes[at + 1 :]]


def _sizes(axes: Sequence[Axis], dims: Dims, look: Look) -> dict[str, Dim]:
    """Return the size of every name: that of its axis, what was given, or what is left over."""
    sizes: dict[str, Dim] = {}
    for axis, dim in zip(axes, dims, strict=True):
        if len(axis) == 1:
            sizes[axis[0]] = dim.labelled(_noted(axis[0], look))
            continue
        open_names = [name for name in axis if look.fact(name).number is None]
        for name in axis:
            sizes[name] = (look.fact(name).number or UNKNOWN).labelled(_noted(name, look))
        if len(open_names) == 1:
            rest = dim // product(sizes[name] for name in axis if name not in open_names)
            sizes[open_names[0]] = rest.labelled(_noted(open_names[0], look))
    return sizes


def _noted(name: str, look: Look) -> frozenset[Label]:
    if name.startswith(_REST):
        return frozenset()
    span = look.op.span
    return frozenset((Label("noted", name, f"{span.path}:notes", where=f"the pattern at line {span.line}"),))


def _joined(axis: Axis, sizes: dict[str, Dim], look: Look) -> Dim:
    parts: list[Dim] = []
    for name in axis:
        given = look.fact(name).number
        new = UNKNOWN if given is None else given
        parts.append(sizes[name] if name in sizes else new.labelled(_noted(name, look)))
    if not parts:
        return ONE
    if len(parts) == 1:
        return parts[0]
    # What a pattern puts together it names: the order of these axes is known, whatever their sizes.
    return product(parts).labelled(frozenset((Label("product", op=look.op, factors=expanded(parts)),)))
