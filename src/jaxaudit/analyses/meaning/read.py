"""Reads the meaning of a value off the op that made it, on demand: what nobody asks for costs nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.meaning import forms
from jaxaudit.analyses.meaning.kinds import (
    DRAWS,
    LAYERS,
    MAPS,
    NORMALISES,
    ONE_A_STEP,
    ORDERS,
    Kind,
    Meaning,
    named,
    tail,
)
from jaxaudit.ir import Op, Region, Value
from jaxaudit.ir.ops import BODIES, MAPPED

_MOST_STEPS = 3
"""Axes of what is one number a step: time, environments, and members of an ensemble."""
_DEEP = 40
"""How many ops a value is followed back through."""

_KEEPS = {
    "array.reshape": "a",
    "array.permute": "a",
    "array.expand": "a",
    "array.squeeze": "a",
    "array.convert": "a",
    "array.split": "a",
    "array.move": "a",
    "array.gather": "a",
    "py.item": "base",
    "grad.stop": "x",
    "key.within": "value",
    "device.place": "x",
}
"""Ops that give the elements of one argument back, some of them, elsewhere or all."""
_MOVES = frozenset(("array.reshape", "array.permute", "array.gather", "py.item", "array.squeeze", "array.split"))
"""Those after which an axis is no longer where it was."""
_BOUNDS = frozenset("clip maximum minimum max min".split())


class Meanings:
    """The meanings of a program's values."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._known: dict[Value, Meaning | None] = {}

    def of(self, value: Value) -> Meaning | None:
        """Return what the ops say that a value means."""
        return self._of(value, 0)

    def said(self, value: Value) -> Kind | None:
        """Return what to show: by the ops that made it, by what it is used as, by its name."""
        found = self.of(value)
        if found is not None:
            return found.kind
        return Kind.LOGITS if value in self._logits else self._called(value)

    def _called(self, value: Value) -> Kind | None:
        """Return what a name says; the `value` of an attention layer has too many axes to be one number a step."""
        kind, exact = named(value.name), self.flow.program.types.get(value)
        return None if kind in ONE_A_STEP and exact is not None and len(exact.shape) > _MOST_STEPS else kind

    @cached_property
    def _logits(self) -> frozenset[Value]:
        """The values that some op takes for logits."""
        return frozenset(
            value for op in self.flow.program.walk() if op.operands for value in forms.taken_for_logits(op)
        )

    def _of(self, value: Value, depth: int) -> Meaning | None:
        if value in self._known:
            return self._known[value]
        if depth > _DEEP:
            return None
        # A value that is met again while it is looked at goes round a loop.
        self._known[value] = None
        found = self._known[value] = self._read(value, depth + 1)
        return found

    def _read(self, value: Value, depth: int) -> Meaning | None:
        op = self.flow.maker(value)
        if op is None:
            return self._parameter(value, depth)
        if op.regions:
            return self._result(op, value, depth)
        layer = _layer(op)
        if layer is not None:
            return layer
        if op.name in _KEEPS:
            return self._kept(op, depth)
        if op.name == "array.map":
            return self._mapped(op, depth)
        if op.name == "array.normalise":
            return _made(op, NORMALISES.get(tail(op)))
        if op.name == "array.order":
            return Meaning(Kind.INDEX, op, tail(op)) if tail(op) in ORDERS else None
        if op.name == "key.draw":
            kind = DRAWS.get(tail(op))
            return Meaning(kind, op, tail(op)) if kind is not None else None
        if op.name == "array.reduce" and tail(op) == "sum":
            inner = self._argument(op, "a", depth)
            return inner if inner is not None and inner.kind is Kind.LOG_PROBABILITIES else None
        if op.name in ("array.select", "py.join", "array.join"):
            return self._common((one for one in op.operands if one is not op.arguments.get("condition")), depth)
        return None

    def _argument(self, op: Op, name: str, depth: int) -> Meaning | None:
        given = op.arguments.get(name)
        given = op.operands[0] if given is None and op.operands else given
        return self._of(given, depth) if isinstance(given, Value) else None

    def _kept(self, op: Op, depth: int) -> Meaning | None:
        found = self._argument(op, _KEEPS[op.name], depth)
        if found is None or op.name not in _MOVES:
            return found
        return Meaning(found.kind, found.made, found.how)

    def _common(self, values: Iterable[Value], depth: int) -> Meaning | None:
        """Return the meaning that all share."""
        first: Meaning | None = None
        for value in values:
            one = self._of(value, depth)
            if one is None or (first is not None and one.kind is not first.kind):
                return None
            first = first or one
        return first

    def _mapped(self, op: Op, depth: int) -> Meaning | None:
        function = tail(op)
        if function in MAPS:
            return _made(op, MAPS[function])
        form = forms.normal_form(op, self.flow)
        if form is not None:
            return form
        if function in ("log", "exp"):
            inner = self._argument(op, "x", depth)
            wanted, gives = (Kind.PROBABILITIES, Kind.LOG_PROBABILITIES)
            wanted, gives = (wanted, gives) if function == "log" else (gives, wanted)
            return Meaning(gives, op, function) if inner is not None and inner.kind is wanted else None
        if function in _BOUNDS or function in ("add", "subtract"):
            return self._shifted(op, function, depth)
        return None

    def _shifted(self, op: Op, function: str, depth: int) -> Meaning | None:
        """A bound, or a small constant added, leaves probabilities what they are; `1 - p` is one as well."""
        values = [value for value in op.operands if not self._is_constant(value)]
        inner = self._of(values[0], depth) if len(values) == 1 else None
        constants = [abs(one) for one in op.arguments.values() if isinstance(one, int | float)]
        if inner is None or function in _BOUNDS:
            return inner
        # What keeps a logarithm away from zero is added to logarithms by mistake.
        most = {Kind.PROBABILITIES: 1.0, Kind.LOG_PROBABILITIES: 1e-3}.get(inner.kind, -1.0)
        return inner if all(one <= most for one in constants) else None

    def _is_constant(self, value: Value) -> bool:
        made = self.flow.maker(value)
        return made is not None and made.name in ("py.const", "array.convert", "array.create") and not made.operands

    def _parameter(self, value: Value, depth: int) -> Meaning | None:
        region = self.flow.places.owner.get(value)
        if region is None:
            return None
        holder = self.flow.places.holder.get(id(region))
        callers = (holder,) if holder is not None else self.flow.callers.get(id(region), ())
        at = self.flow.position(region.params, value)
        if not all(_is_handed(op, region, at) for op in callers):
            return None
        return self._common((op.operands[at] for op in callers), depth)

    def _result(self, op: Op, value: Value, depth: int) -> Meaning | None:
        at = self.flow.position(op.results, value)
        if op.name == "cond" or op.name == "py.branch":
            inside = [region.results[at] for region in op.regions if at < len(region.results)]
            return self._common(inside, depth) if len(inside) == len(op.regions) else None
        count = op.carry
        stacked = op.name == "scan" and isinstance(count, int) and at >= count
        results = op.regions[0].results
        if (op.name in BODIES or op.name in MAPPED or stacked) and at < len(results):
            found = self._of(results[at], depth)
            # An axis that is counted from the end stays there when others come in front.
            fixed = found is not None and isinstance(found.axis, int) and found.axis < 0 and _in_front(op)
            return found and Meaning(found.kind, found.made, found.how, found.axis if fixed else None)
        return None


def _in_front(op: Op) -> bool:
    """Whether an op adds no axis to what its body gives, or the first one."""
    out = op.options
    return not (isinstance(out, Mapping) and out.get("out_axes", 0) != 0)


def _layer(op: Op) -> Meaning | None:
    """Return what a layer of a library makes: in source it is one call, in a trace the last of its ops."""
    owner, _, method = op.qualified.rpartition(".")
    if op.name == "py.call_library" and method == "__call__":
        row = LAYERS.get(owner.rpartition(".")[2])
        return None if row is None else Meaning(row[0], op, row[1])
    row = LAYERS.get(op.library)
    wanted = "array.gather" if row is not None and row[0] is Kind.EMBEDDED else "array.map"
    last = row is not None and op.name == wanted and (op.name != "array.map" or tail(op) in ("add", "multiply"))
    return Meaning(row[0], op, row[1]) if row is not None and last else None


def _made(op: Op, row: tuple[Kind, str] | None) -> Meaning | None:
    return None if row is None else Meaning(row[0], op, row[1], op.arguments.get("axis", -1))


def _is_handed(op: Op, region: Region, at: int) -> bool:
    """Whether a parameter of a region is the operand at the same place."""
    if len(region.params) != len(op.operands):
        return False
    if op.name in BODIES or op.name in MAPPED:
        return True
    count = op.carry
    return op.name == "scan" and isinstance(count, int) and at >= count


@remembered
def meanings_of(facts: Facts) -> Meanings:
    """Return the meanings of a program, once for all who ask."""
    return Meanings(facts.flow)
