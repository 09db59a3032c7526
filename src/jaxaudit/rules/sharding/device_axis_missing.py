"""The rule `device-axis-missing`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.dims import Dim
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.mapped import axes_of
from jaxaudit.ir import Op, Program, Value
from jaxaudit.libraries.lookup import playing
from jaxaudit.rules.axes._shared.phrases import name_of
from jaxaudit.rules.base import Example, Obligation, Rule, Step, proved, unknown

_MADE = {
    **dict.fromkeys(playing("module.init"), "the variables of a module"),
    **dict.fromkeys(playing("train_state.create"), "a training state"),
}
"""What makes a tree whose leaves have their own axes first, and no axis of devices."""

_LOCAL = 8
"""How many devices a program may rightly count on without asking: one host rarely has more."""

_PROGRAM = """import flax.linen as nn
from flax import jax_utils

model = nn.Dense(3)
n = jax.local_device_count()


def main(key):
    params = {given}
    run = jax.pmap(model.apply)
    return run(params, jnp.ones((n, 8, 4))){mark}
"""


class DeviceAxisMissing(Rule):
    """`pmap` maps an argument that has no axis of devices.

    ## What it does
    Looks at what every `pmap` maps over its first axis: parameters and training states that come straight
    from the function that made them, arrays without axes, and arrays with more entries than there are `devices=`.

    ## Why is this bad?
    `pmap` takes one slice for each device along the first axis of every leaf. Parameters as they were made have their
    own axes first, of different sizes, and counters have none: the call raises, far from where they were made.

    ## Example
        params = model.init(key, x)
        jax.pmap(model.apply)(params, batches)

    ## Use instead
        params = jax_utils.replicate(model.init(key, x))
        jax.pmap(model.apply)(params, batches)

    ## When it cannot tell
    When an argument comes from code that was not read, or passes through a function that may give it the axis.
    """

    summary = "`pmap` maps an argument that has no axis of devices."
    always_raises = True
    needs = (Shapes,)

    valid = (
        Example(
            _PROGRAM.format(given="jax_utils.replicate(model.init(key, jnp.ones((1, 4))))", mark=""), "one copy each"
        ),
        Example(
            "n = jax.local_device_count()\n"
            "y = jax.pmap(lambda w, x: w * x, in_axes=(None, 0))(jnp.ones(()), jnp.ones((n, 4)))\n",
            "not mapped",
        ),
    )
    invalid = (
        Example(_PROGRAM.format(given="model.init(key, jnp.ones((1, 4)))", mark="  #!"), "as they were made"),
        Example(
            "n = jax.local_device_count()\ny = jax.pmap(lambda w, x: w * x)(jnp.ones(()), jnp.ones((n, 4)))  #!\n",
            "a number",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List everything that a `pmap` maps over its first axis."""
        shapes = facts.get(Shapes)
        # What was traced went through.
        maps = [op for op in program.named("pmap") if op.regions] if shapes.look is None else []
        flow = facts.flow
        yield from (one for op in maps for one in _judge(op, flow, shapes))


def _judge(op: Op, flow: Flow, shapes: Shapes) -> Iterator[Obligation]:
    most = _most_devices(op, flow)
    for value, axis in zip(op.operands, axes_of(op), strict=False):
        if axis != 0:
            continue
        made = origin(flow, value, {}).op
        what = _MADE.get(made.qualified, "") if made is not None else ""
        fact = shapes.of(value)
        if made is not None and what and not _is_mapped(made, flow):
            yield _finding(op, value, f"{what}, as it was made", made)
        elif fact.dims == () and fact.number is None:
            yield _finding(op, value, "one number", made)
        elif fact.dims and most is not None and (fact.dims[0].constant or 0) > most:
            yield _finding(op, value, f"one of {fact.dims[0].constant} entries for {most} devices", made)
        elif fact.dims and (fact.dims[0].constant or 0) > _LOCAL and _has_devices(op, shapes):
            yield _finding(op, value, f"a batch of {fact.dims[0].constant} beside copies for each device", made)
        elif fact.dims and _is_of_devices(fact.dims[0]):
            yield proved(op.span, f"{name_of(value)} has one entry for each device first")
        elif fact.dims != ():
            yield unknown(op.span, f"whether {name_of(value)} has one entry for each device first is not known")


def _has_devices(op: Op, shapes: Shapes) -> bool:
    """Whether something that is mapped has one entry for each device, however many there are."""
    firsts = [dims[0] for value in op.operands if (dims := shapes.of(value).dims)]
    return any(map(_is_of_devices, firsts))


def _is_of_devices(dim: Dim) -> bool:
    return any(label.kind == "devices" for label in dim.labels)


def _most_devices(op: Op, flow: Flow) -> int | None:
    """Return how many devices there are at most, where `devices=` is the beginning of a list of them."""
    chosen = (op.options or {}).get("devices")
    cut = origin(flow, chosen, {}).op if isinstance(chosen, Value) else None
    index = cut.arguments.get("index") if cut is not None and cut.name == "py.item" else None
    stop = index.get("stop") if isinstance(index, Mapping) else None
    return stop if isinstance(stop, int) and stop > 0 else None


def _is_mapped(op: Op, flow: Flow) -> bool:
    """Whether an op runs under a map, which gives what it makes another axis."""
    around = (holder for _, holder in flow.places.up(flow.places.region_of[op]))
    return any(holder is not None and holder.name in ("vmap", "pmap", "scan", "map") for holder in around)


def _finding(op: Op, value: Value, what: str, made: Op | None) -> Obligation:
    return Obligation(
        op.span,
        message=f"`pmap` takes a slice for each device from {name_of(value)}, which is {what.rstrip()}",
        current="its first axis, if it has one, is not that of the devices; the call raises",
        expected="every mapped argument has one entry for each device first",
        steps=() if made is None else (Step(made.span, "it is made here, without an axis of devices"),),
        suggestion="replicate it first (`flax.jax_utils.replicate`), or give it the entry `None` in `in_axes`",
    )
