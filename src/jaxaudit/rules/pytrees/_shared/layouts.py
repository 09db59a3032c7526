"""Vectors that hold the arrays of a tree one after the other: where two in different orders meet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import sources
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.ops import PASSED_ON
from jaxaudit.rules.pytrees._shared.leaf_lists import Order, order_of
from jaxaudit.spans import NOWHERE

_RAVEL = "jax.flatten_util.ravel_pytree"
_UNRAVEL = "jax.flatten_util.Unravel.__call__"


def meetings(facts: Facts) -> Iterator[tuple[Op, Order, Order]]:
    """Return where elements of the same place come from vectors that hold the same entries, one pair each."""
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
                yield op, made[one], made[other]


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
    return op.name in PASSED_ON or op.name in ("array.map", "array.select")
