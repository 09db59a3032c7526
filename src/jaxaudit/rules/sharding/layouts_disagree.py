"""The rule `layouts-disagree`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.axes.meetings import Meeting, meetings
from jaxaudit.analyses.dims import UNKNOWN, Dim, product
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.regroup import groups
from jaxaudit.analyses.shapes import Context, Shapes
from jaxaudit.analyses.shapes.facts import Placing
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import Loop, moved
from jaxaudit.rules.axes._shared.phrases import name_of
from jaxaudit.rules.base import Example, Obligation, Raises, Rule, Step, proved

_PROGRAM = """from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((4,), ("x",), axis_types=(AxisType.Explicit,))
jax.set_mesh(mesh)
rows = jax.device_put(jnp.ones((8, 8)), NamedSharding(mesh, P("x", None)))
columns = jax.device_put(jnp.ones((8, 8)), NamedSharding(mesh, P(None, "x")))
{result}{mark}
"""


class LayoutsDisagree(Rule):
    """Arrays with layouts that do not go together meet on an explicit mesh.

    ## What it does
    Follows over which axes of an explicit mesh the axes of arrays are split. Where two arrays meet element by element,
    their layouts agree; a product over an axis that both sides split says where its result lives (`out_sharding`), and
    so does a lookup in a table whose rows are split, and a reshape that puts a split axis behind another one or takes
    it apart across the devices; a loop ends with the layout that it began with.

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
    )
    invalid = (
        Example(_PROGRAM.format(result="y = rows + columns", mark="  #!"), "rows and columns"),
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


def _met(op: Op, context: Context) -> Iterator[Obligation]:
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
    if any(sum(map(len, map(_splits, dims))) > len(_places(dims)) for dims in sides):
        # What went wrong did so before.
        return ""
    if one.how == "contracted":
        open_ended = bool(left and right) and not one.op.has("out_sharding")
        return f"the axis that is summed over is split over {_told(left)}, without `out_sharding`" if open_ended else ""
    if one.how != "elementwise" or one.op.name != "array.map":
        return ""
    if left and right and left != right:
        return f"one axis is split over {_told(left)} and over {_told(right)}"
    first, second = map(_places, sides)
    twice = [name for name in first if name in second and first[name] != second[name]]
    return f"`{twice[0]}` splits two different axes" if twice else ""


def _told(names: frozenset[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def _looked_up(op: Op, context: Context) -> Iterator[Obligation]:
    """Judge the rows of a table that are taken by indices."""
    base, index = op.argument("base", "a"), op.argument("index", "indices")
    if op.name not in ("py.item", "array.gather") or not isinstance(index, Value) or op.has("out_sharding"):
        return
    rows, wanted = context.of(base).dims, context.of(index).dims
    if rows and wanted and op.argument("axis") in (None, 0) and _splits(rows[0]) and any(map(_splits, wanted)):
        wrong = f"the rows are split over {_told(_splits(rows[0]))} and the indices are split too"
        yield _finding(op, wrong, "say where the result lives: `table.at[indices].get(out_sharding=...)`")


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
