"""A sign that one noise is drawn again on purpose: it is added once, and taken away another time.

Methods that estimate a gradient from two losses (SPSA, evolution strategies, MeZO) draw the same noise several times
rather than keep it: `p + eps * z`, `p - eps * z`, and then a step along `z`.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.keys import Use
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.products import Sums
from jaxaudit.analyses.queries import ahead, walk
from jaxaudit.ir import Op, Value
from jaxaudit.ir.functions import SIGN_KEEPING, SUMS_OF_TWO
from jaxaudit.ir.ops import HOLDING
from jaxaudit.rules.base import Obligation
from jaxaudit.rules.intent.subjects import keys_of


def replayed(one: Obligation, facts: Facts) -> str:
    """Read from the signs with which the same noise is added: `move(x, key, eps)`, then `move(x, key, -2 * eps)`."""
    uses = one.subject.uses
    if len(uses) != 2:
        return ""
    flow, (first, second) = facts.flow, uses
    alike = [use for use in _uses_beside(facts, second) if use.consumes and use.term is second.term]
    draws = {use: tuple(_drawn(flow, use)) for use in {first, second, *alike}}
    kinds = {use: {op.qualified for op in found} for use, found in draws.items()}
    if not kinds[first] or kinds[first] != kinds[second]:
        return ""
    same = {use: found for use, found in draws.items() if kinds[use] == kinds[first]}
    noise = {op: set(_scaled(flow, op)) for found in same.values() for op in found}
    signs = {_sign(flow, use, [noise[op] for op in found], set().union(*noise.values())) for use, found in same.items()}
    return "the same noise is added once and taken away another time, so it is drawn again" if {1, -1} <= signs else ""


def _uses_beside(facts: Facts, use: Use) -> tuple[Use, ...]:
    """Return all uses of keys that are judged together with one."""
    return next((scope.uses for scope in keys_of(facts).scopes if use in scope.uses), ())


def _drawn(flow: Flow, use: Use) -> Iterator[Op]:
    """Return the draws from a key, or from the keys that it is split into."""
    site = use.origin.site
    if site.name == "key.draw":
        yield site
        return
    for value in walk(site.results, lambda one: ahead(flow, one, _holds)):
        yield from (op for op in flow.readers.get(value, ()) if op.name == "key.draw")


def _sign(flow: Flow, use: Use, drawn: list[set[Value]], noise: set[Value]) -> int:
    """Return the sign of the factor with which noise is added to what is none; 0 where it is not known."""
    calls = {id(region): one.site for one in use.chain for region in one.site.regions}
    sums, found = Sums.of(flow, calls), set[int]()
    for own in drawn:
        readers = (op for value in own for op in flow.readers.get(value, ()))
        for op in (op for op in readers if op.name == "array.map" and op.function in SUMS_OF_TWO):
            parts = sums.products(op.result)
            if not all(noise.intersection(part.factors) for part in parts):
                added = [part.coefficient for part in parts if not own.isdisjoint(part.factors)]
                found.update((one > 0) - (one < 0) for one in added)
    return found.pop() if len(found) == 1 else 0


def _holds(op: Op) -> bool:
    return op.name in HOLDING


def _scaled(flow: Flow, draw: Op) -> Iterator[Value]:
    """Return noise and its multiples, under all names that borders and containers give them."""

    def keeps(op: Op) -> bool:
        return _holds(op) or (op.name == "array.map" and op.function in SIGN_KEEPING)

    return walk(draw.results, lambda one: ahead(flow, one, keeps))
