"""The rule `spec-does-not-fit`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from jaxaudit.analyses.dims import Dim
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.broadcast import shape_text
from jaxaudit.analyses.shapes.subscripts import shortest
from jaxaudit.ir import Op, Program
from jaxaudit.rules.axes._shared.phrases import name_of
from jaxaudit.rules.base import Obligation, Raises, Rule, Step, proved, unknown
from jaxaudit.rules.sharding._shared.placements import Placement, devices_asked_for, number_of, placements, where_made


class SpecDoesNotFit(Rule):
    """A spec does not fit the array or the mesh it is for.

    ## What it does
    Compares every `PartitionSpec` with the array that it is used for (`device_put`, `reshard`,
    `with_sharding_constraint`, the shardings of `jit`, the `in_specs` of `shard_map`): it has no more entries than the
    array has axes, names axes of the mesh, each once, and the devices along them divide the axis of the array.

    ## Why is this bad?
    JAX raises, for the last batch of an epoch after hours. On one device nothing is split, and nothing is seen.

    ## Example
        mesh = jax.make_mesh((4,), ("model",))
        table = jax.device_put(jnp.zeros((1002, 64)), NamedSharding(mesh, P("model", None)))

    ## Use instead
        table = jax.device_put(jnp.zeros((1002, 64)), NamedSharding(mesh, P(None, "model")))

    ## When it cannot tell
    When the mesh, the spec or the shape of the array is not known.
    """

    summary = "A spec does not fit the array or the mesh it is for."
    may_raise = True
    always_raises = True
    needs = (Shapes,)

    valid = """
    ## the devices divide the axis
    from jax.sharding import NamedSharding, PartitionSpec as P
    mesh = jax.make_mesh((4,), ("model",))
    table = jax.device_put(jnp.zeros((1002, 64)), NamedSharding(mesh, P(None, "model")))
    """
    invalid = """
    ## the devices do not divide the axis
    from jax.sharding import NamedSharding, PartitionSpec as P
    mesh = jax.make_mesh((4,), ("model",))
    table = jax.device_put(jnp.zeros((1002, 64)), NamedSharding(mesh, P("model", None)))  #!

    ## more entries than axes
    from jax.sharding import NamedSharding, PartitionSpec as P
    mesh = jax.make_mesh((4,), ("model",))
    bias = jax.device_put(jnp.zeros(64), NamedSharding(mesh, P(None, "model")))  #!

    ## an axis that the mesh does not have
    from jax.sharding import NamedSharding, PartitionSpec as P
    mesh = jax.make_mesh((4,), ("model",))
    run = jax.jit(lambda x: x * 2, in_shardings=NamedSharding(mesh, P("data")))
    y = run(jnp.zeros(64))  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every array that is spread by a spec."""
        if program.front_end != "source":
            return
        shapes, known = facts.get(Shapes), devices_asked_for(program)
        for one in placements(program, shapes):
            wrong = _refused(one, known)
            if wrong:
                yield _finding(one, wrong, facts.flow)
            elif not any(one.placing.spec or ()):
                yield proved(one.op.span, f"{name_of(one.value)} is whole on every device")
            elif one.fact.dims is None or not all(_is_settled(one, at, known) for at in range(len(one.fact.dims))):
                yield unknown(one.op.span, f"whether the devices divide the axes of {name_of(one.value)} is not known")
            else:
                yield proved(one.op.span, f"the spec of {name_of(one.value)} fits its shape and the mesh")


def _refused(one: Placement, known: dict[str, int]) -> str:
    """Say why JAX refuses a spec; nothing where it does not, or that cannot be told."""
    spec, dims, axes = one.placing.spec or (), one.fact.dims, one.placing.axes
    named = Counter(name for names in spec for name in names or ())
    strange = [name for name in named if axes is not None and name not in dict(axes)]
    if strange:
        return f"names `{strange[0]}`, and the mesh has {', '.join(f'`{name}`' for name, _ in axes or ())}"
    twice = [name for name, count in named.items() if count > 1]
    if twice:
        return f"names `{twice[0]}` twice"
    if dims is not None and len(spec) > len(dims):
        return f"has {len(spec)} entries, and the array is {shape_text(dims)}"
    for dim, names in zip(dims or (), spec, strict=False):
        count = number_of(one.placing.parts(names), known) if names else None
        for size, which in ((number_of(dim, known), "has"), (shortest(dim), "has in the end")):
            if count and size and size % count:
                return f"splits an axis over {count} devices that {which} {size} entries"
    return ""


def _is_settled(one: Placement, at: int, known: dict[str, int]) -> bool:
    """Whether nothing is open about one axis of an array."""
    spec = one.placing.spec or ()
    names = spec[at] if at < len(spec) else ()
    if names == () or names is None:
        return names is not None
    dims: tuple[Dim, ...] = one.fact.dims or ()
    return number_of(one.placing.parts(names), known) is not None and number_of(dims[at], known) is not None


def _finding(one: Placement, wrong: str, flow: Flow) -> Obligation:
    made = where_made(flow, one.said)
    steps = [Step(made.span, "the spec is made here")] if made is not None and made.span != one.op.span else []
    cuts = [label.op for dim in one.fact.dims or () for label in dim.labels if label.kind == "piece" and label.op]
    steps += [Step(_loop(op, flow).span, "the last turn has fewer rows") for op in cuts]
    return Obligation(
        one.op.span,
        message=f"the spec of {name_of(one.value)} {wrong}",
        current="JAX refuses to spread the array",
        expected="a spec has an entry for each axis at most, and the devices along it divide the axis",
        raises=Raises.TRACING,
        steps=tuple(steps),
        suggestion="split an axis that the devices divide, drop or pad the last rows, or leave the entry `None`",
    )


def _loop(op: Op, flow: Flow) -> Op:
    """Return the loop that an op stands in."""
    around = (holder for _, holder in flow.places.up(flow.places.region_of[op]))
    return next((holder for holder in around if holder is not None and holder.name == "py.loop"), op)
