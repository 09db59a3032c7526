"""Exceptions about devices: meshes, specs, collectives, donated buffers."""

from __future__ import annotations

import re

from jaxaudit.frontends.jaxpr.exceptions.locate import spec_call
from jaxaudit.frontends.jaxpr.exceptions.model import Explanation, Facts, Row, rows


def _indivisible(facts: Facts, match: re.Match[str]) -> Explanation:
    spec, axis, parts, size, shape = match.groups()
    if "pmap" in " ".join(facts.inner):
        return Explanation(
            "device-axis-missing",
            f"`pmap` splits axis {axis} of an array of shape {shape} over {parts} devices",
            current=f"the call stops with an exception: that axis has size {size}",
            expected=f"the leading axis of every mapped argument is the device axis, of size {parts}",
            suggestion="reshape to `(n_devices, per_device, ...)`, in this order",
        )
    return Explanation(
        "spec-does-not-fit",
        f"the sharding P{spec} splits axis {axis} of size {size} into {parts} equal parts",
        current=f"the call stops with an exception: {parts} does not divide {size} (shape {shape})",
        expected=f"the sharded axis has a size that {parts} divides, which is most often the batch",
        suggestion="name the mesh axis at the position of the batch axis, or pad the axis",
        span=spec_call(facts, spec),
        steps=((facts.span, "an array of that shape gets this sharding here"),) if facts.span else (),
    )


def _spec_rank(facts: Facts, match: re.Match[str]) -> Explanation:
    return Explanation(
        "spec-does-not-fit",
        _spec_told(facts.message) or "a PartitionSpec has more entries than the array has axes, or sizes do not divide",
        expected="one entry at most for each axis of the array, and sizes that the devices divide",
        suggestion="shorten the spec to the rank of the array, or name another axis; `P()` for a single number",
    )


_LONG = re.compile(
    r"(in_specs|out_specs)\S* is P(\(.*?\)) which has length (\d+), but .*?(?:parameter '(\w+)'.*?|)has shape "
    r"(\S+), which has rank (\d+)",
    re.DOTALL,
)
_UNEVEN = re.compile(
    r"the passed args\[\d+\](\S*) of shape (\S+), where .*?parameter '(\w+)'.*?of value (P\(.*?\)), "
    r"which maps array axis (\d+) \(of size (\d+)\) to mesh axis '(\w+)' \(of size (\d+)\)|"
    r"parameter '(\w+)'.*?array axis (\d+) \(of size (\d+)\)",
    re.DOTALL,
)


def _spec_told(message: str) -> str:
    long, uneven = _LONG.search(message), _UNEVEN.search(message)
    if long:
        what = f"`{long[4]}`" if long[4] else "the output"
        return f"`{long[1]}` P{long[2]} has {long[3]} entries, but {what} is {long[5]} with {long[6]} axes"
    if uneven and uneven[3]:
        leaf, axis, count = f"`{uneven[3]}{uneven[1]}` ({uneven[2]})", uneven[5], uneven[8]
        return f"`{uneven[4]}` splits axis {axis} of {leaf} over {count} devices of `{uneven[7]}`, unevenly"
    return f"a spec splits axis {uneven[10]} of `{uneven[9]}`, of size {uneven[11]}, unevenly" if uneven else ""


def _deleted(facts: Facts, match: re.Match[str]) -> Explanation:
    return Explanation(
        "used-after-donation",
        f"an array that was donated to a compiled function is used again{_deleted_type(match[1])}",
        current="the use stops with an exception: the buffer was given away with `donate_argnums`",
        expected="after the call only the result is used",
        suggestion="use the new array that the function gave back, or do not donate this argument",
    )


def _deleted_type(told: str) -> str:
    found = re.search(r"\w+\[[\d,]*\]", told)
    return f": {found[0]}" if found else ""


ROWS = (
    *rows(
        r"""
current: the call stops with an exception
NameError: [Uu]nbound axis name: (\w+)
    unbound-axis-name: a collective names the axis `{1}`, which nothing around it binds
    current: tracing stops with an exception
    expected: the name is that of the `vmap`, `pmap` or `shard_map` around the collective
    suggestion: use the name the transformation has, or give it `axis_name='{1}'`
any: global size of its dimension (\d+) should be divisible by (\d+), but it is equal to (\d+)
    spec-does-not-fit: a sharding splits axis {1} of size {3} into {2} equal parts
    current: the call stops with an exception: {2} does not divide {3}
    expected: the sharded axis has a size that the number of devices divides
    suggestion: name the mesh axis at the position of the batch axis, or pad the axis
ValueError: Resource axis: (\w+) of .*? is not found in mesh: (\([^)]*\))
    spec-does-not-fit: a PartitionSpec names the axis `{1}`, but the mesh has {2}
    current: making the sharding stops with an exception
    expected: specs use the names of the mesh
    suggestion: use a name of the mesh, or add the axis to the mesh
ValueError: prefix pytree shard_map (\w+) has a subtree of type \w+ of length (\d+), but .* of length (\d+)
    spec-does-not-fit: `{1}` of `shard_map` has {2} entries for {3} values
    expected: one spec for all of them, or one for each
    suggestion: give `{1}` as many entries as there are values
ValueError: in_specs passed to shard_map: (P\(.*?\)) does not match the specs of the input: (P\(.*?\))
        for arg: (\S+?)\.\s
    explicit-sharding-conflict: `in_specs` says {1}, but the argument {3} comes sharded as {2}
    expected: arguments that are sharded as `in_specs` says: this mesh has explicit axes
    suggestion: leave `in_specs` out, `jax.reshard` the argument before, or make the mesh with
        `axis_types=(AxisType.Auto,)`
ValueError: which require replication which can't be statically inferred
    missing-cross-device-reduction: `out_specs` says the output is the same on every device, but each device computes
        its own
    current: tracing stops with an exception: nothing in the body makes the shards agree
    expected: the shards are reduced, or the output is declared sharded
    suggestion: reduce with `lax.pmean` or `lax.psum` over the mesh axis, or name the axis in `out_specs`; where the
        body does make them equal (`all_gather`), say so with `check_vma=False`
ShardingTypeError:
    explicit-sharding-conflict: the shardings of the operands do not say how the result is to be sharded
    current: {said}
    expected: operands whose shardings agree, or an explicit choice
    suggestion: say it with `out_sharding=` (indexing: `x.at[i].get(out_sharding=...)`), or `reshard` one
ValueError: Received incompatible devices for jitted computation\. (.*)
    mixed-devices: arrays that live on different devices meet in one operation
    current: {1}
    expected: all operands are on the same devices
    suggestion: move them to one device with `jax.device_put` first, or keep them sharded over one mesh
any: Attempt to donate the same buffer twice in Execute\(\) \(flattened argument (\d+), .*?first use: (\d+)\)
    used-after-donation: one array is donated twice: it is leaf {2} and leaf {1} of the arguments
    current: the call stops with an exception: the buffer can be given away only once
    expected: every donated array is given once
    suggestion: copy one of them, such as a target or an average of the parameters: `jax.tree.map(jnp.copy, params)`
ValueError: shard_map (\w+) argument must refer to an axis marked as manual \(frozenset\(\{(.*?)\}\)\), but:\s*\w+\S*
        refers to '(\w+)'
    spec-does-not-fit: `{1}` names the axis `{3}`, but the mesh has {2}
    expected: specs use the names of the mesh
    suggestion: use a name of the mesh, or add the axis to the mesh
ValueError: Mesh requires the ndim of its first argument .* devices\.ndim == (\d+) and len\(axis_names\) == (\d+)
    spec-does-not-fit: a mesh of {2} names is made of an array of devices with {1} axes
    current: making the mesh stops with an exception
    expected: one name for each axis of the array of devices
    suggestion: `jax.make_mesh((2, 4), ('data', 'model'))`, or reshape the devices
any: P(\(.*?\)) has duplicate entries for `(\w+)`
    spec-does-not-fit: the spec P{1} splits two axes over the same mesh axis `{2}`
    current: making the sharding stops with an exception
    expected: each mesh axis once at most
    suggestion: use another mesh axis, or None, for one of them
ValueError: spec=P(\(.*?\)),.*is only valid for values of rank at least (\d+), but was applied to a value of rank (\d+)
    spec-does-not-fit: the spec P{1} has entries for {2} axes, but the array has {3}
    expected: one entry at most for each axis of the array
    suggestion: shorten the spec
RuntimeError: requires a non-empty mesh in context
    spec-does-not-fit: a bare PartitionSpec is used where no mesh is set
    expected: a mesh around the call, or a sharding that holds one
    suggestion: `with jax.set_mesh(mesh):` around it, or `NamedSharding(mesh, P(...))`
ValueError: pjit (in_shardings|out_shardings) .*?(?:length (\d+) for an args tuple of length (\d+)|of length (\d+), but
        the full pytree .* of length (\d+))
    spec-does-not-fit: `{1}` has {2}{4} entries for {3}{5} values
    expected: one sharding for all, or one for each
    suggestion: give `{1}` as many entries as there are values
ValueError: pmap requires at least one argument with a mapped axis
    device-axis-missing: nothing that `pmap` is given has a device axis
    expected: an argument whose leading axis has one element a device
    suggestion: stack or reshape to `(n_devices, ...)`
ValueError: Number of devices (\d+) must (?:be >=|equal) the product of mesh_shape (\([^)]*\))
    script-failed: a mesh of shape {2} is made, but there are {1} devices
    current: making the mesh stops with an exception
    expected: as many devices as the sizes of the mesh multiply to
    suggestion: run with `--devices N` to simulate them on the CPU, or compute the shape from `jax.device_count()`
any: requires (\d+) (?:logical devices|replicas), but only (\d+)
    device-axis-missing: `pmap` needs {1} devices, one for each element of the leading axis, but there are {2}
    expected: the leading axis of every mapped argument is the device axis
    suggestion: reshape to `(n_devices, per_device, ...)`, or run with more devices (`--devices`)
ValueError: pmap got inconsistent sizes
    device-axis-missing: `pmap` maps axes of different sizes
    current: {said}
    expected: the leading axis of every mapped argument is the device axis
    suggestion: give every argument the device axis, or `in_axes=None` for those that are shared
"""
    ),
    Row(
        r"spec=P(?:artitionSpec)?(\(.*?\)), memory_kind.*?array axis (\d+) is partitioned (\d+) times, "
        r"but the dimension size is (\d+) \(full shape: (\([^)]*\))",
        _indivisible,
    ),
    Row(r"shard_map applied to the function .*?(?:evenly divisible|rank|length)", _spec_rank),
    Row(r"(?:Array|Buffer) has been deleted(?: with shape=)?(.*)", _deleted, ("RuntimeError", "ValueError")),
)

COLLECTIVE_ROWS = rows(
    r"""
current: tracing stops with a bare AssertionError
AssertionError: ^()$
    unbound-axis-name: a collective in `shard_map` names an axis that the mesh does not have
    expected: the name of an axis of the mesh
    suggestion: use the name that the mesh has
"""
)
"""Rows that hold only on a line with a collective: JAX says nothing there."""

PMAP_ROWS = rows(
    r"""
current: the call stops with an exception whose text is about squeezing
ValueError: cannot select an axis to squeeze out.*got shape=(\([^)]*\))
    device-axis-missing: `pmap` is given a leading axis that is not the number of devices: a multiple of it (each
        device got a block of shape {1} for its 1)
    expected: the leading axis of every mapped argument has one element a device
    suggestion: reshape to `(n_devices, per_device, ...)`
"""
)
"""Rows that hold only inside `pmap`."""
