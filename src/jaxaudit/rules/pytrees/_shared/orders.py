"""Whether sequences and vectors that are paired by position hold their entries in one order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, product

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import contexts
from jaxaudit.analyses.queries import sources
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.ops import ELEMENTWISE, PASSED_ON
from jaxaudit.rules.base import Obligation, Raises, Step, proved
from jaxaudit.rules.pytrees._shared.leaf_lists import Order, order_of
from jaxaudit.spans import NOWHERE

_RAVEL = "jax.flatten_util.ravel_pytree"
_UNRAVEL = "jax.flatten_util.Unravel.__call__"


def in_order(op: Op, flow: Flow) -> list[Obligation]:
    """Compare the orders in which sequences stand that are put together item by item."""
    found = []
    for context in contexts(flow, op):
        known = [one for given in op.orders or () if (one := order_of(flow, given, context)) is not None]
        for one, other in combinations(known, 2):
            if set(one.keys) == set(other.keys):
                found.append(_ordered(op, one, other))
    return found


def vectors_in_order(facts: Facts) -> Iterator[Obligation]:
    """Compare the orders of vectors that hold the same entries and meet element by element, one pair each."""
    flow, program = facts.flow, facts.program
    made = {op: order for op in program.named("array.join") if (order := _order(flow, op)) is not None}
    if len({order.keys for order in made.values()}) < 2:
        return
    told: set[frozenset[Op]] = set()
    for op in (*program.named("array.map"), *program.calling(_UNRAVEL)):
        pair = ("self", "flat") if op.qualified == _UNRAVEL else ("x", "y")
        first, second = (_joined(flow, op.arguments.get(name)) & made.keys() for name in pair)
        for one, other in product(first, second):
            if set(made[one].keys) == set(made[other].keys) and frozenset((one, other)) not in told:
                told.add(frozenset((one, other)))
                yield _ordered(op, made[one], made[other])


def _ordered(op: Op, one: Order, other: Order) -> Obligation:
    if one.keys == other.keys:
        return proved(op.span, "what is put together stands in one order")
    steps = [Step(each.span, f"this has {each.words}") for each in (one, other) if each.span.line]
    apart = next(pair for pair in zip(one.keys, other.keys, strict=True) if pair[0] != pair[1])
    return _disordered(op, apart, one, other, steps)


def _disordered(op: Op, apart: tuple[str, str], one: Order, other: Order, steps: list[Step]) -> Obligation:
    return Obligation(
        op.span,
        message=f"items are paired by position, and `{apart[0]}` meets `{apart[1]}`",
        current=f"one has {one.words}, the other {other.words}",
        raises=Raises.NOTHING,
        expected="both stand in one order",
        steps=tuple(steps),
        suggestion="map over both with `jax.tree.map`, or take both apart with `jax.tree.leaves`",
    )


def _order(flow: Flow, op: Op) -> Order | None:
    tree = op.arguments.get("pytree")
    if op.qualified == _RAVEL:
        texts = isinstance(tree, Mapping) and all(isinstance(key, str) for key in tree)
        return Order(tuple(sorted(tree)), "the order of sorted keys", op.span) if texts else None
    listed = op.arguments.get("arrays")
    given = next(iter(op.orders or ()), ((), listed if isinstance(listed, Value) else None, NOWHERE))
    found = order_of(flow, given, {})
    return None if found is None else found._replace(span=op.span)


def _joined(flow: Flow, given: Argument) -> set[Op]:
    """Return the ops that a value has its elements from, place by place."""
    found = sources(flow, values_in(given), lambda op: _keeps_places(flow, op))
    return {made for one in found if (made := flow.maker(one)) is not None}


def _keeps_places(flow: Flow, op: Op) -> bool:
    if op.name == "py.unpack":
        made = flow.maker(op.operands[0])
        return made is not None and made.qualified == _RAVEL
    return op.name in PASSED_ON or op.name in ELEMENTWISE
