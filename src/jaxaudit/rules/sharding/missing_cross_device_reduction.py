"""The rule `missing-cross-device-reduction`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.replication import Spread, left_unequal
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.rules.base import Example, Obligation, Rule, Step, proved, unknown

_PROGRAM = """from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

mesh = jax.make_mesh((4,), ("data",), axis_types=(AxisType.Auto,))


def loss(w, x):
    return {result}{mark}


mapped = jax.shard_map(loss, mesh=mesh, in_specs=(P(), P("data")), out_specs=P(), check_vma=False)
jax.jit(mapped)(jnp.ones((2, 3)), jnp.ones((8, 2)))
"""


class MissingCrossDeviceReduction(Rule):
    """Devices keep different values of what is declared equal.

    ## What it does
    Follows what every `shard_map` is given, from `in_specs` through its body, and asks of each result whether
    it differs along an axis of the mesh that `out_specs` does not name.

    ## Why is this bad?
    A result whose spec does not name an axis is taken to be equal along it. JAX checks that, unless the check is turned
    off (`check_vma=False`): then what one device has computed of its shard is taken for the whole, without a word.

    ## Example
        def loss(w, x):
            return jnp.mean((x @ w) ** 2)  # of this device's rows


        jax.shard_map(loss, mesh=mesh, in_specs=(P(), P("data")), out_specs=P(), check_vma=False)

    ## Use instead
        def loss(w, x):
            return jax.lax.pmean(jnp.mean((x @ w) ** 2), "data")

    ## When it cannot tell
    When the specs are not known, when values are sent around (`ppermute`, `all_to_all`), come back into a loop, or pass
    through code that was not read.
    """

    summary = "Devices keep different values of what is declared equal."
    needs = (Shapes,)

    valid = (Example(_PROGRAM.format(result='jax.lax.pmean(jnp.mean((x @ w) ** 2), "data")', mark=""), "reduced"),)
    invalid = (
        Example(_PROGRAM.format(result="jnp.mean((x @ w) ** 2)", mark="  #!"), "of one device"),
        Example(
            _PROGRAM.format(result="w - 0.1 * jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w)", mark="  #!"),
            "a step along the gradient of one device",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every result of every `shard_map` that was traced."""
        shapes = facts.get(Shapes) if program.front_end == "source" else None
        yield from (one for op in program.named("shard_map") if not op.backward for one in _judge(op, shapes))


def _judge(op: Op, shapes: Shapes | None) -> Iterator[Obligation]:
    results = left_unequal(op, shapes)
    if results is not None and shapes is None and op.check is not False:
        yield proved(op.span, "JAX has checked that what leaves this `shard_map` as equal is equal on all devices")
    elif results is not None:
        yield from (_verdict(op, value, spread) for value, spread in results)


def _verdict(op: Op, value: Value, spread: Spread) -> Obligation:
    what = f"`{value.name}`" if value.name else "a result"
    if spread.open:
        told = ", ".join(f"`{axis}`" for axis in sorted(spread.open))
        return unknown(value.span, f"whether {what} is equal along {told} cannot be told")
    if not spread.sure:
        return proved(value.span, f"{what} is equal on all devices, or leaves with the axis along which it differs")
    axis = min(spread.sure)
    parts = [part for part in spread.parts if part.axis == axis]
    return Obligation(
        value.span,
        message=f"{what} leaves `shard_map` as equal along `{axis}`, but each device has computed its own",
        current=f"`out_specs` does not name `{axis}`, and nothing reduces over it: with its check off, JAX takes what "
        "one device has computed for all",
        expected="the shards are reduced, or the output is declared sharded",
        steps=(
            *(Step(op.span, "the function is called for all devices here") for _ in range(op.span != value.span)),
            *(Step(part.op.span, f"this is {part.how.value} along `{axis}`") for part in parts),
            *(Step(part.by.span, "its parts are used as the whole here") for part in parts if part.by is not None),
        ),
        suggestion=f"reduce it with `jax.lax.pmean` or `psum` over '{axis}', or name '{axis}' in `out_specs`; with "
        "the check on, JAX refuses this",
    )
