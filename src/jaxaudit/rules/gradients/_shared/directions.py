"""Which way a step goes: along the gradient that it was made of, or against it.

Signs are followed from the step back to the derivative: through negations, factors whose sign is known, calls,
functions of trees, and optimizers that take a learning rate, which point downhill by their nature.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import last
from jaxaudit.analyses.ranges import Ranges
from jaxaudit.analyses.versions import is_optimizer_step
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.functions import SCALINGS, SIGN_KEEPING
from jaxaudit.ir.interfaces import Part
from jaxaudit.ir.ops import PASSED_ON
from jaxaudit.ir.record import record, replace
from jaxaudit.libraries.lookup import lookup, playing, plays
from jaxaudit.rules.gradients._shared.optimizers import made_as, outside, own_results

_DEPTH = 24
"""How many factors and signs may stand between a gradient and a step."""


@record
class Direction:
    """A gradient, and whether something made of it points along it."""

    source: Op
    """The derivative."""
    at: int
    """Which of the parameters the gradient is by, among those of the derivative."""
    uphill: bool
    sure: bool = True
    """Whether the signs of all factors are known."""
    optimizer: Op | None = None
    """The optimizer that made updates of it."""
    unturned: Op | None = None
    """The last part of an optimizer that turns nothing around."""

    def turned(self, *, by: bool = True, sure: bool = True) -> Direction:
        """Return the same pointing the other way."""
        return replace(self, uphill=self.uphill ^ by, sure=self.sure and sure)


@record
class Decay:
    """A part of an optimizer that adds a share of the parameters to the step: a gradient of their size."""

    op: Op
    before: int
    """Its sign times that of what comes before it in the chain: -1 where one of both is turned around; 0 unknown."""
    after: int
    """The same of what comes after it: 1 where the parameters grow, unless they are turned around elsewhere."""
    sure: bool
    """Whether the sign of the share itself is known."""


@record
class Directions:
    """Answers which way values of one program point."""

    flow: Flow
    ranges: Ranges

    def of(self, given: Argument, depth: int = 0) -> Direction | None:
        """Return the direction of the first leaf of a value; None where it is not made of one gradient alone."""
        first = next(values_in(given), None)
        if first is None or depth > _DEPTH:
            return None
        value = made_as(self.flow, next(outside(self.flow, first), first))
        op = self.flow.maker(value)
        if op is None:
            return None if value is first else self.of(value, depth + 1)
        if op.name == "grad":
            at = op.results.index(value) - own_results(op)
            return Direction(op, at, uphill=True) if at >= 0 else None
        if (part := Part.of(op, value)) is not None:
            return self._updates(self.flow.maker(part.whole), depth) if part.at == 0 else None
        if op.name == "tree.map" and op.regions:
            return self.of(op.regions[0].results[:1], depth + 1)
        if op.name in PASSED_ON or op.name in ("collective", "py.attr"):
            return self.of(op.operands[:1], depth + 1)
        if op.name == "tree.leaf":
            return self.of(op.operands[-1:], depth + 1)
        return self._mapped(op, depth) if op.name == "array.map" else None

    @property
    def states_descend(self) -> bool:
        """Whether every training state of the program is made with an optimizer that goes downhill."""
        made = list(self.flow.program.calling(*playing("train_state.create")))
        return bool(made) and all(prod(map(self._turn, self._parts(op.arguments.get("tx")))) < 0 for op in made)

    def decays(self, chain: Op) -> Iterator[Decay]:
        """Return every part of an optimizer that adds the parameters themselves to the step."""
        parts = list(self._parts(chain.arguments.get("args")))
        for at, part in enumerate(parts):
            if part is not None and plays(part.qualified, "optimizer.decay"):
                sign, sure = self._sign(part.arguments.get("weight_decay"), 0)
                before, after = (prod(map(self._turn, some)) for some in (parts[:at], parts[at + 1 :]))
                yield Decay(part, before * sign, after * sign, sure)

    def _updates(self, step: Op | None, depth: int) -> Direction | None:
        """Return the direction of the updates that an optimizer makes."""
        if step is None or not is_optimizer_step(step):
            return None
        parts = list(self._parts(step.arguments.get("self")))
        way, found = prod(map(self._turn, parts)), self.of(step.arguments.get("updates"), depth + 1)
        if not way or found is None:
            return None
        return replace(found.turned(by=way < 0), optimizer=step, unturned=parts[-1] if way > 0 else None)

    def _parts(self, given: Argument) -> Iterator[Op | None]:
        """Return what makes the parts that an optimizer is put together from; None for one that is not known."""
        for value in values_in(given):
            op = self.flow.maker(made_as(self.flow, value))
            held = op.constant if op is not None and op.name == "py.global" else None
            op = self.flow.maker(held) if isinstance(held, Value) else op
            if op is not None and plays(op.qualified, "optimizer.chain") and op.arguments.get("args"):
                yield from self._parts(op.arguments.get("args"))
            else:
                yield op

    def _turn(self, part: Op | None) -> int:
        """Return -1 for a part of an optimizer that turns gradients around, 1 for another, 0 where it is not known."""
        row = None if part is None else lookup(part.qualified)
        if part is None or row is None:
            return 0
        if "learning_rate" in row.params:
            return -1
        if row.params[:1] in (("step_size",), ("step_size_fn",)):
            return self._factor(part.argument(*row.params))
        return int(not {"optimizer.direct", "optimizer.moments"}.isdisjoint(row.roles))

    def _factor(self, given: Argument) -> int:
        """Return the sign of a factor that an optimizer scales by; of a schedule that of the numbers in its call."""
        made = self.flow.maker(made_as(self.flow, given)) if isinstance(given, Value) else None
        row = None if made is None else lookup(made.qualified)
        if made is None or row is None or row.cls != "optax.Schedule":
            sign, sure = self._sign(given, 0)
            return sign if sure else 0
        numbers = [one for one in made.arguments.values() if isinstance(one, int | float)]
        return int(bool(numbers) and min(numbers) >= 0) - int(bool(numbers) and max(numbers) < 0)

    def _mapped(self, op: Op, depth: int) -> Direction | None:
        x, y = op.arguments.get("x"), op.arguments.get("y")
        if op.function == "negative":
            found = self.of(x, depth + 1)
            return None if found is None else found.turned()
        if op.function not in SCALINGS:
            return None
        sides = ((x, y), (y, x)) if op.function == "multiply" else ((x, y),)
        for side, factor in sides:
            found = self.of(side, depth + 1) if isinstance(side, Value) else None
            if found is not None:
                sign, sure = self._sign(factor, depth)
                return found.turned(by=sign < 0, sure=sure) if sign else None
        return None

    def _sign(self, factor: Argument, depth: int) -> tuple[int, bool]:
        """Return the sign of a factor, 0 where it is not known, and whether it is sure.

        Of what comes from outside of the program it is that of a learning rate.
        """
        if not isinstance(factor, Value):
            number = float(factor) if isinstance(factor, int | float) else 0.0
            return (number > 0) - (number < 0), True
        known = self.ranges.of(factor)
        if known.low >= 0 or known.high <= 0:
            return (-1 if known.high <= 0 else 1), True
        value = made_as(self.flow, next(outside(self.flow, factor), factor))
        op = self.flow.maker(last(value, self._holding))
        if op is None:
            return 1, False
        sides = [one for one in op.arguments.values() if not isinstance(one, str)]
        if depth > _DEPTH or op.name != "array.map" or op.function not in SIGN_KEEPING:
            return 0, False
        signs = [self._sign(one, depth + 1) for one in sides]
        turn = -1 if op.function == "negative" else 1
        return turn * prod(sign for sign, _ in signs), all(sure for _, sure in signs)

    def _holding(self, value: Value) -> Value | None:
        """Return the object that a value is an attribute of, such as settings that are handed around."""
        op = self.flow.maker(value)
        base = op.value("base") if op is not None and op.name == "py.attr" else None
        return None if base is None else made_as(self.flow, base)
