"""What the regions of an op take and leave: calls, transformations, loops and branches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from math import inf

from jaxaudit.analyses.domain import Read
from jaxaudit.analyses.ranges.dtypes import of_dtype
from jaxaudit.analyses.ranges.facts import WILD, Range, Zero, carried, given, join, plain, unrelated
from jaxaudit.analyses.ranges.look import Known, Look
from jaxaudit.analyses.ranges.refine import Bound, apply, constraints
from jaxaudit.ir import Op, Region, Value
from jaxaudit.ir.interfaces import Branch, Loop
from jaxaudit.ir.ops import CALLS, CUSTOM_DERIVATIVES, DERIVATIVES, MAPPED, PYTHON_LOOPS

Facts = Sequence[Range]
Reader = Read[Range]

_PASSING = CUSTOM_DERIVATIVES | CALLS
"""Ops whose results are those of their region, as they are."""
_MAPPING = MAPPED - {"tree.map"}
_STAGED = DERIVATIVES | _MAPPING - {"map"} | {"jit"}
"""Ops whose function is made for any arguments of the same types."""


def enter(op: Op, region: Region, read: Reader, turn: int, known: Known) -> Facts:
    """Return the ranges of a region's parameters."""
    taken = _ENTER.get(op.name)
    made = list(taken(op, region, read, turn, known)) if taken is not None else [WILD] * len(region.params)
    made = made[: len(region.params)]
    return made + [WILD] * (len(region.params) - len(made))


def leave(op: Op, read: Reader, known: Known) -> Facts:
    """Return the ranges of an op's results."""
    left = _LEAVE.get(op.name)
    return left(op, read, known) if left is not None else [_by_dtype(value, known) for value in op.results]


def _by_dtype(value: Value, known: Known) -> Range:
    dtype = known.dtype(value)
    return of_dtype(dtype) if dtype is not None and ("int" in dtype or dtype == "bool") else WILD


def _arguments(op: Op, region: Region, read: Reader, turn: int, known: Known) -> Facts:
    if op.name not in _STAGED:
        # A body that several calls share is judged once, so what is zero in one call would be told of all.
        kept = given if region.shared else plain
        return [kept(read(value)) for value in op.operands]
    return [_admitted(value, given(read(value)), known) for value in op.operands]


def _admitted(value: Value, one: Range, known: Known) -> Range:
    """Return what a transformed function may be called with: an array of ones or zeros stands for any array."""
    maker = known.makers.get(value)
    written = maker is None or maker.name in ("py.const", "py.global")
    return one if one.constant is None or written else of_dtype(known.dtype(value))


def _returned(op: Op, read: Reader, known: Known) -> Facts:
    if op.yields:
        return [WILD] * len(op.results)
    return [unrelated(read(value)) for value in op.regions[-1].results]


def _mapped(op: Op, read: Reader, known: Known) -> Facts:
    return [plain(read(value)) for value in op.regions[-1].results]


def _differentiated(op: Op, read: Reader, known: Known) -> Facts:
    """A trace shows the gradients among the results of its region; source shows the function's own results alone."""
    own = [plain(read(value)) for value in op.regions[-1].results]
    return [*own, *(WILD for _ in op.results[len(own) :])]


def _traced_alone(op: Op, read: Reader, known: Known) -> Facts:
    """In source the results of these are not those of the region."""
    if known.types and len(op.regions[-1].results) == len(op.results):
        return _mapped(op, read, known)
    return [WILD] * len(op.results)


def _carry(op: Op, region: Region, read: Reader, turn: int) -> list[Range]:
    """Return what a loop hands to a turn: what it starts with, then what the turn before left."""
    loop = Loop(op)
    slots = loop.carried_in(region)
    if turn:
        return [carried(read(value)) for value in loop.body.results[: len(slots)]]
    starts = [carried(read(one.start)) for one in slots]
    # An iteration that tests its own result often starts with a zero which no turn uses.
    return [_started(one) for one in starts] if op.name in ("scan", "fori") else starts


def _started(one: Range) -> Range:
    """Return what a loop starts with: a zero there is one that the first turn surely sees."""
    return one._replace(zero=_START) if one.constant == 0 else one


_START = Zero("the loop starts with 0", ordinary=True)


def _scanned(op: Op, region: Region, read: Reader, turn: int, known: Known) -> Facts:
    return [*_carry(op, region, read, turn), *(plain(read(whole)) for _, whole in Loop(op).elements)]


def _counted(op: Op, region: Region, read: Reader, turn: int, known: Known) -> Facts:
    bounds = op.operands[: len(op.operands) - len(Loop(op).carried)]
    lower, upper = (read(value) for value in bounds) if len(bounds) == 2 else (WILD, WILD)
    starts = _START if lower.constant == 0 and upper.low > 0 else None
    index = Range(lower.low, max(upper.high - 1, lower.low), integer=True, zero=starts)
    return [index, *_carry(op, region, read, turn)]


def _turn(op: Op, region: Region, read: Reader, turn: int, known: Known) -> Facts:
    last = inf if op.most_trips is None else max(op.most_trips - 1.0, 0.0)
    return [Range(0.0, last, integer=True), *_carry(op, region, read, turn)]


def _looped(op: Op, region: Region, read: Reader, turn: int, known: Known) -> Facts:
    """The condition and the body of a `while` take the same carry; in the body the condition holds."""
    made = _carry(op, region, read, turn)
    return made if Loop(op).is_condition(region) else _tested(op, made, read, known, holds=True)


def _after_loop(op: Op, read: Reader, known: Known) -> Facts:
    """What is carried is what it was at the start or what a turn left; the rest of a scan is of all turns."""
    starts = {one.position: one.start for one in Loop(op).carried}
    rest = unrelated if op.name == "scan" else carried
    return [
        join(carried(read(starts[at])), carried(read(value))) if at in starts else rest(read(value))
        for at, value in enumerate(Loop(op).body.results)
    ]


def _tested(op: Op, made: list[Range], read: Reader, known: Known, *, holds: bool) -> Facts:
    """Narrow what a `while` carries by its condition."""
    test = op.regions[0]
    if len(op.regions) < 2 or not test.results or len(test.params) != len(made):
        return made
    return _narrowed(made, test.params, Look(op, read, known), test.results[0], holds=holds)


def _narrowed(made: list[Range], params: Sequence[Value], look: Look, condition: Value, *, holds: bool) -> Facts:
    known = constraints(look, condition, holds=holds)
    return [
        one if (bound := known.get((param, ()))) is None else apply(one, bound)
        for one, param in zip(made, params, strict=True)
    ]


def _branch(op: Op, region: Region, read: Reader, turn: int, known: Known) -> Facts:
    """Operands of a branch are what the predicate says of them there."""
    made = [plain(read(value)) for value in op.operands[1:]]
    if op.name != "cond" or len(op.regions) != 2:
        return made
    bounds = _bounds(op, region, read, known)
    return [
        one if (bound := bounds.get(value)) is None else apply(one, bound)
        for one, value in zip(made, op.operands[1:], strict=True)
    ]


def branch_bounds(op: Op, region: Region, read: Reader, known: Known) -> Mapping[Value, Bound]:
    """Return what a branch knows of values from outside it, by the condition under which it runs."""
    if op.name not in ("py.branch", "cond") or len(op.regions) != 2 or not op.operands:
        return {}
    if op.name == "py.branch" and [one.label for one in op.regions] != ["then", "else"]:
        return {}
    return _bounds(op, region, read, known)


def _bounds(op: Op, region: Region, read: Reader, known: Known) -> Mapping[Value, Bound]:
    found = constraints(Look(op, read, known), op.operands[0], holds=region is op.regions[0])
    return {value: bound for (value, layout), bound in found.items() if not layout}


def _joined(op: Op, read: Reader, known: Known) -> Facts:
    arms = [[plain(read(value)) for value in region.results] for region in Branch(op).arms]
    return [reduce(join, facts) for facts in zip(*arms, strict=False)]


def _pair(op: Op, region: Region, read: Reader, turn: int, known: Known) -> Facts:
    made = [carried(read(value)) for value in op.operands]
    if turn:
        made = [join(one, carried(read(value))) for one, value in zip(made, region.results, strict=False)]
    return made if len(made) == len(region.params) else [*made, *made]


def _after_pairs(op: Op, read: Reader, known: Known) -> Facts:
    results = op.regions[0].results
    return [join(carried(read(a)), carried(read(b))) for a, b in zip(op.operands, results, strict=False)]


Enter = Callable[[Op, Region, Reader, int, Known], Facts]
Leave = Callable[[Op, Reader, Known], Facts]

_ENTER: Mapping[str, Enter] = {
    **dict.fromkeys(_PASSING | _MAPPING | DERIVATIVES | {"abstract"}, _arguments),
    "scan": _scanned,
    "fori": _counted,
    "while": _looped,
    "cond": _branch,
    "py.branch": _branch,
    "associative_scan": _pair,
    **dict.fromkeys(PYTHON_LOOPS, _turn),
}
_LEAVE: Mapping[str, Leave] = {
    **dict.fromkeys(_PASSING, _returned),
    **dict.fromkeys(_MAPPING, _mapped),
    "grad": _differentiated,
    **dict.fromkeys(("jvp", "vjp"), _traced_alone),
    "while": lambda op, read, known: _tested(op, list(_after_loop(op, read, known)), read, known, holds=False),
    "cond": _joined,
    "py.branch": _joined,
    "associative_scan": _after_pairs,
    **dict.fromkeys(("scan", "fori", "py.loop", "py.while"), _after_loop),
}
