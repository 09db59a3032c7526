"""Where a program says how arrays are spread over devices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from jaxaudit.analyses.dims import Dim, evaluate
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.replication import axes_split
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.facts import Placing, ShapeFact
from jaxaudit.analyses.shapes.transfer.meshes import mesh_of
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Step

_FORCED = "xla_force_host_platform_device_count="
_CPU_DEVICES = "jax_num_cpu_devices"


class Placement(NamedTuple):
    """An array that is put somewhere, or taken to be there."""

    op: Op
    value: Value
    fact: ShapeFact
    placing: Placing
    said: Value
    """The spec or sharding."""


def placements(program: Program, shapes: Shapes) -> Iterator[Placement]:
    """Return every array of which the program says where it lives, with the specs that are known."""
    for op in program.named("device.place"):
        said = op.argument("device", "out_shardings", "shardings")
        array = next(iter(op.arguments.values()), None)
        if isinstance(said, Value) and isinstance(array, Value):
            yield from _known(op, array, said, shapes, None)
    for op in program.named("jit", "shard_map"):
        mesh = mesh_of(op, shapes.of)
        for values, places in ((op.operands, op.placed_in), (op.regions[0].results, op.placed_out)):
            inside = op.name == "shard_map" and values is not op.operands
            for value, said in zip(values, places or (), strict=False):
                if said is not None and not inside:
                    yield from _known(op, value, said, shapes, mesh)


def _known(op: Op, value: Value, said: Value, shapes: Shapes, mesh: Placing | None) -> Iterator[Placement]:
    placing = shapes.of(said).placed
    if placing is not None and placing.spec is not None:
        whole = placing if placing.axes is not None or mesh is None else Placing(mesh.axes, mesh.explicit, placing.spec)
        fact = shapes.of(value)
        yield Placement(op, value, fact if fact.each is None else fact.each, whole, said)


def devices_asked_for(program: Program) -> dict[str, int]:
    """Return how many devices the program itself asks for before JAX starts, by the name of their number."""
    for op in (*program.named("py.set_item"), *program.named("py.call_library")):
        texts = [str(one) for one in op.arguments.values() if isinstance(one, str | int)]
        numbers = [text.partition(_FORCED)[2].split() for text in texts if _FORCED in text]
        numbers += [texts[1:]] if texts[:1] == [_CPU_DEVICES] else []
        if numbers and numbers[0] and numbers[0][0].isdigit():
            return dict.fromkeys(("jax.device_count()", "jax.local_device_count()"), int(numbers[0][0]))
    return {}


def number_of(dim: Dim, known: dict[str, int]) -> int | None:
    """Return a size as a number, where it is one or counts devices."""
    return dim.constant if dim.constant is not None else evaluate(dim, known) if dim.known else None


def where_made(flow: Flow, said: Value) -> Op | None:
    """Return the op that makes a spec, of which a sharding may be made leaf by leaf."""
    made = origin(flow, said, {}).op
    while made is not None:
        if made.name == "tree.map" and made.operands:
            whole, results = flow.maker(made.operands[0]), made.regions[0].results
            at = made.results.index(said) - len(results) if said in made.results else -1
            inner = whole.operands[at] if whole is not None and 0 <= at < len(whole.operands) else None
        else:
            inner = made.argument("spec")
        if not isinstance(inner, Value):
            return made
        said, made = inner, origin(flow, inner, {}).op
    return made


def specs_naming(op: Op, axis: str, flow: Flow, shapes: Shapes) -> tuple[Step, ...]:
    """Return where the specs are made that spread what a `shard_map` is given over an axis."""
    named = zip(op.placed_in or (), axes_split(op.placed_in, shapes), strict=False)
    made = [where_made(flow, said) for said, axes in named if said is not None and axis in (axes or ())]
    return tuple(Step(one.span, f"the axis is spread over `{axis}` here") for one in dict.fromkeys(made) if one)
