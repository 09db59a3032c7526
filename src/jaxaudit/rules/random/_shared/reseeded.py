"""Calls that make their key of the same seed, and what they draw is trained side by side: twin critics, ensembles.

Two runs that start alike are a fair comparison, and a target starts as a copy of what it follows. But two things that
both learn, in one place, are two so that they differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.keys import KeyFacts
from jaxaudit.analyses.keys.terms import Atom, Fold, Row, Seed, Split, Term, root
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import ahead, holders, sources, walk
from jaxaudit.ir import Op, Region, Value
from jaxaudit.ir.interfaces import leaves_as
from jaxaudit.ir.ops import HOLDING
from jaxaudit.ir.record import record
from jaxaudit.libraries.lookup import plays


@record
class Twins:
    """Two calls that draw the same, and what is made of them in one place."""

    seed: Op
    draw: Op
    first: Op
    second: Op
    together: Op
    """What takes both."""


@record
class _Made:
    seed: Op
    draw: Op
    call: Op
    values: frozenset[Value]
    """What is drawn, under all the names that it has by and by."""


def twins(keys: KeyFacts, facts: Facts) -> Iterator[Twins]:
    """Return the pairs of calls that give the same random numbers to two things which are trained together."""
    groups: dict[object, list[_Made]] = {}
    for draw in facts.program.named("key.draw"):
        for place, made in _made(draw, keys, facts.flow):
            groups.setdefault(place, []).append(made)
    several = [group for group in groups.values() if len(group) > 1]
    trained = _trained(facts) if several else set()
    for group in several:
        found = [one for one in group if not one.values.isdisjoint(trained)]
        for first, second in combinations(found, 2):
            together = _together(facts.flow, first, second)
            if together is not None:
                yield Twins(first.seed, first.draw, first.call, second.call, together)
                break


def _made(draw: Op, keys: KeyFacts, flow: Flow) -> Iterator[tuple[object, _Made]]:
    """Return what calls of a function give that draws from a key which it makes itself, and how that key is made."""
    term = keys.term(key) if isinstance(key := draw.arguments.get("key"), Value) else None
    start = None if term is None else _seed_of(term)
    home = None if start is None else keys.places.region_of[start.tag[-1]]
    if term is None or start is None or home is None or home.kind != "function" or _is_given(term, home, keys):
        return
    seed = start.tag[-1]
    for call in holders(flow, home):
        drawn = (one for value in draw.results for one in leaves_as(call, home, value)) if home.shared else draw.results
        values = frozenset(walk(drawn, lambda one: ahead(flow, one, _moves)))
        yield (_written(term), draw.span), _Made(seed, draw, call, values)


def _seed_of(term: Term) -> Seed | None:
    """Return the seed that a key comes from."""
    start = root(term)
    while isinstance(start, Split | Fold):
        start = root(start.parent)
    return start if isinstance(start, Seed) else None


def _written(term: Term) -> object:
    """Return how a key is made, as it is written: two calls that make it in the same way make the same one."""
    match term:
        case Seed(tag, data):
            return "seed", tag[-1].span, data
        case Split(parent, tag, num):
            return "split", tag[-1].span, _written(parent), num
        case Fold(parent, data):
            return "fold", _written(parent), data
        case Row(base, index):
            return "row", _written(base), index
    return term


def _is_given(term: Term, home: Region, keys: KeyFacts) -> bool:
    """Whether a key is made of something that calls which share a body may give it, each something else."""
    return home.shared and any(
        isinstance(part, Atom) and keys.places.within(keys.places.region_of_value(part.value), home)
        for part in walk((_written(term),), lambda one: one if isinstance(one, tuple) else ())
    )


def _trained(facts: Facts) -> set[Value]:
    """Return what derivatives are taken at, under all the names that it had before."""
    grads = facts.program.named("grad")
    taken = [op.operands[at] for op in grads for at in op.differentiated or () if at < len(op.operands)]
    return sources(facts.flow, taken, _moves)


def _moves(op: Op) -> bool:
    """Whether an op only hands on what it is given, in a container or an object perhaps."""
    return op.name in HOLDING or plays(op.qualified, "train_state.create")


def _together(flow: Flow, first: _Made, second: _Made) -> Op | None:
    """Return what is given both, each as something of its own."""
    others = second.values - first.values
    readers = (op for value in first.values for op in flow.readers.get(value, ()))
    given = (op for op in readers if op.regions or op.name == "py.container")
    return min((op for op in given if not others.isdisjoint(op.operands)), key=lambda op: op.span, default=None)
