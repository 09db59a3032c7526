"""The rule `replicas-start-apart`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import anything, behind, depends, through_ops, walk
from jaxaudit.analyses.replication import axes_reduced, is_copied
from jaxaudit.ir import Op, Program, Region, Value
from jaxaudit.ir.functions import OVER_DEVICES
from jaxaudit.ir.interfaces import Mapped
from jaxaudit.ir.ops import MOVING
from jaxaudit.rules.base import Example, Obligation, Rule, Step, proved, unknown

_HELD = through_ops("py.container", "py.attr", "py.unpack", "py.item", "device.place", "array.convert", "tree.leaf")
_MAPS = frozenset(("pmap", "vmap"))

_PROGRAM = """
def init(key):
    return jax.random.normal(key, (3,))


def step(w, x, y):
    grad = jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)
    return w - 0.1 * jax.lax.pmean(grad, "device")


train = jax.pmap(step, axis_name="device")


def run(key, batches):
    n = jax.local_device_count()
    {made}
    for x, y in batches:
        w = train(w, x, y)
    return w
"""


class ReplicasStartApart(Rule):
    """Devices average their gradients, but each of them starts from parameters of its own.

    ## What it does
    Finds every `pmap` that reduces the gradient by its parameters over the devices, and asks where these parameters
    come from. They have to be the same on all devices: copied, or made from one key.

    ## Why is this bad?
    The same update is added to different parameters: they never become equal. The averaged gradient is that of no
    network at all, and the one that is saved in the end has hardly been trained by it.

    ## Example
        params = jax.pmap(init)(jax.random.split(key, n))

    ## Use instead
        params = jax.tree.map(lambda v: jnp.stack([v] * n), init(key))

    ## When it cannot tell
    When the parameters are given from outside or come from code that was not read. Members that keep their gradients to
    themselves may start where they like, and are not listed.
    """

    summary = "Devices average their gradients, but each of them starts from parameters of its own."

    valid = (
        Example(_PROGRAM.format(made="w = jnp.stack([init(key)] * n)"), "copies"),
        Example(_PROGRAM.format(made="w = jax.pmap(init)(jnp.broadcast_to(key, (n, *key.shape)))"), "one key"),
    )
    invalid = (Example(_PROGRAM.format(made="w = jax.pmap(init)(jax.random.split(key, n))  #!"), "a key for each"),)

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List the parameters of every `pmap` whose gradients are reduced."""
        if program.front_end != "source":
            return
        for op in program.named("pmap"):
            axis = op.option("axis_name")
            if op.regions and isinstance(axis, str):
                pairs = [
                    (given, at) for param, given in Mapped(op).elements if (at := _reduced(op, param, axis, facts.flow))
                ]
                yield from (_judged(op, given, at, axis, facts.flow) for given, at in pairs)


def _reduced(op: Op, param: Value, axis: str, flow: Flow) -> Op | None:
    """Return where the gradient by a parameter is reduced over the devices."""
    inside = list(_ops(op.regions))
    for step in inside:
        by = (
            [step.operands[at] for at in step.differentiated or () if isinstance(at, int)]
            if step.name == "grad"
            else []
        )
        if any(one is param for one in walk(by, lambda one: behind(flow, one, _HELD))):
            slopes = step.results[len(step.regions[0].results) :]
            over = (one for one in inside if one.function in OVER_DEVICES and axis in (axes_reduced(one) or ()))
            return next((one for one in over if any(depends(flow, value, slopes) for value in one.operands)), None)
    return None


def _judged(op: Op, given: Value, reduced: Op, axis: str, flow: Flow) -> Obligation:
    if is_copied(flow, given):
        return proved(op.span, "all devices start from the same parameters")
    starts = [
        (made, one) for one in walk((given,), lambda one: _before(flow, one)) if (made := flow.maker(one)) is not None
    ]
    for made, value in starts:
        if made.name in _MAPS and made is not op and (keys := _keys(made, value, flow)) is not None:
            return _finding(made, keys, op, reduced, axis)
    return unknown(op.span, "whether all devices start from the same parameters is not known")


def _before(flow: Flow, value: Value) -> Iterable[Value]:
    """Return what a value was before, up to the map that made it."""
    op = flow.maker(value)
    return () if op is not None and op.name in _MAPS else behind(flow, value, _HELD)


def _keys(made: Op, value: Value, flow: Flow) -> Op | None:
    """Return the split that gives every element of a map a key of its own, by which it draws one of its results."""
    results = [inner for inner, outer in Mapped(made).stacked if outer is value]
    own = dict(Mapped(made).elements)
    stops = {*own}

    def drawn(one: Value) -> Iterable[Value]:
        op = flow.maker(one)
        return () if one in stops or (op is not None and op.name == "collective") else behind(flow, one, anything)

    found = list(walk(results, drawn))
    if not any((op := flow.maker(one)) is not None and op.name == "key.draw" for one in found):
        return None
    for param in (one for one in found if one in own):
        makers = (flow.maker(one) for one in walk((own[param],), lambda one: behind(flow, one, through_ops(*MOVING))))
        split = next((op for op in makers if op is not None and op.name == "key.split"), None)
        if split is not None and not is_copied(flow, own[param]):
            return split
    return None


def _ops(regions: Iterable[Region]) -> Iterator[Op]:
    inner = walk(regions, lambda region: (one for op in region.ops for one in op.regions))
    return (op for region in inner for op in region.ops)


def _finding(made: Op, keys: Op, op: Op, reduced: Op, axis: str) -> Obligation:
    return Obligation(
        made.span,
        message=f"every device along `{axis}` starts from parameters of its own, and gradients are shared",
        current="each of them is made from another key; the same update is then added to different parameters",
        expected="devices that share their gradients share their parameters from the start",
        steps=(
            *(Step(keys.span, "every device is given a key of its own") for _ in range(keys.span != made.span)),
            Step(op.span, "they are trained together here"),
            Step(reduced.span, f"the gradient is reduced over `{axis}`"),
        ),
        suggestion="make the parameters once and copy them to every device",
    )
