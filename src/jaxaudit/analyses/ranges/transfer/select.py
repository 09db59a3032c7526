"""Choices between arrays: each arm is looked at again for the elements that the condition lets through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from jaxaudit.analyses.ranges import arithmetic
from jaxaudit.analyses.ranges.facts import DEEP, WILD, Range, Zero, exactly, join, unrelated
from jaxaudit.analyses.ranges.look import Look, Transfer, single
from jaxaudit.analyses.ranges.refine import Constraints, constraints, refined
from jaxaudit.analyses.ranges.transfer import create, maps
from jaxaudit.ir import Argument, Value
from jaxaudit.ir.functions import CLIPS, EQUALITIES, ORDERINGS, TRIANGLES
from jaxaudit.ir.ops import COMPUTED, ELEMENTWISE, KEEPING

_MASKED = Zero("elements that the condition leaves out are 0", ordinary=True, blocks=True)
_TRIANGLE = Zero("the other triangle is 0", ordinary=True, fixed=True, blocks=True)


def _select(look: Look) -> Range:
    name = look.function
    if name in CLIPS:
        return _clipped(look)
    if name in TRIANGLES:
        return join(unrelated(look.first()), exactly(0.0))._replace(zero=_TRIANGLE)
    if name == "select" and look.has("condlist"):
        return _listed(look)
    if name in ("where", "select", "select_n") and look.has("x", "on_true"):
        condition = look.raw("condition", "pred")
        return _chosen(look, condition, look.raw("x", "on_true"), look.raw("y", "on_false"))
    cases = look.raw("cases")
    if isinstance(cases, tuple) and cases:
        return unrelated(look.of(cases))
    return maps.by_dtype(look)


def _chosen(look: Look, condition: Argument, x: Argument, y: Argument) -> Range:
    asked = look.of(condition)
    if asked.constant is not None:
        return look.of(x) if asked.constant else look.of(y)
    first = arm_range(look, x, constraints(look, condition, holds=True))
    second = arm_range(look, y, constraints(look, condition, holds=False))
    made = _marked(_either(unrelated(first), unrelated(second)), first, second)
    if made.zero is _MASKED and _compares_anything(look, condition):
        return made._replace(zero=_MASKED._replace(assumed=True))
    if made.zero is _MASKED and _asks_for_coincidence(look, condition):
        return made._replace(zero=_MASKED._replace(ordinary=False))
    if made.zero is _MASKED and _is_of_positions(look, condition):
        return made._replace(zero=_MASKED._replace(fixed=True))
    return made


def _either(first: Range, second: Range) -> Range:
    """Join two arms; the condition may leave out the very elements of one that are zero."""
    made = join(first, second)
    return made if first.zero is not None and second.zero is not None else made._replace(zero=None)


def _compares_anything(look: Look, condition: Argument) -> bool:
    """Whether a condition is on numbers that may all lie on one side of it; a mask has both kinds of elements."""
    maker = look.known.makers.get(condition) if isinstance(condition, Value) else None
    if maker is None or maker.name != "array.map" or maker.function not in ORDERINGS:
        return False
    sides = [look.of(one) for one in maker.arguments.values()]
    return all(one.constant is not None or (one.low == -inf and one.high == inf) for one in sides)


def _is_of_positions(look: Look, condition: Argument) -> bool:
    """Whether a condition is on the positions of elements alone, such as those below a diagonal."""
    pending, positions = [condition], False
    while pending:
        maker = look.maker(pending.pop())
        if maker is None or (maker.name not in ELEMENTWISE | KEEPING | {"array.create"}):
            return False
        positions |= maker.name == "array.create"
        pending += maker.operands
    return positions


def _asks_for_coincidence(look: Look, condition: Argument) -> bool:
    """Whether a condition asks if a computed real number is exactly zero: ordinary inputs do not make it so."""
    maker = look.maker(condition)
    if maker is None or maker.name != "array.map" or maker.function not in EQUALITIES:
        return False
    sides = list(maker.arguments.values())
    asked = next((one for one in sides if isinstance(one, Value) and look.of(one).constant is None), None)
    made = look.maker(asked)
    computed = made is not None and made.name in COMPUTED
    return computed and any(look.of(one).constant == 0 for one in sides) and not look.of(asked).integer


def arm_range(look: Look, arm: Argument, known: Constraints) -> Range:
    """Return the range of an arm for the elements that a condition lets through."""
    return look.of(arm) if not known else refined(look, arm, known, _again)


def _again(look: Look) -> Range | None:
    if look.op.name == "array.map":
        return maps.map_again(look)
    if look.op.name == "array.convert":
        return create.convert(look)
    return _select(look) if look.op.name == "array.select" and look.function in CLIPS else None


def _marked(made: Range, first: Range, second: Range) -> Range:
    """Return what a constant arm brings in for sure: zero, or something far below."""
    for arm in (first, second):
        if arm.constant == 0:
            made = made._replace(zero=_MASKED)
        if arm.high <= DEEP:
            made = made._replace(sinks="elements that the condition leaves out are far below the others")
    return made


def _clipped(look: Look) -> Range:
    x = look.range("x", "arr", "a")
    low, high = look.raw("min", "a_min", "lower"), look.raw("max", "a_max", "upper")
    made = x if low is None else arithmetic.maximum(x, look.of(low))
    made = made if high is None else arithmetic.minimum(made, look.of(high))
    if low is not None and look.of(low).constant == 0 and x.low < 0:
        zero = Zero("`clip` at 0 gives 0 for every negative input", ordinary=True, assumed=x.low == -inf)
        made = made._replace(zero=zero)
    return made._replace(relation=None, peak=None)


def _listed(look: Look) -> Range:
    choices, default = look.raw("choicelist"), look.raw("default")
    if not isinstance(choices, tuple):
        return WILD
    return unrelated(join(look.of(choices), exactly(0.0) if default is None else look.of(default)))


def _single(look: Look) -> Sequence[Range | None]:
    if look.function == "where" and not look.has("x", "y"):
        return [Range(0.0, integer=True)] * len(look.op.results)
    return single(_select)(look)


TABLE: Mapping[str, Transfer] = {"array.select": _single}
