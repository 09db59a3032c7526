"""Slices of one array that meet element by element, however far apart they were cut, whatever else meets them there.

`(edges[:-1] <= x) & (x < edges)` joins rows that are one shorter with rows that are not, for every `x`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.axes.normalised import plain
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.shapes.transfer.rarer import is_usual
from jaxaudit.ir import REST, Argument, Op, Program, Value
from jaxaudit.ir.functions import OF_LISTS
from jaxaudit.ir.ops import ELEMENTWISE, PASSED_ON
from jaxaudit.ir.record import record
from jaxaudit.ir.values import index_parts
from jaxaudit.spans import Span

Part = int | str | None
"""How many rows a slice leaves out, whatever the size; a text for an index of another kind, None for one not known."""


@record
class Cut:
    """What an index leaves of an array."""

    base: Value
    parts: tuple[Part, ...]
    span: Span


def slices_met(program: Program, flow: Flow) -> Iterator[tuple[Op, Cut, Cut]]:
    """Return each op where two slices of one array first meet that are of different lengths for sure."""
    known: dict[Value, frozenset[Cut]] = {}
    for op in program.walk():
        if op.name not in ELEMENTWISE or len(op.operands) < 2 or not is_usual(op):
            continue
        sides = [_cuts(value, flow, known) for value in op.operands]
        pairs = (pair for at, one in enumerate(sides) for other in sides[at + 1 :] for pair in _of_one_base(one, other))
        found = next((pair for pair in pairs if _differ(*pair)), None)
        if found is not None:
            yield op, *found


def is_array(value: Value, flow: Flow) -> bool:
    """Whether something is used as only arrays are: lists are compared, added and repeated too."""
    return any(_takes_array(op) for op in flow.readers.get(value, ()))


def _takes_array(op: Op) -> bool:
    if op.name == "py.item":
        return len(index_parts(op.arguments.get("index"))) > 1
    operator = op.is_operator and op.function not in OF_LISTS
    return op.name.startswith("array.") and op.name != "array.shape" and (operator or op.qualified.startswith("jax."))


def _cuts(value: Value, flow: Flow, known: dict[Value, frozenset[Cut]]) -> frozenset[Cut]:
    """Return the arrays and slices that a value is computed of element by element."""
    found = known.get(value)
    if found is None:
        known[value] = frozenset()
        found = known[value] = _found(value, flow, known)
    return found


def _found(value: Value, flow: Flow, known: dict[Value, frozenset[Cut]]) -> frozenset[Cut]:
    op = flow.maker(value)
    if op is not None and op.operands and (op.name in PASSED_ON or (op.name in ELEMENTWISE and is_usual(op))):
        return frozenset().union(*(_cuts(one, flow, known) for one in op.operands))
    whole = Cut(plain(value, flow), (), value.span)
    if op is None or op.name != "py.item" or not op.operands:
        return frozenset((whole,))
    return frozenset((Cut(plain(op.operands[0], flow), _parts(op.arguments.get("index")), op.span), whole))


def _of_one_base(first: frozenset[Cut], second: frozenset[Cut]) -> Iterator[tuple[Cut, Cut]]:
    """Return the slices on both sides that leave other rows of one array: most are of arrays of their own."""
    others: dict[Value, list[Cut]] = {}
    for cut in second:
        others.setdefault(cut.base, []).append(cut)
    for cut in first:
        yield from ((cut, other) for other in others.get(cut.base, ()) if other.parts != cut.parts)


def _parts(index: Argument) -> tuple[Part, ...]:
    return tuple(map(_part, index_parts(index)))


def _part(part: Argument) -> Part:
    if part == REST or part is None:
        return str(part)
    if not isinstance(part, Mapping) or part.get("step") not in (None, 1):
        return None
    start, stop = part.get("start") or 0, part.get("stop") or 0
    return start - stop if isinstance(start, int) and isinstance(stop, int) and start >= 0 >= stop else None


def _differ(first: Cut, second: Cut) -> bool:
    """Whether two slices that leave other rows of one array have different lengths for sure, and the same axes."""
    one, other = _filled(first.parts, second.parts), _filled(second.parts, first.parts)
    if len(one) != len(other) or None in one or None in other:
        return False
    pairs = list(zip(one, other, strict=True))
    same_kind = all(a == b or (isinstance(a, int) and isinstance(b, int)) for a, b in pairs)
    return same_kind and any(a != b for a, b in pairs)


def _filled(parts: tuple[Part, ...], other: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return the parts of an index with those that it leaves out, as many as the other one has."""
    if str(REST) in parts or (str(REST) in other and parts):
        return parts
    return (*parts, *(one if isinstance(one, str) and one == str(REST) else 0 for one in other[len(parts) :]))
