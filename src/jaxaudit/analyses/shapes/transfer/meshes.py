"""Meshes, specs and shardings, and what they make of the axes of arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jaxaudit.analyses.dims import UNKNOWN, Dim
from jaxaudit.analyses.domain import Read
from jaxaudit.analyses.labels import PLACED, Label
from jaxaudit.analyses.shapes.facts import DEVICES, NOTHING, Dims, Placing, ShapeFact, array
from jaxaudit.analyses.shapes.literals import array_like, shape_of
from jaxaudit.analyses.shapes.transfer.look import Look, Single, Transfer, single
from jaxaudit.ir import Argument, Op, Region, Value
from jaxaudit.ir.functions import OVER_DEVICES
from jaxaudit.ir.record import replace


def _spec(look: Look) -> ShapeFact:
    """Return what `PartitionSpec(...)` names for each axis of an array."""
    if look.has("*", "**"):
        return NOTHING
    parts = look.raw("partitions")
    return ShapeFact(placing=Placing(spec=tuple(map(_names, parts if isinstance(parts, tuple) else ()))))


def _names(entry: Argument) -> tuple[str, ...] | None:
    """Return the axes of a mesh that one entry of a spec names; None where they are not written out."""
    if entry is None:
        return ()
    parts = entry if isinstance(entry, tuple) else (entry,)
    return tuple(str(part) for part in parts) if all(isinstance(part, str) for part in parts) else None


def _made_mesh(look: Look) -> ShapeFact:
    return _mesh(look, shape_of(look.fact("axis_shapes")))


def _mesh(look: Look, sizes: Dims | None) -> ShapeFact:
    names = _names(look.raw("axis_names"))
    if not names:
        return NOTHING
    known = sizes if sizes is not None and len(sizes) == len(names) else (UNKNOWN,) * len(names)
    types = look.raw("axis_types")
    kinds = [str(one) for one in types] if isinstance(types, tuple) else []
    explicit = bool(kinds) and all(one.endswith(".Explicit") for one in kinds)
    return ShapeFact(placing=Placing(tuple(zip(names, known, strict=True)), explicit))


def _mesh_of_devices(look: Look) -> ShapeFact:
    devices = look.fact("devices")
    count = DEVICES.get(devices.symbol, NOTHING).number
    return _mesh(look, devices.dims if count is None else (count,))


def _sharding(look: Look) -> ShapeFact:
    mesh, spec = look.fact("mesh").placing, look.fact("spec").placed
    if spec is None:
        return NOTHING
    return ShapeFact(placing=spec if mesh is None else replace(mesh, spec=spec.spec))


MAKERS: Mapping[str, Single] = {
    "jax.sharding.PartitionSpec": _spec,
    "jax.make_mesh": _made_mesh,
    "jax.sharding.Mesh": _mesh_of_devices,
    "jax.sharding.NamedSharding": _sharding,
}
"""How each object that says where arrays live is made."""


def put(fact: ShapeFact, placing: Placing | None) -> ShapeFact:
    """Return an array that is spread as asked for: each of its axes knows the axes of the mesh it is split over."""
    if fact.each is not None:
        return replace(fact, each=put(fact.each, placing))
    if fact.dims is None:
        return fact
    spec = () if placing is None or placing.spec is None else placing.spec
    entries = [*spec, *[()] * len(fact.dims)]
    dims = (_marked(_unmarked(dim), "split", names or ()) for dim, names in zip(fact.dims, entries, strict=False))
    return replace(fact, dims=tuple(dims))


def unplaced(fact: ShapeFact) -> ShapeFact:
    """Return an array that was just made: the sizes it has of others say nothing of where it lives."""
    return fact if fact.dims is None else replace(fact, dims=tuple(map(_unmarked, fact.dims)))


def _marked(dim: Dim, kind: str, names: Sequence[str]) -> Dim:
    return dim.labelled(frozenset(Label(kind, name) for name in names))


def _unmarked(dim: Dim) -> Dim:
    kept = frozenset(label for label in dim.labels if label.kind not in PLACED)
    return dim if kept == dim.labels else Dim(dim.terms, kept)


def shard(fact: ShapeFact, placing: Placing | None, mesh: Placing | None) -> ShapeFact:
    """Return what one device has of an array, or of each of a list of them."""
    if fact.each is not None:
        return replace(fact, each=shard(fact.each, placing, mesh))
    if fact.dims is None or placing is None or placing.spec is None:
        return NOTHING
    entries = [*placing.spec, *[()] * len(fact.dims)]
    return replace(fact, dims=tuple(_shard(dim, names, mesh) for dim, names in zip(fact.dims, entries, strict=False)))


def _shard(dim: Dim, names: tuple[str, ...] | None, mesh: Placing | None) -> Dim:
    if names == ():
        return _unmarked(dim)
    size = UNKNOWN if names is None or mesh is None else dim // mesh.parts(names)
    return _marked(Dim(size.terms, _unmarked(dim).labels), "shard", names or ())


def gathered(fact: ShapeFact, placing: Placing | None, mesh: Placing | None) -> ShapeFact:
    """Return the whole array of which each device has a shard."""
    if fact.each is not None:
        return replace(fact, each=gathered(fact.each, placing, mesh))
    if fact.dims is None or placing is None or placing.spec is None:
        return NOTHING
    entries = [*placing.spec, *[()] * len(fact.dims)]
    wholes = [
        Dim((dim if not names or mesh is None else dim * mesh.parts(names)).terms, _unmarked(dim).labels)
        for dim, names in zip(fact.dims, entries, strict=False)
    ]
    return replace(fact, dims=tuple(wholes))


def placed(transfer: Transfer) -> Transfer:
    """Let an op put what it makes where `out_sharding` says; else a new array is nowhere in particular."""

    def run(op: Op, look: Look) -> Sequence[ShapeFact | None]:
        made = transfer(op, look)
        if look.has("out_sharding"):
            return [None if fact is None else put(fact, look.fact("out_sharding").placing) for fact in made]
        if op.name not in _NEW or look.function.endswith("_like"):
            return made
        return [None if fact is None else unplaced(fact) for fact in made]

    return run


_NEW = frozenset(("array.create", "key.draw", "array.numpy"))
OPS = _NEW | {"array.dot", "array.gather"}
"""The ops that take `out_sharding`, and those whose results live nowhere in particular without it."""


def enter(op: Op, region: Region, read: Read[ShapeFact], turn: int) -> Sequence[ShapeFact]:
    """Give the body of `shard_map` what one device has of each operand."""
    mesh, specs = mesh_of(op, read), _specs(op.placed_in, len(op.operands), read)
    return [shard(read(value), spec, mesh) for value, spec in zip(op.operands, specs, strict=True)]


def leave(op: Op, look: Look) -> Sequence[ShapeFact]:
    """Put together what the devices give."""
    results = op.regions[0].results
    mesh, specs = mesh_of(op, look.read), _specs(op.placed_out, len(results), look.read)
    return [gathered(look.read(value), spec, mesh) for value, spec in zip(results, specs, strict=True)]


def mesh_of(op: Op, read: Read[ShapeFact]) -> Placing | None:
    """Return the mesh that a `shard_map` runs on."""
    mesh = (op.options or {}).get("mesh")
    return read(mesh).placing if isinstance(mesh, Value) else None


def _specs(given: tuple[Value | None, ...] | None, count: int, read: Read[ShapeFact]) -> list[Placing | None]:
    known = given if given is not None and len(given) == count else (None,) * count
    return [None if value is None else read(value).placed for value in known]


def _collective(look: Look) -> ShapeFact:
    """Return what a collective gives: reductions over devices keep the shape, and are no shards any more."""
    base = array_like(look.first())
    if look.function == "axis_index":
        return array((), "int32")
    dims = None if base.dims is None else _exchanged(look, base.dims)
    whole_number = look.function == "pmean" and base.number is not None
    return NOTHING if dims is None else array(dims, None if whole_number else base.dtype)


def _exchanged(look: Look, dims: Dims) -> Dims | None:
    """Return the shape of what devices exchange; how many they are is not known here."""
    if look.function == "ppermute":
        return dims
    whole, rank, tiled = tuple(map(_unmarked, dims)), len(dims), look.raw("tiled") is True
    if look.function in OVER_DEVICES:
        return whole
    names = _EXCHANGED.get(look.function, ())
    places = [place for name in names if isinstance(place := look.raw(name) if look.has(name) else 0, int)]
    if len(places) != len(names) or not names or look.raw("tiled") not in (None, True, False):
        return None
    if look.function == "all_to_all" and not tiled:
        split, joined = places
        return _inserted(_removed(whole, split), joined, whole[split]) if -rank <= split < rank else None
    if look.function == "psum_scatter" and not tiled:
        return _removed(whole, places[0]) if rank else None
    if look.function == "all_gather" and not tiled:
        return _inserted(whole, places[0], UNKNOWN)
    changed = {place % rank for place in places} if rank else set()
    return tuple(UNKNOWN if at in changed else dim for at, dim in enumerate(whole))


def _removed(dims: Dims, place: int) -> Dims:
    at = place % len(dims)
    return (*dims[:at], *dims[at + 1 :])


def _inserted(dims: Dims, place: int, size: Dim) -> Dims:
    at = place % (len(dims) + 1)
    return (*dims[:at], size, *dims[at:])


_EXCHANGED = {
    "all_gather": ("axis",),
    "all_gather_invariant": ("axis",),
    "psum_scatter": ("scatter_dimension",),
    "all_to_all": ("split_axis", "concat_axis"),
}
"""The arguments that tell along which axes of an array a collective puts together or apart what devices have."""


TABLE: Mapping[str, Transfer] = {"collective": single(_collective)}
