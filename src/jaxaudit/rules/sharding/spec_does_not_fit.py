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
from jaxaudit.ir.trees import Tree
from jaxaudit.rules.axes._shared.phrases import name_of
from jaxaudit.rules.base import Obligation, Raises, Rule, Step, proved, unknown
from jaxaudit.rules.prefixes import is_matched, over_arguments, over_results, places, written, written_at
from jaxaudit.rules.pytrees._shared.crossing import is_called, traced_arguments
from jaxaudit.rules.sharding._shared.placements import Placement, devices_asked_for, number_of, placements, where_made
from jaxaudit.rules.trees import Misfit
from jaxaudit.spans import Span


class SpecDoesNotFit(Rule):
    """A spec does not fit the array or the mesh it is for.

    ## What it does
    Compares every `PartitionSpec` with the array that it is used for (`device_put`, `reshard`,
    `with_sharding_constraint`, the shardings of `jit`, the `in_specs` of `shard_map`): it has no more entries than the
    array has axes, names axes of the mesh, each once, and the devices along them divide the axis of the array. Compares
    trees of shardings and specs with the arguments and results that they speak of: one entry for each.

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

    ## no entry for one of the arguments
    from jax.sharding import NamedSharding, PartitionSpec as P
    mesh = jax.make_mesh((4,), ("data",))
    whole, rows = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
    run = jax.jit(lambda w, s, x: (w * x.sum(), s + 1), in_shardings=(whole, rows))  #!
    y = run(jnp.zeros(8), jnp.zeros(4), jnp.zeros(64))

    ## no entry for one of the results
    from jax.sharding import PartitionSpec as P
    mesh = jax.make_mesh((4,), ("data",))
    run = jax.shard_map(lambda x: (x, x.sum(), 1), mesh=mesh, in_specs=P("data"), out_specs=(P("data"), P()))  #!
    y = run(jnp.zeros(64))

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
        for op in program.named("jit", "shard_map"):
            yield from _spoken_of(op, shapes) if is_called(op) else ()
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


def _spoken_of(op: Op, shapes: Shapes) -> Iterator[Obligation]:
    """Compare trees of shardings and specs with the arguments and results that they speak of."""
    span = written_at(op)
    for option in ("in_shardings", "in_specs"):
        prefix, given = written(op, option), traced_arguments(op)
        if prefix is not None and given is not None:
            names, trees = zip(*given, strict=True) if given else ((), ())
            fits = is_matched(prefix, Tree("tuple", children=trees)) or is_matched(prefix, Tree("list", children=trees))
            yield _entries(op, span, option, over_arguments(op, option, trees, names), fits)
    for option in ("out_shardings", "out_specs"):
        if (prefix := written(op, option)) is not None and op.returned is not None:
            found = over_results(op, option, lambda tree: _is_array(tree, shapes))
            yield _entries(op, span, option, found, is_matched(prefix, op.returned))


def _is_array(tree: Tree, shapes: Shapes) -> bool:
    return tree.kind == "number" or (tree.value is not None and shapes.of(tree.value).dims is not None)


def _entries(op: Op, span: Span, option: str, found: Misfit | None, fits: bool) -> Obligation:
    if found is None and fits:
        return proved(span, f"`{option}` has an entry for each of what it speaks of")
    if found is None:
        return unknown(span, f"not all parts are known that `{option}` speaks of")
    return Obligation(
        span,
        message=str(found),
        current=f"{found}; this raises",
        expected="one entry for all, or a tree with one for each argument or result",
        raises=Raises.TRACING,
        steps=(*places(op, option), Step(op.span, "the function is called here")),
        suggestion=f"give `{option}` one entry for each, in their order",
    )


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
