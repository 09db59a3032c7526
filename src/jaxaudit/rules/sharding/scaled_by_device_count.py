"""The rule `scaled-by-device-count`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.amounts import Amounts
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.queries import ahead, behind, walk
from jaxaudit.analyses.replication import axes_reduced
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import AVERAGES, BOUNDS, LINEAR, OVER_DEVICES, SCALINGS, SUMS_OVER_DEVICES
from jaxaudit.ir.ops import DEVICE_MAPS, JOINING, MOVING
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, proved, unknown
from jaxaudit.rules.sharding._shared.homes import home

_PROGRAM = """
def loss_fn(w, x, y):
    return jnp.{of}((x @ w - y) ** 2)


def step(w, x, y):
    loss, grad = jax.value_and_grad(loss_fn)(w, x, y)
    {reduced}
    return w - 0.1 * grad, loss


train = jax.pmap(step, axis_name="device")
"""


class ScaledByDeviceCount(Rule):
    """A mean is as many times too large, or too small, as there are devices.

    ## What it does
    Follows how numbers grow inside of `pmap`, `shard_map` and `vmap` with a name: a sum over a device's share grows
    with its examples, `psum` makes it grow with the number of devices too, and so do counts and sizes. What is a mean
    grows with neither.

    ## Why is this bad?
    Nothing raises, and with one device the numbers are right. On eight, the gradient is eight times as large as that of
    the loss that is reported: the learning rate is another one on every machine.

    ## Example
        loss, grads = jax.value_and_grad(mean_loss)(params, x)
        grads = jax.lax.psum(grads, "device")
        loss = jax.lax.pmean(loss, "device")

    ## Use instead
        loss, grads = jax.value_and_grad(mean_loss)(params, x)
        loss, grads = jax.lax.pmean((loss, grads), "device")

    ## When it cannot tell
    When what is summed comes through code that was not read, or something is divided by a number that may be that of
    the devices. A sum of means alone may be meant: it is an error where another mean of the same step is averaged.
    """

    summary = "A mean is as many times too large, or too small, as there are devices."
    needs = (Shapes,)

    valid = (
        Example(_PROGRAM.format(of="mean", reduced='loss, grad = jax.lax.pmean((loss, grad), "device")'), "averaged"),
        Example(
            _PROGRAM.format(
                of="sum",
                reduced='loss, grad, n = jax.lax.psum((loss, grad, x.shape[0]), "device")\n'
                "    loss, grad = loss / n, grad / n",
            ),
            "sums over the number of all examples",
        ),
    )
    invalid = (
        Example(
            _PROGRAM.format(
                of="mean", reduced='grad = jax.lax.psum(grad, "device")  #!\n    loss = jax.lax.pmean(loss, "device")'
            ),
            "a sum of means, where the loss is their mean",
        ),
        Example(
            _PROGRAM.format(
                of="sum",
                reduced='loss, n = jax.lax.psum((loss, x.shape[0]), "device")\n'
                '    loss, grad = loss / n, jax.lax.pmean(grad, "device") / n  #!',
            ),
            "a mean of sums over the number of all examples",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every sum over devices, and every quotient of what was reduced over them."""
        if program.front_end != "source":
            return
        reduced = [op for op in program.named("collective") if op.function in OVER_DEVICES | SUMS_OVER_DEVICES]
        for axis in sorted({axis for op in reduced for axis in axes_reduced(op) or ()}):
            over = [op for op in reduced if axis in (axes_reduced(op) or ())]
            yield from _Along(facts.memo(Amounts, axis), over, facts).judged()


class _Along:
    """What is reduced over one axis of devices."""

    def __init__(self, amounts: Amounts, reduced: list[Op], facts: Facts) -> None:
        self.amounts, self.reduced, self.flow, self.program = amounts, reduced, facts.flow, facts.program

    def judged(self) -> Iterator[Obligation]:
        """Judge every sum of means, and every quotient that a reduction has a part in."""
        yield from (one for op in self.reduced if op.function in SUMS_OVER_DEVICES for one in self._sum(op))
        yield from (one for op in self.program.named("grad") for one in self._summed_by_jax(op))
        quotients = (op for op in self.program.mapping("divide") if not self.amounts.reaching.isdisjoint(op.operands))
        yield from (one for op in quotients for one in self._quotient(op))

    def _sum(self, op: Op) -> Iterator[Obligation]:
        given = self.amounts.of(next(iter(op.arguments.values()), None))
        again = given.reduced and not given.local
        if not given.data or given.examples != 0 or not (given.mean or again):
            return
        grows = self._grows(op.results[0]) if given.devices == 0 or again else None
        if not grows:
            yield _settled(op, self.amounts.axis, grows)
        elif again:
            yield _again(op, self.amounts.axis)
        else:
            yield _of_means(op, self.amounts.axis, self._witness(op))

    def _summed_by_jax(self, op: Op) -> Iterator[Obligation]:
        """Judge the gradients of means that a checked `shard_map` has summed over the devices."""
        for value in op.results[len(op.regions[0].results) :]:
            if value not in self.amounts.reaching:
                continue
            amount = self.amounts.of(value)
            if not (amount.is_mean and amount.devices and amount.reduced):
                continue
            witness = self._witness(op)
            again = next(
                (
                    step
                    for one in walk((value,), self._later)
                    for step in self.flow.readers.get(one, ())
                    if step in self.reduced
                ),
                None,
            )
            grows = self._grows(value)
            if not grows or (again is not None and again.function in SUMS_OVER_DEVICES):
                yield _settled(op, self.amounts.axis, grows)
            elif again is not None or witness is not None:
                yield _by_jax(op, again, witness, self.amounts.axis)
            else:
                yield unknown(op.span, "whether the sum of the gradients of all devices is meant is not known")

    def _quotient(self, op: Op) -> Iterator[Obligation]:
        above, below = (self.amounts.of(op.arguments.get(name)) for name in ("x", "y"))
        made = self.amounts.of(op.results[0])
        if not above.data or not (above.reduced or below.reduced) or not made.is_mean:
            return
        if above.is_mean and above.devices == made.devices:
            return
        grows = self._grows(op.results[0]) if above.reduced else None
        if not grows or made.devices is None:
            yield _settled(op, self.amounts.axis, grows)
        else:
            odd = op if above.is_mean else self._odd(op, made.devices)
            yield _unlike(op, odd, made.devices, self.amounts.axis)

    def _grows(self, value: Value) -> bool | None:
        """Whether what grows with the devices is left so: not divided by their number later; None where it may be."""
        found = [(one, self.amounts.of(one)) for one in walk((value,), self._later)]
        if any(amount.data and amount.devices == 0 for _, amount in found):
            return False
        # What is added to it takes nothing of it away.
        scaled = [amount for one, amount in found if (op := self.flow.maker(one)) and op.function in SCALINGS]
        return None if any(amount.data and amount.devices is None for amount in scaled) else True

    def _later(self, value: Value) -> Iterator[Value]:
        """Return what becomes of a number, until it is given to the devices again."""
        for one in ahead(self.flow, value, _carries):
            entry = self.flow.entered(one)
            if entry is None or entry.op.name not in DEVICE_MAPS:
                yield one

    def _witness(self, op: Op) -> Op | None:
        """Return the reduction beside that averages a mean over the same axis."""
        return next(
            (
                one
                for one in self.reduced
                if one.function in AVERAGES and home(self.flow, one) is home(self.flow, op)
                if (given := self.amounts.of(next(iter(one.arguments.values()), None))).is_mean and given.local
            ),
            None,
        )

    def _odd(self, op: Op, devices: int) -> Op:
        """Return the op that made the side of a quotient which lacks a sum over devices."""
        value = op.arguments.get("y" if devices > 0 else "x")
        same = walk((value,), lambda one: behind(self.flow, one, _holds)) if isinstance(value, Value) else ()
        made = (self.flow.maker(one) for one in same)
        return next((one for one in made if one is not None and one.name in ("collective", "array.reduce")), op)


def _holds(op: Op) -> bool:
    """Whether an op gives back what it is given, in bounds at most."""
    return op.name in MOVING or op.name == "array.convert" or (op.name == "array.map" and op.function in BOUNDS)


def _carries(op: Op) -> bool:
    """Whether what an op makes is a multiple of what it is given, or holds it."""
    moves = op.name in MOVING | JOINING or op.name in ("array.convert", "py.container", "py.attr", "tree.map")
    return moves or op.name == "collective" or (op.name == "array.map" and op.function in LINEAR | SCALINGS)


def _settled(op: Op, axis: str, grows: bool | None) -> Obligation:
    if grows is False:
        return proved(op.span, f"in the end it does not grow with the number of devices along `{axis}`")
    return unknown(op.span, f"whether it is divided by the number of devices along `{axis}` is not known")


def _of_means(op: Op, axis: str, witness: Op | None) -> Obligation:
    beside = () if witness is None else (Step(witness.span, f"this mean is averaged over `{axis}`"),)
    return Obligation(
        op.span,
        severity=Severity.WARNING if witness is None else Severity.ERROR,
        message=f"this is a mean on each device, and `{op.function}` adds them up over `{axis}`",
        current="the result is as many times the mean over all data as there are devices",
        expected=f"means are averaged over `{axis}`; sums are added up, and divided by the number of all examples",
        steps=beside,
        suggestion=f'`jax.lax.pmean(..., "{axis}")`',
    )


def _by_jax(op: Op, again: Op | None, witness: Op | None, axis: str) -> Obligation:
    place = op if again is None else again
    others = [one for one in (witness,) if one is not None and one is not again]
    taken = () if place is op else (Step(op.span, "the gradient is taken here"),)
    return Obligation(
        place.span,
        message=f"JAX has summed this gradient of a mean over `{axis}` already: one for each device",
        current="in a checked `shard_map`, the gradient by what all devices share is the sum of those of all devices; "
        "it is as many times too large as there are devices, and a mean of equal sums changes nothing",
        expected="the loss is averaged over the devices inside of the function that is differentiated",
        steps=(*taken, *(Step(one.span, f"this mean is averaged over `{axis}`") for one in others)),
        suggestion=f'return `jax.lax.pmean(loss, "{axis}")` from the loss function',
    )


def _again(op: Op, axis: str) -> Obligation:
    return Obligation(
        op.span,
        message=f"this is the same on all devices along `{axis}` already, and `{op.function}` adds it up once more",
        current="the result is as many times too large as there are devices",
        expected="what was reduced over devices is not summed over them again",
        suggestion=f"leave `{op.function}` out",
    )


def _unlike(op: Op, odd: Op, devices: int, axis: str) -> Obligation:
    size = "large" if devices > 0 else "small"
    sides = ("the divisor", "what it divides") if devices > 0 else ("what is divided", "its divisor")
    return Obligation(
        odd.span,
        message=f"{sides[0]} does not grow with the number of devices along `{axis}`, but {sides[1]} does",
        current=f"the quotient is as many times too {size} as there are devices",
        expected="sum and count of a mean are those of the same data: both of one device, or both of all",
        steps=(Step(op.span, "the quotient is taken here"),) if odd.span != op.span else (),
        suggestion=f'sum both over "{axis}"',
    )
