"""Reads the meaning of a value off the op that made it, on demand: what nobody asks for costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from math import isclose

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.elements import maker_of_elements
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.meaning.kinds import MADE_BY, ONE_A_STEP, Kind, Meaning, named
from jaxaudit.analyses.queries import Answers, holders, walk, whole_of
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.ir.functions import (
    AVERAGES,
    BOUNDS,
    COMPARING,
    LABELS,
    NORMALISED_EXPONENTIALS,
    SCALINGS,
    SPREADS,
    SQUARE_ROOTS,
    SUMS_OF_TWO,
)
from jaxaudit.ir.interfaces import Loop, inside_of, moved, source_of
from jaxaudit.ir.ops import BRANCHES, JOINING, PASSED_ON
from jaxaudit.ir.record import record
from jaxaudit.libraries.meanings import (
    AFFINE,
    APPLIED_TO_LOGITS,
    EMBEDDING,
    ENDS_OTHERWISE,
    NORMALISING,
    PROBABILITIES_TAKEN,
)

_OPS = ("array.normalise", "key.draw", "py.call_library", "array.map", "array.reduce")


@record
class Taker:
    """One place that takes a value for something."""

    op: Op
    value: Value
    wants: Kind
    by: str
    """The function that takes it."""
    applies: str = ""
    """What it applies to logits by itself: `softmax` or `sigmoid`; empty where that is not known."""
    axis: object = None
    """The axis it works along, as it is written."""


def takers(program: Program) -> Iterator[Taker]:
    """Return every place that takes a value for logits or probabilities."""
    read = _in_trace if program.front_end == "jaxpr" else _in_source
    return (one for op in program.named(*_OPS) if not op.is_derived for one in read(op))


def _in_source(op: Op) -> Iterator[Taker]:
    """In source, parameters say what they take."""
    name, axis = op.function, op.arguments.get("axis", -1)
    given = op.named or op.arguments
    logits, probabilities = given.get("logits"), given.get("p" if op.name == "key.draw" else "probs")
    if op.name == "array.normalise" and name in NORMALISED_EXPONENTIALS:
        scores = op.value("x")
        if scores is not None:
            yield Taker(op, scores, Kind.LOGITS, name, "softmax", axis)
    elif isinstance(logits, Value):
        yield from _declared(op, given)
        by = "categorical" if op.name == "key.draw" else name
        otherwise = "" if op.name == "py.call_library" else "softmax"
        yield Taker(op, logits, Kind.LOGITS, by, APPLIED_TO_LOGITS.get(name, otherwise), axis)
    elif isinstance(probabilities, Value):
        yield Taker(op, probabilities, Kind.PROBABILITIES, name)
    else:
        yield from _declared(op, given)


def _declared(op: Op, given: Mapping[str, Argument]) -> Iterator[Taker]:
    """Return what a loss takes for probabilities, or for their logarithms."""
    for name, value in given.items() if op.name == "py.call_library" else ():
        wants = PROBABILITIES_TAKEN.get(f"{op.function}.{name}")
        if wants is not None and isinstance(value, Value):
            yield Taker(op, value, Kind(wants), op.function)


def scores(flow: Flow, value: Value) -> Op | None:
    """Return the layer whose sums of products a value is, perhaps scaled: they may have any sign, and any sum."""
    found = origin(flow, value, {})
    op = found.op
    while op is not None and op.name == "array.map" and op.function in SCALINGS and len(op.operands) == 1:
        op = origin(flow, op.operands[0], found.context).op
    owner, _, method = ("", "", "") if op is None else op.qualified.rpartition(".")
    if op is None or method != "__call__" or owner.rpartition(".")[2] not in AFFINE:
        return None
    layer = op.value("self")
    made = None if layer is None else origin(flow, layer, {}).op
    return None if made is None or any(made.has(option) for option in ENDS_OTHERWISE) else op


def _in_trace(op: Op) -> Iterator[Taker]:
    """In a trace, functions of JAX and of libraries are the ops they are made of: the first one takes the value."""
    loss = op.library if op.library in APPLIED_TO_LOGITS else ""
    if op.name == "key.draw" and op.function == "categorical":
        yield from (Taker(op, value, Kind.LOGITS, "categorical", "softmax") for value in op.operands[1:2])
    elif op.name == "array.reduce" and op.function == "max" and op.operands:
        if op.api in NORMALISED_EXPONENTIALS or (op.api == "logsumexp" and loss):
            axis = op.arguments.get("axis")
            yield Taker(op, op.operands[0], Kind.LOGITS, loss or op.api, "softmax", axis)
    elif op.api == "log_sigmoid" and APPLIED_TO_LOGITS.get(loss) == "sigmoid" and op.operands:
        yield Taker(op, op.operands[0], Kind.LOGITS, loss, "sigmoid")


def normal_form(op: Op, flow: Flow) -> Meaning | None:
    """Recognise `exp(x) / sum(exp(x))`, `x - logsumexp(x)` and `(x - mean) / std`."""
    first, second = _operand(op, "x", 0), _operand(op, "y", 1)
    if first is None or second is None or op.function not in COMPARING:
        return None
    above, below = flow.maker(first), maker_of_elements(flow, second)
    if below is None:
        return None
    if op.function == "subtract":
        logs = _is_log_of_sum(below, flow)
        return Meaning(Kind.LOG_PROBABILITIES, op, "log_softmax", below.arguments.get("axis")) if logs else None
    if above is None:
        return None
    if above.function == "exp" and below.function == "sum" and _operand(below, "a", 0) is first:
        return Meaning(Kind.PROBABILITIES, op, "softmax", below.arguments.get("axis"))
    standard = above.function == "subtract" and is_mean(_operand(above, "y", 1), flow) and is_spread(below, flow)
    return Meaning(Kind.NORMALISED, op, "standardised") if standard else None


def _is_log_of_sum(op: Op, flow: Flow) -> bool:
    if "logsumexp" in (op.function, op.api):
        return True
    inner = _operand(op, "x", 0) if op.function == "log" else None
    below = None if inner is None else maker_of_elements(flow, inner)
    summed = _operand(below, "a", 0) if below is not None and below.function == "sum" else None
    above = None if summed is None else flow.maker(summed)
    return above is not None and above.function == "exp"


def is_mean(value: Value | None, flow: Flow) -> bool:
    """Whether a value is the mean of others."""
    op = None if value is None else maker_of_elements(flow, value)
    return op is not None and (op.function in AVERAGES or op.api == "mean")


def is_spread(op: Op, flow: Flow) -> bool:
    """Whether a value is a standard deviation or a variance, with something added or as a bound on it."""

    def below(one: Op) -> list[Op]:
        inner = one.operands if one.function == "add" or one.function in BOUNDS else ()
        return [made for value in inner if (made := flow.maker(value)) is not None]

    return any(one.function in SPREADS | SQUARE_ROOTS or one.api in SPREADS for one in walk((op,), below))


def _operand(op: Op, name: str, at: int) -> Value | None:
    """Return an argument of an op by its name; a trace has operands alone."""
    if not op.arguments:
        return op.operands[at] if at < len(op.operands) else None
    return op.value(name)


_STEP_AXES = 3
"""The axes of what is one number a step: time, environments, and members of an ensemble."""

_MAKING = ("array.map", "array.normalise", "array.order", "key.draw")
"""Ops whose function may give a meaning by itself."""


Ask = Callable[[Value], "Meaning | None"]


class Meanings:
    """The meanings of a program's values."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.of: Answers[Value, Meaning | None] = Answers(self._read, None)
        """What the ops say that a value means."""

    def said(self, value: Value) -> Kind | None:
        """Return what to show: by the ops that made it, by what it is used as, by its name."""
        found = self.of(value)
        if found is not None:
            return found.kind
        return Kind.LOGITS if value in self._logits else self._called(value)

    def _called(self, value: Value) -> Kind | None:
        """Return what a name says; the `value` of an attention layer has too many axes to be one number a step."""
        kind, exact = named(value.name), self.flow.program.types.get(value)
        return None if kind in ONE_A_STEP and exact is not None and len(exact.shape) > _STEP_AXES else kind

    @cached_property
    def takers(self) -> tuple[Taker, ...]:
        """The places that take a value for something."""
        return tuple(takers(self.flow.program))

    @cached_property
    def _logits(self) -> frozenset[Value]:
        return frozenset(one.value for one in self.takers if one.wants is Kind.LOGITS)

    def _read(self, value: Value, ask: Ask) -> Meaning | None:
        op = self.flow.maker(value)
        if op is None:
            return self._parameter(value, ask)
        if op.regions:
            return self._result(op, value, ask)
        made = _by_layer(op) or _by_function(op)
        if made is not None:
            return made
        if op.name in JOINING:
            return _common((one for one in op.operands if one is not op.arguments.get("condition")), ask)
        if op.name == "array.map":
            return normal_form(op, self.flow) or self._mixture(op, ask) or self._computed(op, ask)
        whole = op.operands[0] if op.name == "array.reduce" and op.function == "sum" and op.operands else moved(op)
        found = None if whole is None else ask(whole)
        if found is None or op.name == "array.reduce":
            return found if found is not None and found.kind is Kind.LOG_PROBABILITIES else None
        axis_stays = op.name in PASSED_ON or op.name in ("array.expand", "array.move")
        return found if axis_stays else Meaning(found.kind, found.made, found.how)

    def _computed(self, op: Op, ask: Ask) -> Meaning | None:
        """Return what a logarithm, an exponential, a bound or a shift makes of probabilities."""
        values = [value for value in op.operands if not self._is_constant(value)]
        inner = ask(values[0]) if len(values) == 1 else None
        if inner is None or op.function in BOUNDS:
            return inner
        match op.function, inner.kind:
            case "log", Kind.PROBABILITIES:
                return Meaning(Kind.LOG_PROBABILITIES, op, "log")
            case "exp", Kind.LOG_PROBABILITIES:
                return Meaning(Kind.PROBABILITIES, op, "exp")
            case _:
                return inner if op.function in SUMS_OF_TWO and _stays(op, inner.kind) else None

    def _mixture(self, op: Op, ask: Ask) -> Meaning | None:
        """Return what `w * p + (1 - w) * q` is: a mixture of two distributions is one."""
        if op.function != "add" or len(op.operands) != 2:
            return None
        first, second = [self._weighted(one, ask) for one in op.operands]
        if first is None or second is None or not _adds_up(first[0], second[0], self.flow):
            return None
        kinds = {first[1].kind, second[1].kind}
        return Meaning(Kind.PROBABILITIES, op, "a mixture") if kinds == {Kind.PROBABILITIES} else None

    def _weighted(self, value: Value, ask: Ask) -> tuple[Argument, Meaning] | None:
        """Return the weight and the meaning of what is weighed."""
        made = self.flow.maker(value)
        if made is None or made.function != "multiply":
            return None
        x, y = made.argument("x"), made.argument("y")
        for weight, other in ((x, y), (y, x)):
            found = ask(other) if isinstance(other, Value) else None
            if found is not None:
                return weight, found
        return None

    def _is_constant(self, value: Value) -> bool:
        made = self.flow.own_maker(value)
        return made is not None and made.name in ("py.const", "array.convert", "array.create") and not made.operands

    def _parameter(self, value: Value, ask: Ask) -> Meaning | None:
        region = self.flow.places.owner.get(value)
        if region is None:
            return None
        return _common((one for op in holders(self.flow, region) for one in source_of(op, region, value)), ask)

    def _result(self, op: Op, value: Value, ask: Ask) -> Meaning | None:
        at = self.flow.position(op.results, value)
        loop = Loop.of(op)
        stacked = [] if loop is None else [one for one, made in loop.stacked if made is value]
        found = _common([one for _, one in inside_of(op, at)] if loop is None else stacked, ask)
        # An axis that is counted from the end stays there when others come in front.
        in_front = (op.options or {}).get("out_axes", 0) == 0
        if found is None or op.name in BRANCHES or (isinstance(found.axis, int) and found.axis < 0 and in_front):
            return found
        return Meaning(found.kind, found.made, found.how)


def _adds_up(first: Argument, second: Argument, flow: Flow) -> bool:
    """Whether two weights add up to one."""
    if isinstance(first, int | float) and isinstance(second, int | float):
        return isclose(first + second, 1.0)
    for one, other in ((first, second), (second, first)):
        made = flow.maker(one) if isinstance(one, Value) else None
        if made is not None and made.function == "subtract" and isinstance(other, Value):
            whole, less = made.arguments.get("x"), made.arguments.get("y")
            if whole == 1 and isinstance(less, Value) and whole_of(flow, less) is whole_of(flow, other):
                return True
    return False


def _common(values: Iterable[Value], ask: Ask) -> Meaning | None:
    """Return the meaning that all values share."""
    first: Meaning | None = None
    for value in values:
        one = ask(value)
        if one is None or (first is not None and one.kind is not first.kind):
            return None
        first = first or one
    return first


def _by_function(op: Op) -> Meaning | None:
    kind = MADE_BY.get(op.function) if op.name in _MAKING or op.function in LABELS else None
    return None if kind is None else Meaning(kind, op, op.function, op.arguments.get("axis", -1))


def _by_layer(op: Op) -> Meaning | None:
    """Return what a layer of a library makes: in source it is one call, in a trace the last of its ops."""
    owner, _, method = op.qualified.rpartition(".")
    called = op.name == "py.call_library" and method == "__call__"
    layer = owner.rpartition(".")[2] if called else op.library
    if layer in NORMALISING and (called or (op.name == "array.map" and op.function in ("add", "multiply"))):
        return Meaning(Kind.NORMALISED, op, "normalisation")
    if layer in EMBEDDING and (called or op.name == "array.gather"):
        return Meaning(Kind.EMBEDDED, op, "embedding")
    return None


def _stays(op: Op, kind: Kind) -> bool:
    """Whether probabilities stay what they are: with a small constant added, and `1 - p` is one as well."""
    # What keeps a logarithm away from zero is added to logarithms by mistake.
    most = {Kind.PROBABILITIES: 1.0, Kind.LOG_PROBABILITIES: 1e-3}.get(kind, -1.0)
    return all(abs(one) <= most for one in op.arguments.values() if isinstance(one, int | float))


@remembered
def meanings_of(facts: Facts) -> Meanings:
    """Return the meanings of a program, once for all who ask."""
    return Meanings(facts.flow)
