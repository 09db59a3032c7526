"""Arrays that add up to one along an axis, however they are written.

`softmax`, a division by one's own sum, `exp(x - logsumexp(x))`, a draw from a Dirichlet distribution: each gives one
axis along which the entries add up to one. The same holds of logarithms whose exponentials do. From there the axis is
followed wherever the array goes: transposed, reshaped, handed to functions, mapped over, carried by loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.analyses.axes.slots import Slot, onward, slot
from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.literals import axes_in
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import AWAY_FROM_ZERO, COMPARISONS, IDENTITIES, MASKS, NORMALISED_EXPONENTIALS, TRUTHS
from jaxaudit.ir.ops import KEEPING, MOVING, PASSED_ON, REDUCING
from jaxaudit.ir.record import record

_UNCHANGED = AWAY_FROM_ZERO | IDENTITIES
"""Functions by which a sum is kept away from zero."""
_DROPOUT = "Dropout.__call__"
_ALIKE = ("array.map", "py.item")
"""Ops that make the same of the same."""


@record
class Normalised:
    """An op after which entries add up to one along an axis."""

    op: Op
    slot: Slot
    log: bool
    """Whether it is the exponentials of the entries that add up to one."""
    total: Op | None = None
    """The sum that is divided by, where it is written out."""


@record
class Share:
    """An array that is as normalised as when it was made, up to its logarithm and entries that are masked."""

    slot: Slot
    log: bool
    strict: bool = True
    """Whether the entries surely still add up to one."""


def normalised(facts: Facts, op: Op) -> Normalised | None:
    """Return along which axis an op makes entries add up to one; None for any other op, and for several axes."""
    axes, log, total = _axes(op, facts.flow)
    if axes is None or len(axes) != 1 or len(op.results) != 1:
        return None
    found = slot(op.result, axes[0], facts.get(Shapes))
    return None if found is None else Normalised(op, found, log, total)


def _axes(op: Op, flow: Flow) -> tuple[tuple[int, ...] | None, bool, Op | None]:
    if op.name == "array.normalise" and op.function in NORMALISED_EXPONENTIALS:
        return axes_in(op.arguments.get("axis", -1)), op.function == "log_softmax", None
    if op.name == "key.draw" and op.function == "dirichlet":
        return (-1,), False, None
    wanted = {"divide": "sum", "subtract": "logsumexp"}.get(op.function) if op.name == "array.map" else None
    top, bottom = op.argument("x"), op.argument("y")
    if wanted is None or not isinstance(top, Value) or not isinstance(bottom, Value):
        return None, False, None
    total = total_behind(bottom, flow)
    if total is None or total.function != wanted or not total.operands or not same_values(total.operands[0], top, flow):
        return None, False, None
    return axes_in(total.argument("axis")), wanted == "logsumexp", total


def total_behind(value: Value, flow: Flow) -> Op | None:
    """Return the reduction that a value is, with its axis put back or a small number added."""
    op = behind_guards(value, flow)
    return op if op is not None and op.name in REDUCING else None


def behind_guards(value: Value, flow: Flow) -> Op | None:
    """Return what made a value before its axes were put back and it was kept away from zero."""

    def before(one: Value) -> Sequence[Value]:
        op = flow.own_maker(one)
        if op is None:
            given = flow.passed(one)
            return () if given is None else (given,)
        kept = op.name in KEEPING or op.name in ("array.select", "py.item") or op.function in _UNCHANGED
        return op.operands if kept and len(op.operands) == 1 else ()

    *_, source = walk((value,), before)
    return flow.maker(source)


def same_values(first: Value, second: Value, flow: Flow) -> bool:
    """Whether two values are one, or are computed alike of the same."""
    pending = [(first, second)]
    for one, other in pending:
        one, other = plain(one, flow), plain(other, flow)
        ops = flow.maker(one), flow.maker(other)
        if one is other:
            continue
        if ops[0] is None or ops[1] is None or ops[0].name != ops[1].name or ops[0].name not in _ALIKE:
            return False
        given = [list(op.arguments.values()) for op in ops if op is not None]
        if ops[0].function != ops[1].function or len(given[0]) != len(given[1]):
            return False
        for a, b in zip(*given, strict=True):
            if isinstance(a, Value) and isinstance(b, Value):
                pending.append((a, b))
            elif a != b:
                return False
    return True


def plain(value: Value, flow: Flow) -> Value:
    """Return what a value was before conversions, and before it was handed to a function."""

    def before(one: Value) -> Sequence[Value]:
        op = flow.own_maker(one)
        given = flow.passed(one) if op is None else None
        return op.operands[:1] if op is not None and op.name in PASSED_ON else () if given is None else (given,)

    *_, source = walk((value,), before)
    return source


def shares(facts: Facts, one: Normalised) -> Iterator[Share]:
    """Return every array that still is what a normalisation made, with the axis where it is there."""
    return walk((Share(one.slot, one.log),), lambda share: _next(facts, share))


def _next(facts: Facts, share: Share) -> Iterator[Share]:
    for op, made in onward(facts, share.slot):
        if op is None or op.name in MOVING:
            # What is cut out of the axis has no mark of it any more.
            yield Share(made, share.log, share.strict)
        elif op.name == "array.map" and op.function == ("exp" if share.log else "log"):
            yield Share(made, not share.log, share.strict)
        elif _masks(facts, op, share.slot.value):
            yield Share(made, share.log, False)


def _masks(facts: Facts, op: Op, value: Value) -> bool:
    """Whether an op only leaves some entries out, or keeps them away from zero."""
    if op.qualified.endswith(_DROPOUT) or op.name == "array.select":
        return True
    if op.name != "array.map":
        return False
    others = [one for one in op.operands if one is not value]
    if op.function == "multiply":
        return len(others) == 1 and _is_mask(facts, others[0])
    return not others and op.function in _UNCHANGED


def _is_mask(facts: Facts, value: Value) -> bool:
    source = plain(value, facts.flow)
    maker = facts.flow.maker(source)
    known = maker is not None and maker.function in COMPARISONS | TRUTHS | MASKS
    return known or facts.get(Shapes).of(source).dtype == "bool"


@remembered
def all_normalised(facts: Facts) -> Sequence[Normalised]:
    """Return every normalisation of a program."""
    ops = facts.program.named("array.normalise", "array.map", "key.draw")
    return tuple(one for op in ops if (one := normalised(facts, op)) is not None)


@remembered
def _adding_up(facts: Facts) -> dict[Share, Normalised]:
    return {share: one for one in all_normalised(facts) for share in shares(facts, one) if share.strict}


def already(facts: Facts, one: Normalised) -> Normalised | None:
    """Return what has made the entries add up to one along this very axis before; None where nothing has."""
    if one.total is None or one.slot.place is None:
        return None
    given = slot(one.total.operands[0], one.slot.place, facts.get(Shapes))
    found = None if given is None else _adding_up(facts).get(Share(given, one.log))
    return None if found is None or found.op is one.op else found
