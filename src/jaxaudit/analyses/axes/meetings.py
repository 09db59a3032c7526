"""Where axes meet: every pair of axes that an op takes for one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations

from jaxaudit.analyses.dims import ONE, Dim
from jaxaudit.analyses.paths import Places
from jaxaudit.analyses.shapes import Context, ShapeFact
from jaxaudit.analyses.shapes.mapped import axes_of, place_of
from jaxaudit.analyses.shapes.subscripts import subscripts
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.functions import MATRIX_PRODUCTS
from jaxaudit.ir.record import record, replace
from jaxaudit.libraries.lookup import lookup
from jaxaudit.libraries.results import Shaped


@record
class Side:
    """One axis of one operand."""

    value: Value
    place: int
    dims: tuple[Dim, ...]

    @property
    def dim(self) -> Dim:
        """The size of the axis, with its labels."""
        return self.dims[self.place]

    @property
    def others(self) -> Iterator[tuple[int, Dim]]:
        """The other axes of the operand that the code sees."""
        return ((i, dim) for i, dim in enumerate(self.dims) if i != self.place and not is_taken(dim))


@record
class Meeting:
    """Two axes that an op takes for one."""

    op: Op
    how: str
    """`elementwise`, `contracted`, `mapped`, `scanned`."""
    left: Side
    right: Side


def written(places: Places, meeting: Meeting) -> Meeting:
    """Return a meeting as the user wrote it: before a traced operator broadcasts, JAX gives its operand more axes."""
    left, right = (_before(places, meeting.op, side) for side in (meeting.left, meeting.right))
    same = left is meeting.left and right is meeting.right
    return meeting if same else replace(meeting, left=left, right=right)


def _before(places: Places, op: Op, side: Side) -> Side:
    maker = places.maker.get(side.value)
    if maker is None or maker.name != "array.expand" or not op.api or not maker.operands:
        return side
    kept = maker.arguments.get("broadcast_dimensions")
    by_operator = (maker.span, maker.api) == (op.span, op.api)
    if not by_operator or not isinstance(kept, tuple) or side.place not in kept:
        return side
    own = [(at, dim) for at, dim in enumerate(side.dims) if at in kept]
    return Side(maker.operands[0], [at for at, _ in own].index(side.place), tuple(dim for _, dim in own))


def is_taken(dim: Dim) -> bool:
    """Whether a map around the op takes this axis away."""
    return any(label.kind == "taken" for label in dim.labels)


Pairs = Iterator[tuple[str, Side, Side]]


def meetings(op: Op, context: Context) -> Iterator[Meeting]:
    """Return every pair of axes that meet in an op."""
    pairs = _PAIRS.get(op.name)
    if pairs is None:
        return
    for how, left, right in pairs(op, context):
        seen = not is_taken(left.dim) and not is_taken(right.dim)
        if seen and left.dim != ONE and right.dim != ONE and left.value is not right.value:
            yield Meeting(op, how, left, right)


def _arrays(arguments: Sequence[Argument], context: Context) -> list[tuple[Value, tuple[Dim, ...]]]:
    found = [(one, context.of(one).dims) for one in arguments if isinstance(one, Value)]
    return [(value, dims) for value, dims in found if dims]


def _given(op: Op) -> Sequence[Argument]:
    return tuple(op.arguments.values()) if op.arguments else op.operands


def _elementwise(op: Op, context: Context) -> Pairs:
    for (a, first), (b, second) in combinations(_arrays(_given(op), context), 2):
        for back in range(1, min(len(first), len(second)) + 1):
            yield "elementwise", Side(a, len(first) - back, first), Side(b, len(second) - back, second)


def _loss(op: Op, context: Context) -> Pairs:
    """Predictions and targets have their rows in common, from the front, unless they are broadcast."""
    if not op.loss:
        return
    row = lookup(op.qualified)
    if row is not None and isinstance(row.result, Shaped) and row.result.function == "broadcast":
        yield from _elementwise(op, context)
        return
    arrays = _arrays(_given(op)[:2], context)
    if len(arrays) != 2 or abs(len(arrays[0][1]) - len(arrays[1][1])) > 1:
        return
    (a, first), (b, second) = arrays
    for place in range(min(len(first), len(second))):
        yield "elementwise", Side(a, place, first), Side(b, place, second)


def _product(op: Op, context: Context) -> Pairs:
    function = op.function
    if function == "einsum":
        yield from _einsum(op, context)
        return
    if function == "dot_general":
        yield from _contracted(op, context)
        return
    arrays = _arrays(_given(op)[:2], context)
    if len(arrays) != 2 or function not in MATRIX_PRODUCTS:
        return
    (a, first), (b, second) = arrays
    inner = max(len(second) - 2, 0)
    yield "contracted", Side(a, len(first) - 1, first), Side(b, inner, second)
    if function == "matmul":
        for back in range(3, min(len(first), len(second)) + 1):
            yield "elementwise", Side(a, len(first) - back, first), Side(b, len(second) - back, second)


def _contracted(op: Op, context: Context) -> Pairs:
    """Return the axes that a product of a traced program sums over, and those of its batch."""
    arrays = _arrays(_given(op)[:2], context)
    pairs = op.arguments.get("dimension_numbers")
    if len(arrays) != 2 or not isinstance(pairs, tuple):
        return
    (a, first), (b, second) = arrays
    for how, sides in zip(("contracted", "elementwise"), pairs, strict=False):
        left, right = sides if isinstance(sides, tuple) and len(sides) == 2 else ((), ())
        if isinstance(left, tuple) and isinstance(right, tuple):
            for one, other in zip(left, right, strict=False):
                if isinstance(one, int) and isinstance(other, int):
                    yield how, Side(a, one, first), Side(b, other, second)


def _einsum(op: Op, context: Context) -> Pairs:
    written = subscripts(op)
    spelled = None if written is None else written.spelled([context.of(one).rank for one in written.operands])
    if written is None or spelled is None:
        return
    inputs, output = spelled
    seen: dict[str, Side] = {}
    for names, value in zip(inputs, written.operands, strict=True):
        dims = context.of(value).dims if isinstance(value, Value) else None
        if dims is None or names is None or len(dims) != len(names) or not isinstance(value, Value):
            continue
        for place, name in enumerate(names):
            side = Side(value, place, dims)
            if name in seen:
                yield ("elementwise" if name in output else "contracted"), seen[name], side
            seen.setdefault(name, side)


def taken_sides(op: Op, of: Callable[[Value], ShapeFact]) -> list[Side]:
    """Return the axis that a map or scan takes off each of its operands."""
    count = op.carry or 0
    axes = (None,) * count + (0,) * (len(op.operands) - count) if op.name == "scan" else axes_of(op)
    if op.mapped_in is not None and len(op.mapped_in) == len(op.operands):
        axes = op.mapped_in
    found: list[Side] = []
    for value, axis in zip(op.operands, axes, strict=True):
        dims = of(value).dims
        place = place_of(axis, len(dims)) if dims is not None and isinstance(axis, int) else None
        if dims is not None and place is not None:
            found.append(Side(value, place, dims))
    return found


def _mapped(op: Op, context: Context) -> Pairs:
    how = "scanned" if op.name == "scan" else "mapped"
    yield from ((how, left, right) for left, right in combinations(taken_sides(op, context.of), 2))


def _joined(op: Op, context: Context) -> Pairs:
    """Arrays that are put one after the other have all axes in common but one."""
    given = op.arguments.get("arrays", op.arguments.get("tup"))
    axis = op.arguments.get("axis", 0)
    function = op.function
    if not isinstance(given, tuple) or not isinstance(axis, int) or function not in ("stack", "concatenate"):
        return
    arrays = _arrays(given[:8], context)
    for (a, first), (b, second) in combinations(arrays, 2):
        free = place_of(axis, len(first)) if function == "concatenate" else None
        if len(first) == len(second):
            places = [place for place in range(len(first)) if place != free]
            yield from (("elementwise", Side(a, place, first), Side(b, place, second)) for place in places)


def _gathered(op: Op, context: Context) -> Pairs:
    """`take_along_axis` goes through an array and its indices together, along all axes but one."""
    axis = op.arguments.get("axis")
    arrays = _arrays((op.arguments.get("arr"), op.arguments.get("indices")), context)
    if op.function != "take_along_axis" or not isinstance(axis, int) or len(arrays) != 2:
        return
    (a, first), (b, second) = arrays
    free = place_of(axis, len(first))
    if len(first) == len(second) and free is not None:
        places = [place for place in range(len(first)) if place != free]
        yield from (("elementwise", Side(a, place, first), Side(b, place, second)) for place in places)


_PAIRS: Mapping[str, Callable[[Op, Context], Pairs]] = {
    "array.map": _elementwise,
    "array.select": _elementwise,
    "array.dot": _product,
    "array.join": _joined,
    "array.gather": _gathered,
    "py.call_library": _loss,
    "vmap": _mapped,
    "pmap": _mapped,
    "scan": _mapped,
}
MEETING = tuple(_PAIRS)
"""The ops in which axes may meet."""
