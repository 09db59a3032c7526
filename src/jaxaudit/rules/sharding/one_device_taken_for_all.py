"""The rule `one-device-taken-for-all`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from jaxaudit.analyses.amounts import Amounts
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.queries import Through, behind, depends, entered, last, left, nothing, walk
from jaxaudit.analyses.replication import axes_reduced, is_copied
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Region, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.functions import FIRST_DEVICE, OVER_DEVICES, SAME_ON_ALL_DEVICES
from jaxaudit.ir.interfaces import Loop, Mapped
from jaxaudit.ir.ops import UNFOLLOWED
from jaxaudit.libraries.lookup import playing
from jaxaudit.libraries.meanings import BATCH_STATISTICS
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, proved, unknown

_HANDED_ON = frozenset(
    (
        "array.join",
        "array.create",
        "py.container",
        "py.attr",
        "py.unpack",
        "device.place",
        "array.convert",
        "array.numpy",
    )
)
_LAYERS = frozenset(f"{name}.__call__" for name in BATCH_STATISTICS)
_STEPS = playing("train_state.step")

_PROGRAM = """
def evaluate(w, x, y):
    error = x @ w - y
    return jax.lax.pmean(jnp.mean(error**2), "device"), {second}{mark}


mse, mae = jax.pmap(evaluate, axis_name="device", in_axes=(None, 0, 0))(
    jnp.ones(3), jnp.ones((8, 4, 3)), jnp.ones((8, 4))
)
print(mse[0], mae[0])
"""


class OneDeviceTakenForAll(Rule):
    """What one device has is read as that of all, though each device has computed its own.

    ## What it does
    Follows what leaves a `pmap` to where the first device's is taken: `v[0]`, `unreplicate`, `out_axes=None`. It has to
    be the same on all devices: made of what all share, or reduced over them.

    ## Why is this bad?
    A metric is that of one device's examples. Running statistics are those of the data that one device has seen: the
    network that is saved normalises by them, and nothing shows it in training.

    ## Example
        return jax.lax.pmean(mse, "device"), jnp.mean(jnp.abs(error))

        mse, mae = evaluate(...)
        print(mse[0], mae[0])

    ## Use instead
        return jax.lax.pmean((mse, jnp.mean(jnp.abs(error))), "device")

    ## When it cannot tell
    When what is read comes through code that was not read. What devices compute of single examples may be looked at
    one by one, and is not listed. A number that is only reported is an error where others beside it are reduced.
    """

    summary = "What one device has is read as that of all, though each device has computed its own."
    needs = (Shapes,)

    valid = (Example(_PROGRAM.format(second='jax.lax.pmean(jnp.mean(abs(error)), "device")', mark=""), "of all"),)
    invalid = (Example(_PROGRAM.format(second="jnp.mean(abs(error))", mark="  #!"), "of one device"),)

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List everything that leaves a `pmap` and of which one device's is read."""
        if program.front_end != "source":
            return
        for op in program.named("pmap"):
            axis = op.option("axis_name")
            if op.regions and isinstance(axis, str) and len(op.regions[0].results) == len(op.results):
                yield from _Devices(op, axis, facts).judged()


class _Devices:
    """One map over devices, and what becomes of its results."""

    def __init__(self, op: Op, axis: str, facts: Facts) -> None:
        self.op, self.axis, self.flow, self.body = op, axis, facts.flow, op.regions[0]
        self.amounts = facts.memo(Amounts, axis)

    def judged(self) -> Iterator[Obligation]:
        """Judge each result of which one device's is read."""
        shared = self.op.out_axes or ()
        for at, (inner, outer) in enumerate(zip(self.body.results, self.op.results, strict=True)):
            one = self.op if shared[at : at + 1] == (None,) else self._read(outer)
            if one is not None:
                yield from self._verdict(inner, outer, one)

    def _verdict(self, inner: Value, outer: Value, read: Op) -> Iterator[Obligation]:
        of = self._unreduced(inner)
        if not of:
            yield proved(read.span, "what is read of one device is the same on all")
            return
        if self._unreduced(inner, self._is_statistic):
            return
        layers, made = self._layers(inner), self.flow.maker(inner)
        witness = next((op for op, data in self._witnesses if data <= of or of & self._fresh), None)
        opaque = layers == [] or (made is not None and made.name in ("py.call_library", *UNFOLLOWED))
        if opaque or (witness is None and (self._witnesses or not self._shares)):
            yield unknown(read.span, "whether all devices have the same of this cannot be told")
            return
        kept = any(depends(self.flow, given, (outer,)) for given in self.op.operands)
        reported = any(one in self.body.results for op, _ in self._witnesses for one in op.results)
        yield _finding(last(inner, self._inside), read, self.axis, witness, layers, sure=kept or reported)

    def _inside(self, value: Value) -> Value | None:
        """Return what a result of a function that is differentiated is called inside."""
        op = self.flow.maker(value)
        at = op.results.index(value) if op is not None and op.name == "grad" else None
        own = () if op is None or at is None else op.regions[0].results
        return own[at] if at is not None and at < len(own) else None

    # Outside

    def _read(self, outer: Value) -> Op | None:
        """Return where one device's of a result is taken."""
        for value in walk((outer,), self._ahead):
            for op in self.flow.readers.get(value, ()):
                index = op.arguments.get("index") if op.name == "py.item" else None
                first = index[0] if isinstance(index, tuple) and index else index
                if op.arguments.get("base") is value and first == 0 and not isinstance(first, bool):
                    return op
                if op.name == "device.place" and op.function in FIRST_DEVICE:
                    return op
        return None

    def _ahead(self, value: Value) -> Iterator[Value]:
        """Return what a result is called elsewhere, as long as the axis of devices is its first."""
        for op in self.flow.readers.get(value, ()):
            if op.name in _HANDED_ON and op.function not in FIRST_DEVICE:
                yield from op.results
            if Mapped.of(op) is None or op.name == "tree.map":
                yield from entered(op, value)
        if value in self.flow.leaving:
            yield from left(self.flow, value)

    # Inside

    @cached_property
    def _data(self) -> frozenset[Value]:
        """The parameters that may differ from device to device: mapped, no copies, and not what devices have made."""
        made = [one for op in self.flow.program.named("pmap") for one in op.results]
        pairs = [(param, given) for param, given in Mapped(self.op).elements if not depends(self.flow, given, made)]
        return frozenset(
            param for param, given in pairs if not is_copied(self.flow, given) and not self._is_trained(param)
        )

    @cached_property
    def _fresh(self) -> frozenset[Value]:
        """The data that are others in every turn of the loop in which the state of the devices is renewed."""
        places = self.flow.places
        loops = [region for region, op in places.up(places.region_of[self.op]) if op is not None and Loop.of(op)]
        given = dict(Mapped(self.op).elements)
        homes = ((param, places.region_of_value(given[param])) for param in self._data)
        return frozenset(param for param, at in homes for region in loops[:1] if places.within(at, region))

    @cached_property
    def _shares(self) -> bool:
        """Whether the devices do one thing together: something is the same for all of them."""
        elements = Mapped(self.op).elements
        return len(elements) < len(self.op.operands) or any(is_copied(self.flow, given) for _, given in elements)

    def _is_trained(self, param: Value) -> bool:
        """Whether a derivative is taken by a parameter."""
        steps = [op for op in _ops(self.body) if op.name == "grad"]
        by = [op.operands[at] for op in steps for at in op.differentiated or () if isinstance(at, int)]
        held = walk(by, lambda one: behind(self.flow, one, lambda op: op.name in _HANDED_ON))
        return any(one is param for one in held)

    def _unreduced(self, value: Value, stops: Through = nothing) -> frozenset[Value]:
        """Return the data of one device that a value depends on, by ways on which nothing stops."""
        return self._data & frozenset(walk((value,), lambda one: self._behind(one, stops)))

    def _behind(self, value: Value, stops: Through) -> Iterator[Value]:
        op = self.flow.maker(value)
        if value in self.body.params or (op is not None and (self._is_reduced(op) or op.name == "array.shape")):
            return
        if op is not None and stops(op):
            return
        if op is not None and op.name == "grad":
            # Each result of the function by itself; a gradient is that of the first.
            at, own = op.results.index(value), op.regions[0].results
            yield own[at if at < len(own) else 0]
        elif op is not None and op.qualified in _STEPS:
            # What else it is given are other parts of the state.
            yield from values_in(op.arguments.get("grads"))
        else:
            yield from behind(self.flow, value)

    def _is_reduced(self, op: Op) -> bool:
        over = axes_reduced(op) if op.name == "collective" else frozenset()
        return over is None or (self.axis in over and op.function in SAME_ON_ALL_DEVICES)

    def _is_statistic(self, op: Op) -> bool:
        """Whether an op makes one number of many examples."""
        return _keeps_statistics(op) or (op.name == "array.reduce" and self.amounts.of(op.results[0]).rows is False)

    @cached_property
    def _witnesses(self) -> list[tuple[Op, frozenset[Value]]]:
        """The reductions of the body, each with the data that it puts together."""
        reduced = [op for op in _ops(self.body) if self._is_reduced(op) and op.function in OVER_DEVICES]
        found = [(op, self._unreduced(one)) for op in reduced for one in op.operands[:1]]
        return [(op, data) for op, data in found if data]

    def _layers(self, value: Value) -> list[Op] | None:
        """Return the layers whose statistics a value is, those that know no axis; None where it is no such thing."""
        made = (self.flow.maker(one) for one in walk((value,), lambda one: self._behind(one, self._is_statistic)))
        calls = [op for op in made if op is not None and _keeps_statistics(op)]
        if not calls:
            return None
        bodies = [op for op in _ops(self.body) if op.name == "py.call" and op.span in [one.span for one in calls]]
        used = [op for one in bodies for op in _ops(one.regions[0]) if op.qualified in _LAYERS]
        layers = [self.flow.maker(op.operands[0]) for op in used if op.operands]
        return [one for one in layers if one is not None and one.arguments.get("axis_name") is None]


def _keeps_statistics(op: Op) -> bool:
    """Whether a call of a network gives its renewed collections back, of which nothing is said of devices."""
    return op.name == "py.call_library" and op.arguments.get("mutable") not in (None, False)


def _ops(region: Region) -> Iterator[Op]:
    regions = walk([region], lambda one: (inner for op in one.ops for inner in op.regions))
    return (op for one in regions for op in one.ops)


def _finding(
    value: Value, read: Op, axis: str, witness: Op | None, layers: list[Op] | None, *, sure: bool
) -> Obligation:
    what = f"`{value.name}`" if value.name else "a result"
    place = layers[0].span if layers else value.span
    told = "the statistics of this layer are" if layers else f"{what} is"
    return Obligation(
        place,
        severity=Severity.ERROR if sure else Severity.WARNING,
        message=f"{told} of one device's data along `{axis}`, and one device's is taken for all",
        current="every device has its own, of the examples that it was given; those of all others are left out",
        expected="what is read of one device is the same on all: reduced over them before it leaves",
        steps=(
            Step(read.span, "what the first device has is taken here"),
            *(Step(one.span, f"this is reduced over `{axis}`") for one in (witness,) if one is not None),
        ),
        suggestion=f'give the layer `axis_name="{axis}"`' if layers else f'`jax.lax.pmean(..., "{axis}")`',
    )
