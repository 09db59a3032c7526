"""The rule `local-gradient-applied`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Set
from functools import partial

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import ahead, walk
from jaxaudit.analyses.replication import is_checked
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.functions import SAME_ON_ALL_DEVICES
from jaxaudit.ir.interfaces import made_inside
from jaxaudit.ir.record import record
from jaxaudit.ir.values import texts_in
from jaxaudit.rules.base import Example, Obligation, Rule, Step, proved, unknown
from jaxaudit.rules.gradients._shared.optimizers import APPLIES, Applied, applied, by_hand, made_as, own_results
from jaxaudit.rules.sharding._shared.homes import home
from jaxaudit.spans import Span

_PROGRAM = """
import optax

OPT = optax.adam(1e-3)


def loss_fn(params, x):
    return jnp.mean((x @ params) ** 2)


def step(params, state, x):
    loss, grads = jax.value_and_grad(loss_fn)(params, x)
    {reduced} = jax.lax.pmean({reduced}, "device")
    updates, state = OPT.update(grads, state){mark}
    return optax.apply_updates(params, updates), state, loss


train = jax.pmap(step, axis_name="device")
"""


class LocalGradientApplied(Rule):
    """A gradient is applied that each device has of its own data alone, though the step reduces over the devices.

    ## What it does
    Where a function reduces a loss or a gradient over a named axis, every gradient that it applies has to be reduced
    over that axis too. So have all gradients that functions of one file reduce over an axis that they share.

    ## Why is this bad?
    Each device, or each mapped copy, then goes its own way: parameters that began equal drift apart, and the averaged
    loss does not show it. What is saved in the end is one copy that has seen a part of the data.

    ## Example
        loss, grads = jax.value_and_grad(loss_fn)(params, x)
        loss = jax.lax.pmean(loss, "device")
        updates, state = optimizer.update(grads, state)

    ## Use instead
        loss, grads = jax.value_and_grad(loss_fn)(params, x)
        loss, grads = jax.lax.pmean((loss, grads), "device")
        updates, state = optimizer.update(grads, state)

    ## When it cannot tell
    When the loss is reduced inside the function that is differentiated, or the gradient was not followed. A step that
    reduces nothing is not listed: its copies may be meant to learn apart.
    """

    summary = "A gradient of one device's data is applied, though the step reduces over the devices."

    valid = (
        Example(_PROGRAM.format(reduced="grads", mark=""), "reduced"),
        Example(_PROGRAM.replace('    {reduced} = jax.lax.pmean({reduced}, "device")\n', "").format(mark=""), "apart"),
    )
    invalid = (
        Example(_PROGRAM.format(reduced="loss", mark="  #!"), "only the loss is reduced"),
        Example(
            "def step(loss, state, x):\n"
            "    (_, metrics), grads = jax.value_and_grad(loss, has_aux=True)(state.params, x)\n"
            "    metrics = jax.tree.map(lambda one: jax.lax.pmean(one, 'device'), metrics['numbers'])\n"
            "    return state.apply_gradients(grads=grads), metrics  #!\n",
            "only what stands beside the loss, whatever the loss and the state are",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every gradient that is applied in a function that reduces over a named axis."""
        if program.front_end != "source" or next(program.named("collective"), None) is None:
            return
        flow = facts.flow
        calls = [call for call in applied(program, flow) if call.op.qualified not in APPLIES]
        steps = [_followed(flow, call, leaf) for call in calls for leaf in _leaves(flow, call.gradients)]
        written = [(call, leaf) for call in by_hand(program, flow) for leaf in _leaves(flow, call.gradients)]
        derived = _derived(flow, {leaf for _, leaf in written})
        followed = (_followed(flow, call, leaf) for call, leaf in written if leaf in derived)
        steps += [step for step in followed if _renews(flow, step)]
        yield from (one for step in steps for one in _judged(step, steps, flow))


@record
class _Step:
    """A gradient that is applied: the derivatives it comes from, and the reductions it came through."""

    call: Applied
    leaf: Value
    """What is applied: all gradients, or one of them."""
    derivatives: tuple[Op, ...]
    reductions: tuple[Op, ...]

    @property
    def axes(self) -> set[str]:
        """The axes that the gradient is reduced over."""
        return {name for op in self.reductions for name in texts_in(op.arguments.get("axis_name"))}


def _leaves(flow: Flow, argument: Argument) -> Iterator[Value]:
    """Return the gradients one by one; a dict that a loop fills stays one, for its keys are no gradients."""
    for value in values_in(argument):
        made = flow.maker(value)
        known = made is not None and made.name == "py.container" and not made.has("keys", "values")
        yield from _leaves(flow, made.operands) if made is not None and known else (value,)


def _is_reduction(op: Op) -> bool:
    return op.name == "collective" and op.function in SAME_ON_ALL_DEVICES


def _followed(flow: Flow, call: Applied, leaf: Value) -> _Step:
    """Follow what is applied back to the derivative, through whatever changes it."""
    makers = [op for value in walk((leaf,), partial(_before, flow)) if (op := flow.maker(value)) is not None]
    derivatives = dict.fromkeys(op for op in makers if op.name == "grad")
    return _Step(call, leaf, tuple(derivatives), tuple(op for op in makers if _is_reduction(op)))


def _before(flow: Flow, value: Value) -> Iterator[Value]:
    made = made_as(flow, value)
    op = flow.maker(made)
    if made is not value:
        yield made
    elif op is not None and op.name != "grad":
        yield from op.operands
        yield from (inner for region in op.regions for inner in made_inside(op, region, value))


def _derived(flow: Flow, leaves: Set[Value]) -> Set[Value]:
    """Return the values that derivatives lead to, of all that some values are made of: of most numbers none is."""
    ahead: defaultdict[Value, list[Value]] = defaultdict(list)
    derivatives: list[Value] = []
    for value in walk(leaves, partial(_before, flow)):
        for one in _before(flow, value):
            ahead[one].append(value)
        made = flow.maker(value)
        derivatives += [value] if made is not None and made.name == "grad" else []
    return set(walk(derivatives, lambda one: ahead.get(one, ())))


def _renews(flow: Flow, step: _Step) -> bool:
    """Whether `p - rate * g` is about the very parameters that the gradient was taken by."""
    changed = {origin(flow, one, {}).value for one in values_in(step.call.params)}
    by = (op.operands[at] for op in step.derivatives for at in op.differentiated or () if isinstance(at, int))
    return any(origin(flow, one, {}).value in changed for one in by)


def _judged(step: _Step, steps: list[_Step], flow: Flow) -> Iterator[Obligation]:
    made = flow.maker(step.leaf)
    alone = made is not None and made.name in ("py.item", "py.attr")
    span = made.span if made is not None and alone else step.call.op.span
    witnesses = [op for one in steps if _run_together(step, one, flow) for op in one.reductions]
    witnesses += [op for derivative in step.derivatives for op in _of_loss(derivative, flow)]
    missing = {
        name: op for op in witnesses for name in texts_in(op.arguments.get("axis_name")) if name not in step.axes
    }
    if not step.derivatives or not witnesses:
        return
    if not missing:
        yield proved(span, "the gradient is reduced over every axis that its step reduces over")
    elif any(map(_reduces_inside, step.derivatives)) or _binds_shards(step.call.op, flow):
        yield unknown(span, "whether the gradient is reduced already where it is taken is not known")
    else:
        yield _finding(step, span, *min(missing.items(), key=lambda item: item[0]))


def _run_together(step: _Step, other: _Step, flow: Flow) -> bool:
    """Whether two gradients are applied in one function, or in one file by functions that both reduce."""
    if flow.places.function_of(step.call.op) is flow.places.function_of(other.call.op):
        return True
    return step.call.op.span.path == other.call.op.span.path and not step.axes.isdisjoint(other.axes)


def _of_loss(derivative: Op, flow: Flow) -> Iterator[Op]:
    """Return the reductions of what the function itself gives: its loss, and what it returns beside."""

    def passes(op: Op) -> bool:
        taken_apart = op.name in ("py.unpack", "py.item", "py.attr")
        return not op.regions and not _is_reduction(op) and (taken_apart or op.name.startswith("array."))

    def after(value: Value) -> Iterator[Value]:
        return ahead(flow, value, passes)

    own = derivative.results[: own_results(derivative)]
    found = (op for value in walk(own, after) for op in flow.readers.get(value, ()) if _is_reduction(op))
    # What a later map over devices does with the results says nothing of this one.
    return (op for op in found if home(flow, op) is home(flow, derivative))


def _reduces_inside(derivative: Op) -> bool:
    """Whether the function that is differentiated has a reduction of its own."""
    regions = walk(derivative.regions, lambda region: (inner for op in region.ops for inner in op.regions))
    return any(_is_reduction(op) for region in regions for op in region.ops)


def _binds_shards(op: Op, flow: Flow) -> bool:
    """Whether a checked `shard_map` is around: there JAX adds up the gradient of what all devices share by itself."""
    holders = (holder for _, holder in flow.places.up(flow.places.region_of[op]))
    return any(holder is not None and holder.name == "shard_map" and is_checked(holder) for holder in holders)


def _finding(step: _Step, span: Span, axis: str, witness: Op) -> Obligation:
    return Obligation(
        span,
        message=f"the gradient that is applied here is not reduced over `{axis}`",
        current=f"each copy along `{axis}` applies the gradient of its own data, and their parameters drift apart",
        expected=f"the gradient is averaged over `{axis}` before it is applied, as `{witness.function}` does elsewhere",
        steps=(
            Step(step.derivatives[0].span, "the gradient is taken here, of the data of one copy"),
            Step(witness.span, f"the same step reduces over `{axis}` here"),
        ),
        suggestion=f'`grads = jax.lax.pmean(grads, "{axis}")` before the update',
    )
