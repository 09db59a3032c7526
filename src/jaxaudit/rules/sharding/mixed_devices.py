"""The rule `mixed-devices`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import Answers, behind, holders, made_of, nothing, operands_of, through_ops, walk
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import given_as
from jaxaudit.ir.ops import ARRAYS, CALCULATING, LOOPS, PYTHON_LOOPS, SELECTED
from jaxaudit.rules.axes._shared.phrases import name_of
from jaxaudit.rules.base import Example, Obligation, Raises, Rule, Step, proved, unknown

_PROGRAM = """
actor, learner = jax.devices()[0], jax.devices()[1]


@jax.jit
def update(params, batch):
    return params - 0.1 * batch.mean(axis=0)


def main():
    params = jax.device_put(jnp.ones(4), learner)
    batch = jax.device_put(jnp.ones((8, 4)), {where})
    return update(params, batch){mark}
"""


class MixedDevices(Rule):
    """Arrays that were put on different devices meet.

    ## What it does
    Follows arrays that `device_put` has put on one device of `jax.devices()`, and what is computed of them. Those that
    meet in an operation or in a compiled call are on one device.

    ## Why is this bad?
    JAX does not move what was put somewhere on purpose: it raises. With a single device nothing is seen.

    ## Example
        params = jax.device_put(params, jax.devices()[1])
        batch = jax.device_put(batch, jax.devices()[0])
        update(params, batch)

    ## Use instead
        batch = jax.device_put(batch, jax.devices()[1])
        update(params, batch)

    ## When it cannot tell
    When a device is not one of a list by a constant, or arrays come from code that was not read.
    """

    summary = "Arrays that were put on different devices meet."
    may_raise = True
    always_raises = True
    needs = ()

    valid = (Example(_PROGRAM.format(where="learner", mark=""), "one device"),)
    invalid = (
        Example(_PROGRAM.format(where="actor", mark="  #!"), "two devices"),
        Example(
            """
            def main(x, w):
                first, second = jax.devices()[:2]
                return jax.device_put(x, second) @ jax.device_put(w, first)  #!
            """,
            "two devices of a list that is taken apart",
        ),
        Example(
            """
            def main(members, x):
                devices = jax.devices()
                placed = [jax.device_put(one, devices[i % len(devices)]) for i, one in enumerate(members)]
                return jnp.stack([one @ x for one in placed])  #!
            """,
            "one device after the other",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every meeting of arrays of which one was put on a device."""
        flow = facts.flow
        puts = {op: device for op in program.named("device.place") if (device := _device(op, flow)) is not None}
        if program.front_end != "source" or not puts:
            return

        def home_of(value: Value, ask: Callable[[Value], _Home]) -> _Home:
            return _home(value, ask, puts, flow)

        homes = Answers(home_of, otherwise=_NOWHERE)
        for op in program.walk():
            if op.name != "jit" and (op.name not in _MEETING or _is_compiled(op, flow)):
                continue
            found = {value: home for value in op.operands if (home := homes(value)) is not None and len(home) == 1}
            listed = [home for value, home in found.items() if _is_listed(value, home, flow)]
            sure = {device for home in found.values() for device in home if isinstance(device, int)}
            if len(sure) > 1 or (op.name == "array.join" and listed):
                yield _finding(op, found, puts)
            elif found and len(set(found.values())) == 1 and all(flow.maker(value) in puts for value in op.operands):
                yield proved(op.span, "what meets here was put on one device")
            elif found:
                yield unknown(op.span, "where the others live that meet here is not known")


_Device = int | Op
"""One device of a list: by its place, or, by what takes it from the list, another in every turn of a loop."""

_Home = frozenset[_Device] | None
"""Where an array was put; None where that is not known, and nothing where it may go anywhere."""

_NOWHERE: _Home = frozenset()
_MEETING = CALCULATING | {"array.join", "array.select"}


def _device(op: Op, flow: Flow) -> _Device | None:
    """Return the device that an op puts an array on; None where it is not one of a list."""
    said = op.argument("device")
    made = _made(said, flow) if isinstance(said, Value) else None
    if made is not None and made.qualified == "jax.sharding.SingleDeviceSharding":
        said = next(iter(made.operands), None)
        made = _made(said, flow) if isinstance(said, Value) else None
    if made is None or made.name not in ("py.item", "py.element", "py.unpack"):
        return None
    first = _first_of_list(made.argument("base", "iterable"), flow)
    if first is None or made.name == "py.element":
        return None if first is None else made
    index = made.argument("index") if made.name == "py.item" else _unpacked_at(made, said)
    if isinstance(index, Value):
        return made if _is_counted(index, flow) else None
    if not isinstance(index, int):
        return None
    return index + first if index >= 0 else index


def _is_counted(index: Value, flow: Flow) -> bool:
    """Whether a position is another one in every turn of a loop."""
    for one in walk((index,), lambda one: operands_of(flow, one, through_ops("array.map"))):
        made, entry = flow.maker(one), flow.entered(one)
        number = entry is not None and entry.op.name in PYTHON_LOOPS and one is entry.region.params[0]
        if number or (made is not None and made.name == "py.element"):
            return True
    return False


def _unpacked_at(op: Op, value: object) -> int | None:
    """Return the position of a variable that a list is unpacked into, where no star stands before it."""
    at = next((at for at, one in enumerate(op.results) if one is value), None)
    return None if at is None or (op.star is not None and op.star <= at) else at


def _made(value: Value, flow: Flow) -> Op | None:
    """Return what made a value, which may be that of a module."""
    made = origin(flow, value, {}).op
    held = made.constant if made is not None and made.name == "py.global" else None
    return origin(flow, held, {}).op if isinstance(held, Value) else made


def _first_of_list(value: object, flow: Flow) -> int | None:
    """Return at which device a list of devices begins; None where it is none."""
    made = _made(value, flow) if isinstance(value, Value) else None
    cut = made.argument("index") if made is not None and made.name == "py.item" else None
    first = 0
    if made is not None and isinstance(cut, Mapping):
        start, step = cut.get("start"), cut.get("step")
        first = 0 if start is None else start if isinstance(start, int) and start >= 0 and step is None else -1
        made = _made(made.operands[0], flow)
    listed = made is not None and made.qualified in ("jax.devices", "jax.local_devices")
    return first if listed and first >= 0 else None


def _home(value: Value, ask: Callable[[Value], _Home], puts: Mapping[Op, _Device], flow: Flow) -> _Home:
    op = flow.maker(value)
    if op is not None and op.name == "device.place":
        return frozenset((puts[op],)) if op in puts else None
    if op is not None and (op.name == "jit" or op.name in ARRAYS | _MEETING):
        given = [ask(one) for one in op.operands]
        known = [home for home in dict.fromkeys(given) if home]
        # Those that meet are in one place, or JAX raises.
        turns = [home for home in known if not all(isinstance(device, int) for device in home)]
        if known:
            return known[0] if len(known) == 1 else next(iter(turns), None)
        return None if None in given else _NOWHERE
    if op is not None and (op.name in SELECTED or (op.name == "py.container" and len(op.operands) == 1)):
        base = op.operands[0] if op.operands else None
        return None if base is None else ask(base)
    region = flow.places.owner.get(value) if op is None else None
    loop = None if region is None else next((one for one in holders(flow, region) if one.name in LOOPS), None)
    # What a loop carries is in its first turn what it was given.
    first = region is not None and loop is not None
    before = [ask(one) for one in (given_as(loop, region, value) if first else behind(flow, value, nothing))]
    return None if not before or None in before else frozenset(one for home in before for one in home or ())


def _is_compiled(op: Op, flow: Flow) -> bool:
    """Whether an op is part of a compiled function, all of whose arguments meet before."""
    around = (holder for _, holder in flow.places.up(flow.places.region_of[op]))
    return any(one is not None and one.name in ("jit", "pmap", "shard_map") for one in around)


def _is_listed(value: Value, home: frozenset[_Device], flow: Flow) -> bool:
    """Whether a list holds what the turns of a loop have put on a device each."""
    made = flow.maker(made_of(flow, value, through_ops("py.container")))
    return made is not None and made.name == "py.loop" and any(isinstance(device, Op) for device in home)


def _finding(op: Op, found: dict[Value, frozenset[_Device]], puts: Mapping[Op, _Device]) -> Obligation:
    ops = {device: put for put, device in reversed([*puts.items()])}
    pairs = [(value, ops[device]) for value, home in found.items() for device in home]
    return Obligation(
        op.span,
        message="arrays meet here that were put on different devices",
        current="JAX moves none of them by itself, and raises",
        expected="arrays that meet live on one device",
        raises=Raises.TRACING,
        steps=tuple(Step(put.span, f"{name_of(value)} comes from what is put there") for value, put in pairs),
        suggestion="put one of them where the other is first: `jax.device_put(x, device)`",
    )
