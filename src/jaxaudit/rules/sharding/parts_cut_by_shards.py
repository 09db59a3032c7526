"""The rule `parts-cut-by-shards`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.dims import Dim, constant, same
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.labels import Label
from jaxaudit.analyses.shapes import Context, Shapes
from jaxaudit.analyses.shapes.facts import as_number
from jaxaudit.analyses.shapes.mapped import place_of
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import moved
from jaxaudit.rules.base import Example, Obligation, Rule, Step, proved
from jaxaudit.rules.sharding._shared.placements import specs_naming

_PROGRAM = """from jax.sharding import PartitionSpec as P

mesh = jax.make_mesh((4,), ("model",))


def mix(w, x):
    gate, up = {taken}{mark}
    return jax.nn.silu(gate) * up


def run(gate, up, x):
    w = {fused}
    return jax.shard_map(mix, mesh=mesh, in_specs=({spec}, P()), out_specs=P(None, "model"))(w, x)


y = run(jnp.ones((8, 32)), jnp.zeros((8, 32)), jnp.ones((2, 8)))
"""


class PartsCutByShards(Rule):
    """An axis that was put together of parts is spread over devices, and each device takes its share for all parts.

    ## What it does
    Follows axes that `concatenate` and its kin made of several arrays, through specs into the body of a `shard_map`.
    Where such an axis is spread over the mesh, a device has a stretch of the whole, and not a stretch of each part: it
    cannot be split into the parts again.

    ## Why is this bad?
    The sizes fit. With three parts on four devices the first has columns of the queries alone, and takes thirds of them
    for queries, keys and values.

    ## Example
        w = jnp.concatenate([gate, up], axis=1)
        # in_specs: P(None, "model")
        gate, up = jnp.split(x @ w, 2, axis=-1)

    ## Use instead
        w = jnp.stack([gate, up])
        # in_specs: P(None, None, "model")
        gate, up = x @ w

    ## When it cannot tell
    When specs or shapes are not known. An axis that was made in one piece is not listed: its columns have no order yet.
    """

    summary = "An axis that was put together of parts is spread over devices, and split into its parts there."
    needs = (Shapes,)

    valid = (
        Example(
            _PROGRAM.format(taken="x @ w", mark="", fused="jnp.stack([gate, up])", spec='P(None, None, "model")'),
            "parts have an axis of their own",
        ),
    )
    invalid = (
        Example(
            _PROGRAM.format(
                taken="jnp.split(x @ w, 2, axis=-1)",
                mark="  #!",
                fused="jnp.concatenate([gate, up], axis=1)",
                spec='P(None, "model")',
            ),
            "parts one behind the other",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every axis of joined parts that a device takes apart."""
        if program.front_end != "source" or next(program.named("shard_map"), None) is None:
            return
        shapes = facts.get(Shapes)
        for op in program.named("array.split", "array.reshape", "py.item"):
            base = moved(op)
            for context in shapes.contexts(op) if base is not None else ():
                dims = context.of(base).dims or ()
                for place, dim in enumerate(dims):
                    whole = next((label for label in dim.labels if label.kind == "joined"), None)
                    if whole is not None and _takes_apart(op, context, place, dims, len(whole.factors)):
                        yield _judged(op, dim, whole, facts, shapes)


def _takes_apart(op: Op, context: Context, place: int, dims: tuple[Dim, ...], parts: int) -> bool:
    """Whether an op takes an axis apart into as many parts as it was made of."""
    if op.name == "array.split":
        axis, cuts = op.argument("axis"), op.argument("indices_or_sections")
        along = place_of(axis if isinstance(axis, int) else 0, len(dims)) == place
        return along and (len(cuts) + 1 if isinstance(cuts, tuple) else cuts) == parts
    if op.name == "array.reshape":
        made = context.of(op.results[0]).dims or ()
        return len(made) == len(dims) + 1 and made[:place] == dims[:place] and made[place].constant == parts
    index = op.argument("index")
    entries = index if isinstance(index, tuple) else (index,)
    written = [isinstance(one, str) for one in entries]
    if True in written:
        at = written.index(True)
        entries = (*entries[:at], *[None] * (len(dims) - len(entries) + 1), *entries[at + 1 :])
    cut = entries[place] if place < len(entries) else None
    ends = [cut.get("start"), cut.get("stop")] if isinstance(cut, Mapping) else []
    numbers = [as_number(context.of(one)) for one in ends if isinstance(one, Value | int)]
    borders = [dims[place].plain() * constant(count) // constant(parts) for count in range(1, parts)]
    return any(one is not None and same(one, border) for one in numbers for border in borders)


def _judged(op: Op, dim: Dim, whole: Label, facts: Facts, shapes: Shapes) -> Obligation:
    axis = next((label.name for label in dim.labels if label.kind == "shard"), None)
    if axis is None or whole.op is None:
        return proved(op.span, "every device has all of the axis that is taken apart here")
    flow = facts.flow
    around = (holder for _, holder in flow.places.up(flow.places.region_of[op]))
    maps = [one for one in around if one is not None and one.name == "shard_map"]
    return Obligation(
        op.span,
        message=f"{len(whole.factors)} parts are taken from a share of an axis that is spread over `{axis}` as a whole",
        current=f"the parts stand one behind the other along the axis, and `{axis}` cuts across them",
        expected="each device has a share of every part",
        steps=(
            Step(whole.op.span, "the parts are put one behind the other here"),
            *(step for one in maps for step in specs_naming(one, axis, flow, shapes)),
        ),
        suggestion="give the parts an axis of their own (`jnp.stack`), and spread the axis within each of them",
    )
