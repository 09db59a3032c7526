"""Pairs of uses that spend the same key in one execution of a scope."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from jaxaudit.analyses.keys.overlap import Overlap, overlap, way
from jaxaudit.analyses.keys.terms import Atom, Fold, Number, Seed, Split, Term
from jaxaudit.analyses.keys.uses import How, Scope, Use
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.paths import Places
from jaxaudit.analyses.queries import depends
from jaxaudit.ir import Op
from jaxaudit.ir.record import entity

_MAX_GROUP = 300


@entity
class Conflict:
    """Two uses of one key; `certain` when both spend it and nothing is left open."""

    first: Use
    second: Use
    certain: bool
    handed: bool = False
    """True when it is the same key for sure, and one of the two uses is by a callee that could not be followed."""
    collision: bool = False
    """True when the keys only coincide: `split(key, n)[i]` is `fold_in(key, i)`."""

    @property
    def folds_meet(self) -> bool:
        """Whether both fold into one key, at two places, what may be the same number."""
        one, other = (way(use.term)[0] for use in (self.first, self.second))
        return one is not other and isinstance(one, Fold) and isinstance(other, Fold)


def conflicts(scope: Scope, flow: Flow) -> dict[Use, Conflict]:
    """Find, for each use in a scope, the earlier use it repeats; a certain conflict wins over a doubtful one."""
    found: dict[Use, Conflict] = {}
    places = flow.places
    if len(scope.uses) < 2 or not any(use.consumes for use in scope.uses):
        return found
    for group in _groups(scope.uses):
        for later in range(1, len(group)):
            for earlier in range(later):
                conflict = _judge(group[earlier], group[later], places)
                if conflict is not None:
                    _keep(found, conflict)
    for first, second in _collisions(scope.uses):
        conflict = _judge(first, second, places, collision=True)
        if conflict is not None:
            _keep(found, conflict)
    for first, second in _derived(scope.uses, flow):
        if places.comes_before(first.spot, second.spot) and _both_happen(first, second, places):
            _keep(found, Conflict(first, second, certain=False))
    return found


def _derived(uses: Iterable[Use], flow: Flow) -> Iterator[tuple[Use, Use]]:
    """Pair keys of which nothing is known with those that they were computed from, and so may be."""
    spent = [(use, _start(use.term)) for use in uses if use.consumes]
    unclear = [(use, start.value) for use, start in spent if isinstance(start, Atom) and start.opaque]
    for use, start in spent if unclear else ():
        made = start.tag[-1].results if isinstance(start, Split | Seed) else ()
        held = (start.value,) if isinstance(start, Atom) else made
        yield from ((one, use) for one, value in unclear if one is not use and depends(flow, value, held))


def _start(term: Term) -> Term:
    start = way(term)[0]
    return _start(start.parent) if isinstance(start, Fold) else start


def _keep(found: dict[Use, Conflict], conflict: Conflict) -> None:
    known = found.get(conflict.second)
    if known is None or (conflict.certain, conflict.handed) > (known.certain, known.handed):
        found[conflict.second] = conflict


def _groups(uses: Iterable[Use]) -> Iterator[list[Use]]:
    """Put uses that come from the same key together; only groups in which something is spent matter."""
    groups: defaultdict[Term, list[Use]] = defaultdict(list)
    for use in uses:
        if use.how is not How.FOLD:
            start = way(use.term)[0]
            groups[start.parent if isinstance(start, Fold) else start].append(use)
    for group in groups.values():
        if len(group) > 1 and any(use.consumes for use in group):
            yield group[:_MAX_GROUP]


def _judge(one: Use, other: Use, places: Places, collision: bool = False) -> Conflict | None:
    if not (one.consumes or other.consumes) or _judged_inside(one, other):
        return None
    relation = Overlap.SAME if collision else overlap(one.term, other.term)
    if relation is Overlap.DISJOINT:
        return None
    first, second = (one, other) if places.comes_before(one.spot, other.spot) else (other, one)
    if not _both_happen(first, second, places) or _drawn_again(first.origin.site, second.origin.site):
        return None
    same = relation is Overlap.SAME and one.certain and other.certain
    spent = one.consumes and other.consumes
    handed = not spent and How.PASS in (one.how, other.how)
    return Conflict(first, second, same and spent, same and handed, collision)


def is_in_rule(one: Op, other: Op) -> bool:
    """Whether the second op is part of a backward rule, and the first of what it is the rule of."""
    return bool(other.backward) and bool(other.rule) and not one.backward


def _drawn_again(one: Op, other: Op) -> bool:
    """Whether a backward rule draws once more what the forward pass drew, instead of saving it."""
    same = one.name == other.name and one.qualified == other.qualified
    return (
        same
        and is_in_rule(one, other)
        and all(one.arguments.get(name) == other.arguments.get(name) for name in ("shape", "num"))
    )


def _judged_inside(one: Use, other: Use) -> bool:
    """Two uses by one call were judged in the callee, unless they are of different keys there."""
    if one.site is not other.site:
        return False
    if one.inner is None or other.inner is None:
        return one.value is other.value
    return one.inner.term is other.inner.term or way(one.inner.term)[0] is way(other.inner.term)[0]


def _both_happen(first: Use, second: Use, places: Places) -> bool:
    if first.spot is not second.spot and not places.both_happen(first.spot, second.spot):
        return False
    if any(op is other and taken != also for op, taken in first.assume for other, also in second.assume):
        return False
    return _allowed(first, second, places) and _allowed(second, first, places)


def _allowed(use: Use, other: Use, places: Places) -> bool:
    """Whether the branches that gave the key are compatible with those another use stands in."""
    place = places.region_of[other.spot]
    return not any(
        i != taken and places.within(place, region) for op, taken in use.assume for i, region in enumerate(op.regions)
    )


def _collisions(uses: Iterable[Use]) -> Iterator[tuple[Use, Use]]:
    """Pair `fold_in(key, i)` with row i of `split(key, n)`: the same key under JAX's default generator."""
    rows: dict[tuple[Term, object], Use] = {}
    folds: list[Use] = []
    for use in uses:
        base, steps = way(use.term)
        if isinstance(base, Split) and len(steps) == 1 and use.consumes:
            rows.setdefault((base.parent, steps[0]), use)
        elif isinstance(base, Fold) and not steps and isinstance(base.data, Number) and use.consumes:
            folds.append(use)
    for use in folds:
        if isinstance(use.term, Fold) and isinstance(use.term.data, Number):
            other = rows.get((use.term.parent, use.term.data.value))
            if other is not None:
                yield other, use
