"""The rule `layouts-disagree`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from jaxaudit.analyses.axes.meetings import Meeting, meetings, taken_sides
from jaxaudit.analyses.dims import ONE, UNKNOWN, Dim, product
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.regroup import groups
from jaxaudit.analyses.shapes import Context, Shapes
from jaxaudit.analyses.shapes.facts import Placing
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.ir.functions import PICKED_POSITIONS
from jaxaudit.ir.interfaces import Loop, moved
from jaxaudit.ir.values import REST, index_parts, is_whole
from jaxaudit.rules.axes._shared.phrases import name_of
from jaxaudit.rules.base import Example, Obligation, Raises, Rule, Step, proved

_PROGRAM = """from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((4,), ("x",), axis_types=(AxisType.Explicit,))
jax.set_mesh(mesh)
rows = jax.device_put(jnp.ones((8, 8)), NamedSharding(mesh, P("x", None)))
columns = jax.device_put(jnp.ones((8, 8)), NamedSharding(mesh, P(None, "x")))
{result}{mark}
"""


_ALL: Argument = {"start": None, "stop": None, "step": None}


class LayoutsDisagree(Rule):
    """Arrays with layouts that do not go together meet on an explicit mesh.

    ## What it does
    Follows over which axes of an explicit mesh the axes of arrays are split. Where arrays meet element by element,
    their layouts agree and no axis of the mesh splits two axes of the result; what is joined, chosen between or
    mapped has one layout. A product over an axis that both sides split says where its result lives
    (`out_sharding`), and so does what picks elements along a split axis or by indices that are split, and a
    reshape that puts a split axis behind another one or takes it apart across the devices. What is sorted, summed
    up or scanned along is whole on each device, and a loop ends with the layout that it began with.

    ## Why is this bad?
    On an explicit mesh layouts are part of types, and JAX raises. It shows only with several devices.

    ## Example
        h0 = jnp.zeros((batch, hidden))  # whole on every device
        jax.lax.scan(cell, h0, xs)  # the cell gives what is split over "data"

    ## Use instead
        h0 = jnp.zeros((batch, hidden), out_sharding=P("data", None))
        jax.lax.scan(cell, h0, xs)

    ## When it cannot tell
    When the mesh is not known to be explicit, nothing is listed.
    """

    summary = "Arrays with layouts that do not go together meet on an explicit mesh."
    may_raise = True
    always_raises = True
    needs = (Shapes,)

    valid = (
        Example(_PROGRAM.format(result='y = rows + jax.sharding.reshard(columns, P("x", None))', mark=""), "resharded"),
        Example(_PROGRAM.format(result='y = jnp.matmul(columns, rows, out_sharding=P("x", None))', mark=""), "said"),
        Example(_PROGRAM.format(result="y = rows.reshape(4, 2, 8), rows.reshape(-1)", mark=""), "the first axis"),
        Example(
            _PROGRAM.format(
                result="y = rows[:, 0] + rows[::-1, :3].sum(1), jnp.sort(rows, axis=1), jnp.cumsum(columns, axis=0)",
                mark="",
            ),
            "along the axis that is whole",
        ),
        Example(
            _PROGRAM.format(
                result="y = jnp.stack([rows, 2 * rows]), jnp.where(rows > 0, rows, 0.0), jax.vmap(jnp.dot)(rows, rows)",
                mark="",
            ),
            "of one layout",
        ),
        Example(
            _PROGRAM.format(
                result="v = rows[:, 0]\n"
                "y = v[None] - jax.sharding.reshard(v, P(None))[:, None], rows.at[0].get(out_sharding=P(None))",
                mark="",
            ),
            "brought to one layout, and said",
        ),
    )
    invalid = (
        Example(_PROGRAM.format(result="y = rows + columns", mark="  #!"), "rows and columns"),
        Example(_PROGRAM.format(result="v = rows[:, 0]\ny = v[None] - v[:, None]", mark="  #!"), "each with each"),
        Example(_PROGRAM.format(result="y = jnp.outer(rows[:, 0], columns[0])", mark="  #!"), "a product of all pairs"),
        Example(_PROGRAM.format(result="y = rows @ columns", mark="  #!"), "a result that one axis splits twice"),
        Example(_PROGRAM.format(result="y = rows[1:] - rows[:-1]", mark="  #!"), "a part of a split axis"),
        Example(_PROGRAM.format(result="y = rows.at[0].set(1.0)", mark="  #!"), "written into a split axis"),
        Example(_PROGRAM.format(result="y = jnp.take(rows, jnp.arange(3), axis=0)", mark="  #!"), "picked rows"),
        Example(_PROGRAM.format(result="y = jnp.cumsum(rows, axis=0)", mark="  #!"), "a sum that runs over devices"),
        Example(_PROGRAM.format(result="y = jax.lax.map(jnp.sin, rows)", mark="  #!"), "a loop over devices"),
        Example(_PROGRAM.format(result="y = jnp.where(rows > 0, rows, jnp.ones((8, 8)))", mark="  #!"), "chosen"),
        Example(_PROGRAM.format(result="y = jnp.concatenate([rows, jnp.ones((8, 1))], axis=1)", mark="  #!"), "joined"),
        Example(_PROGRAM.format(result="y = jax.vmap(jnp.dot)(rows, columns)", mark="  #!"), "mapped"),
        Example(
            _PROGRAM.format(result="y = jax.vmap(jnp.dot, in_axes=(0, None))(rows, columns[0])", mark="  #!"), "shared"
        ),
        Example(_PROGRAM.format(result="y = columns @ rows", mark="  #!"), "a sum over devices"),
        Example(_PROGRAM.format(result="y = columns.reshape(-1)", mark="  #!"), "behind a whole axis"),
        Example(_PROGRAM.format(result="y = jnp.reshape(rows, (2, 4, 8))", mark="  #!"), "across devices"),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every meeting of arrays that are split over an explicit mesh."""
        shapes = facts.get(Shapes)
        if program.front_end != "source" or not _is_explicit(program, shapes):
            return
        sizes = {name: size for mesh in _meshes(program, shapes) for name, size in mesh.axes or ()}
        for op in program.walk():
            for context in shapes.contexts(op):
                yield from _met(op, context)
                yield from _looked_up(op, context)
                yield from _reshaped(op, context, sizes)
                yield from _needed_whole(op, context)
                yield from _put_together(op, context, facts.flow)
            yield from _carried(op, shapes, facts.flow)


def _meshes(program: Program, shapes: Shapes) -> list[Placing]:
    made = (shapes.of(op.results[0]).placing for op in program.named("py.call_library") if op.results)
    return [one for one in made if one is not None and one.axes is not None and one.spec is None]


def _is_explicit(program: Program, shapes: Shapes) -> bool:
    """Whether every mesh of the program is explicit."""
    meshes = _meshes(program, shapes)
    return bool(meshes) and all(one.explicit for one in meshes)


def _splits(dim: Dim) -> frozenset[str]:
    return frozenset(label.name for label in dim.labels if label.kind == "split")


def _places(dims: tuple[Dim, ...]) -> dict[str, int]:
    """Return for each axis of the mesh which axis of an array it splits, counted from the back."""
    return {name: len(dims) - at for at, dim in enumerate(dims) for name in _splits(dim)}


def _is_refused_already(dims: tuple[Dim, ...]) -> bool:
    """Whether one axis of the mesh splits two axes of an array: what went wrong did so before."""
    return sum(map(len, map(_splits, dims))) > len(_places(dims))


def _met(op: Op, context: Context) -> Iterator[Obligation]:
    wrong = _crossed(op, context)
    if wrong:
        yield _finding(op, wrong, "bring one of them to the layout of the other with `jax.sharding.reshard` first")
        return
    for one in meetings(op, context):
        wrong = _refused(one)
        if wrong:
            yield _finding(op, wrong, "bring one of them to the layout of the other with `jax.sharding.reshard` first")
            return
        if _splits(one.left.dim) | _splits(one.right.dim):
            yield proved(op.span, "the layouts of what meets here go together")


def _refused(one: Meeting) -> str:
    left, right = _splits(one.left.dim), _splits(one.right.dim)
    sides = one.left.dims, one.right.dims
    if any(_is_refused_already(dims) for dims in sides):
        return ""
    if one.how == "contracted":
        open_ended = bool(left and right) and not one.op.has("out_sharding")
        return f"the axis that is summed over is split over {_told(left)}, without `out_sharding`" if open_ended else ""
    if one.how == "contracted" or (one.op.name == "array.dot" and one.op.has("out_sharding")):
        return ""
    if left and right and left != right:
        return f"one axis is split over {_told(left)} and over {_told(right)}"
    return ""


def _crossed(op: Op, context: Context) -> str:
    """Return what is wrong where one axis of the mesh splits two axes of what an op makes of several arrays."""
    if op.name not in ("array.map", "array.select", "array.dot") or op.has("out_sharding"):
        return ""
    given = [context.of(one).dims or () for one in op.operands]
    if any(map(_is_refused_already, given)):
        return ""
    where: dict[str, set[int]] = {}
    for places in _outer(op, given) if op.name == "array.dot" else map(_places, given):
        for name, place in places.items():
            where.setdefault(name, set()).add(place)
    twice = next((name for name, places in where.items() if len(places) > 1), None)
    return "" if twice is None else f"`{twice}` splits two different axes"


def _outer(op: Op, given: list[tuple[Dim, ...]]) -> Iterator[dict[str, int]]:
    """Return which axes of a product its factors split, where each has axes of its own there."""
    if len(given) != 2 or not all(given):
        return
    (*rows, inner), right = given
    if op.function == "outer" and len(given[0]) == len(right) == 1:
        yield _places((*rows, inner, ONE))
        yield _places(right)
    elif op.function == "matmul" and len(given[0]) == len(right) == 2:
        yield _places((*rows, ONE))
        yield _places((ONE, right[1]))


def _told(names: frozenset[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def _looked_up(op: Op, context: Context) -> Iterator[Obligation]:
    """Judge what is taken out of an array, or written into it, by position."""
    base, index = op.argument("base", "a", "arr"), op.argument("index", "indices")
    if op.name not in ("py.item", "array.gather", "array.scatter") or op.has("out_sharding", "**"):
        return
    dims = context.of(base).dims if isinstance(base, Value) else None
    if dims is None:
        return
    if op.name == "array.gather":
        axis = op.argument("axis")
        known = isinstance(axis, int) and -len(dims) <= axis < len(dims)
        parts = [*[_ALL] * (axis % len(dims)), index] if known and isinstance(axis, int) else []
    else:
        parts = [one for one in index_parts(index) if one is not None]
        rest = parts.index(REST) if REST in parts else len(parts)
        missing = len(dims) - len(parts) + (REST in parts)
        parts = [*parts[:rest], *[_ALL] * missing, *parts[rest + 1 :]]
    wrong = _picked(dims, parts, context)
    if wrong:
        yield _finding(op, wrong, "say where the result lives: `x.at[index].get(out_sharding=...)`, or reshard before")
    elif _places(dims) and parts:
        yield proved(op.span, "the axes that are split are taken as a whole")


def _picked(dims: tuple[Dim, ...], parts: Sequence[Argument], context: Context) -> str:
    """Return what is wrong where parts of an array are picked, axis by axis."""
    for dim, part in zip(dims, parts, strict=False):
        given = context.of(part).dims if isinstance(part, Value) else ()
        if given is None:
            return ""
        if _places(given):
            return f"the indices are split over {_told(frozenset(_places(given)))}"
        turned = isinstance(part, Mapping) and part.get("step") == -1
        if _splits(dim) and not is_whole(part) and not turned:
            return f"some elements are taken out of an axis that is split over {_told(_splits(dim))}"
    return ""


def _reshaped(op: Op, context: Context, sizes: Mapping[str, Dim]) -> Iterator[Obligation]:
    """Judge axes that are put together, or taken apart, where one of them is split over the mesh."""
    base = moved(op) if op.name == "array.reshape" and not op.has("out_sharding") else None
    old, new = context.of(base).dims, context.of(op.results[0]).dims if op.results else None
    if base is None or not old or not new:
        return
    for parts, places in groups(old, new):
        split = [at for at, dim in enumerate(parts) if _splits(dim)]
        names = frozenset(name for at in split for name in _splits(parts[at]))
        if not split or (len(parts) > 1 and len(places) > 1):
            continue
        first, count = new[places[0]].constant, product(sizes.get(name, UNKNOWN) for name in names).constant
        wrong = ""
        if len(parts) > 1 and split[-1] >= len(split):
            wrong = f"the axes that are put together here are split over {_told(names)} behind one that is whole"
        elif len(places) > 1 and first is not None and count is not None and len(names) == 1 and first % count:
            wrong = (
                f"the axis that is taken apart here is split over {_told(names)}: {count} devices, and {first} parts"
            )
        if wrong:
            yield _finding(op, wrong, "say where the result lives: `jnp.reshape(x, shape, out_sharding=...)`")
        elif len(places) == 1 or count is not None:
            yield proved(op.span, "the first of the axes alone is split, and keeps its layout")


def _put_together(op: Op, context: Context, flow: Flow) -> Iterator[Obligation]:
    """Judge arrays that JAX puts side by side, which have one layout: it brings none of them to that of the others."""
    given = list(_side_by_side(op, context))
    for (first, mine), (second, other) in pairwise(given):
        if mine == other:
            continue
        if (mine and other) or _is_placed(second if mine else first, context, flow):
            told = [f"over {_told(frozenset(one))}" if one else "over nothing" for one in (mine, other)]
            wrong = f"layouts do not go together here: one array is split {told[0]}, another one {told[1]}"
            yield _finding(op, wrong, "give both the same layout: `jax.sharding.reshard`, or `out_sharding=...`")
            return
    mapped = {name for _, places in given for name in places} if op.name == "vmap" else set[str]()
    shared = [value for value, axis in zip(op.operands, op.in_axes or (), strict=False) if axis is None]
    if any(not mapped.isdisjoint(_places(context.of(value).dims or ())) for value in shared):
        wrong = f"what all elements of a map share is split over {_told(frozenset(mapped))}, as the mapped axis is"
        yield _finding(op, wrong, "reshard what is shared, so that every device has all of it")


def _is_placed(value: Value, context: Context, flow: Flow) -> bool:
    """Whether the layout of an array is surely the one that is known: it is split, put somewhere or new."""
    made = origin(flow, value, {}).op
    new = made is not None and made.name in ("array.create", "key.draw", "device.place")
    return new or bool(_places(context.of(value).dims or ()))


def _side_by_side(op: Op, context: Context) -> Iterator[tuple[Value, dict[str, int]]]:
    """Return arrays that an op takes for one, each with the axes that the mesh splits."""
    if op.name == "vmap":
        for side in taken_sides(op, context.of):
            yield side.value, dict.fromkeys(_splits(side.dim), 0)
        return
    named = op.argument("arrays", "tup") if op.name == "array.join" else (op.argument("x"), op.argument("y"))
    if op.name in ("array.join", "array.select") and isinstance(named, tuple):
        known = [(one, context.of(one).dims or ()) for one in named if isinstance(one, Value)]
        if len({len(dims) for _, dims in known}) == 1 and (
            op.name == "array.join" or len(set(map(_sizes, known))) == 1
        ):
            yield from ((value, _places(dims)) for value, dims in known)


def _sizes(one: tuple[Value, tuple[Dim, ...]]) -> tuple[int | None, ...]:
    return tuple(dim.constant for dim in one[1])


def _needed_whole(op: Op, context: Context) -> Iterator[Obligation]:
    """Judge whether the axis that an op goes along, element after element, is on each device as a whole."""
    for value, place in _gone_along(op, context):
        dims = context.of(value).dims or ()
        split = _splits(dims[place]) if -len(dims) <= place < len(dims) else frozenset[str]()
        if split:
            wrong = f"the axis that `{op.function or op.name}` goes along is split over {_told(split)}"
            yield _finding(op, wrong, "reshard it first, so that every device has all of this axis")
        elif _places(dims):
            yield proved(op.span, "the axis that it goes along is whole on each device")


def _gone_along(op: Op, context: Context) -> Iterator[tuple[Value, int]]:
    """Return the arrays of which an op needs one axis in its order, with that axis."""
    if op.name in ("scan", "map"):
        carried = op.carry or 0
        yield from ((value, 0) for value in op.operands[carried:])
    elif op.name in ("array.order", "array.scan") and op.function not in PICKED_POSITIONS and op.operands:
        base = op.operands[0]
        dims = context.of(base).dims or ()
        given = op.argument("axis", "dimension") if op.has("axis", "dimension") else -1 if len(dims) == 1 else None
        if op.name == "array.order" and not op.has("axis", "dimension"):
            given = -1
        if isinstance(given, int):
            yield base, given


def _carried(op: Op, shapes: Shapes, flow: Flow) -> Iterator[Obligation]:
    """Judge whether a loop ends with the layout that it began with."""
    loop = Loop.of(op) if op.name in ("scan", "fori", "while") else None
    ends = () if loop is None else loop.body.results
    for one in () if loop is None else loop.carried:
        start, end = shapes.of(one.start).dims, shapes.of(ends[one.position]).dims
        if start is None or end is None or len(start) != len(end) or not _places(end):
            continue
        made = origin(flow, one.start, {}).op
        if _places(start) == _places(end):
            yield proved(op.span, f"{name_of(one.start)} keeps its layout")
        elif made is not None and made.name == "array.create" and not _places(start):
            wrong = f"the loop begins with {name_of(one.start)}, which is whole on every device, and ends with what is "
            wrong += f"split over {_told(frozenset(_places(end)))}"
            steps = (Step(made.span, "it is made here, without a layout"),)
            yield _finding(op, wrong, "give it the layout that the body makes: `out_sharding=...`", steps)


def _finding(op: Op, wrong: str, suggestion: str, steps: tuple[Step, ...] = ()) -> Obligation:
    return Obligation(
        op.span,
        message=wrong if wrong.startswith("the ") else f"layouts do not go together here: {wrong}",
        current="layouts are part of types on an explicit mesh, and JAX refuses this",
        expected="arrays that meet on an explicit mesh have layouts that agree",
        raises=Raises.TRACING,
        steps=steps,
        suggestion=suggestion,
    )
