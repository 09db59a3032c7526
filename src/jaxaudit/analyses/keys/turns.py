"""What happens to the keys used in a loop when the next turn comes, and in a mapped function for the next element."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import Enum
from itertools import takewhile

from jaxaudit.analyses.conditions import Condition, conditions, turns_left
from jaxaudit.analyses.domain import Read
from jaxaudit.analyses.keys.rename import Rename
from jaxaudit.analyses.keys.terms import Atom, Fold, Seed, Split, Term, Terms, Tick, root, rows_behind
from jaxaudit.analyses.keys.uses import How, Scope, Use
from jaxaudit.analyses.keys.vary import Variation, Vary
from jaxaudit.analyses.paths import Places
from jaxaudit.ir import Exit, Op, Value
from jaxaudit.ir.functions import CONJUNCTIONS
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import PYTHON_LOOPS
from jaxaudit.ir.record import entity, mutable

_AT_THE_END = frozenset(
    (
        ("equal", True),
        ("not_equal", False),
        ("less", False),
        ("greater_equal", True),
        ("less_equal", False),
        ("greater", True),
    )
)
"""Comparisons of a loop's count with a bound, and the answers that hold in the last turns only."""


class Turn(Enum):
    """What becomes of a use when the region around it runs again."""

    FRESH = "fresh"
    """Another key each time."""
    SAME = "same"
    """The same key each time."""
    SEEDED = "seeded"
    """The same key each time, because it is made anew from the same seed."""
    HANDED_ON = "handed on"
    """Used now, and used once more by the next turn, which starts from it."""
    ONCE = "once"
    """The region does not run again after this use."""
    CHOSEN = "chosen"
    """The same key, in the turns that a comparison with something of the turn picks out: maybe in one alone."""
    UNKNOWN = "unknown"


@entity
class Verdict:
    """One use with what becomes of it; `other` is the use in the next turn of a key that is handed on."""

    use: Use
    turn: Turn
    other: Use | None = None


@mutable
class Turns:
    """Judges the uses of scopes that run again and again."""

    terms: Terms
    places: Places
    read: Read[Term]
    homes: Mapping[Op, Scope] = field(default_factory=dict)
    """The scope of each op that uses a key."""

    def judge(self, scope: Scope) -> Iterator[Verdict]:
        """Return a verdict for every use in a scope that spends a key, or gives away what is a key for sure."""
        judged = [use for use in scope.uses if use.consumes or _gives_key(use)]
        if scope.op is None or not judged:
            return
        general = Variation(scope.op, scope.region, self.places, self.read)
        handed_on = self._handed_on(scope, scope.op)
        for use in judged:
            yield self._verdict(scope, scope.op, use, general, handed_on)

    def _verdict(self, scope: Scope, op: Op, use: Use, general: Variation, handed_on: dict[Term, Use]) -> Verdict:
        if self._runs_once(scope, op, use):
            return Verdict(use, Turn.ONCE)
        varies = general.of(use.term)
        if varies is not Vary.VARIES:
            varies = Variation(op, scope.region, self.places, self.read, use.spot).of(use.term)
        if varies is Vary.VARIES:
            other = handed_on.get(use.term) if use.certain and use.how is not How.FOLD else None
            return Verdict(use, Turn.HANDED_ON if other else Turn.FRESH, other)
        if varies is Vary.UNKNOWN or not use.consumes:
            return Verdict(use, Turn.UNKNOWN)
        if self._folded(scope, use, general):
            return Verdict(use, Turn.FRESH)
        if self._is_exception(scope, use, general):
            return Verdict(use, Turn.UNKNOWN)
        if self._is_chosen(scope, use, general):
            return Verdict(use, Turn.CHOSEN)
        guard = self._guard(scope, use, general)
        if guard is not None:
            return Verdict(use, guard)
        return Verdict(use, Turn.SEEDED if self._seeded_inside(scope, use.term) else Turn.SAME)

    def _folded(self, scope: Scope, use: Use, general: Variation) -> bool:
        """Whether a key is split alike in every turn, and something that changes is folded into all its parts."""
        if use.origin.how is not How.SPLIT:
            return False
        here: Use | None = use
        while here is not None:
            home = scope if here is use else self.homes.get(here.site, scope)
            parts = [one for one in home.uses if one.site is not here.site and _is_part(one.term, here)]
            if parts:
                folded = any(one.how is How.FOLD or isinstance(one.term, Fold) for one in parts)
                return folded and all(one.how is How.FOLD or general.of(one.term) is Vary.VARIES for one in parts)
            here = here.inner
        return False

    def _is_exception(self, scope: Scope, use: Use, general: Variation) -> bool:
        """Whether another branch makes a new key for each turn: `key if turns == 1 else fold_in(key, turn)`."""
        for op, region in use.assume:
            for one in scope.uses:
                other = any(taken is op and at != region for taken, at in one.assume)
                if one.site is use.site and other and general.of(one.term) is Vary.VARIES:
                    return True
        return False

    def _is_chosen(self, scope: Scope, use: Use, general: Variation) -> bool:
        """Whether a `cond` around the use asks if something that differs in every turn is one certain thing."""
        around = self.places.up(self.places.region_of[use.origin.site])
        inside = takewhile(lambda one: one[0] is not scope.region, around)
        asked = (op.operands[0] for _, op in inside if op is not None and op.name == "cond" and op.operands)
        return any(general.value(one) is Vary.VARIES for predicate in asked for one in self._compared(predicate))

    def _compared(self, truth: Value) -> Iterator[Value]:
        """Return what has to be equal for a condition to hold."""
        maker = self.places.maker.get(truth)
        if maker is not None and maker.function in CONJUNCTIONS:
            for part in maker.operands:
                yield from self._compared(part)
        elif maker is not None and maker.function == "equal":
            yield from maker.operands

    def _guard(self, scope: Scope, use: Use, general: Variation) -> Turn | None:
        """Return what an `if` around the use makes of it: `if i == 0` holds in one turn, so may `if state is None`."""
        for known in conditions(self.places, use.spot, scope.region):
            about = self.read(known.value)
            if (
                known.holds
                and known.relation == "=="
                and (isinstance(about, Tick) or known.value in scope.region.params)
            ):
                return Turn.ONCE
            if known.relation == "is" and general.of(about) is not Vary.SAME:
                return Turn.UNKNOWN
            if known.relation == "true" and self._is_last(scope, known):
                return Turn.UNKNOWN
        return None

    def _is_last(self, scope: Scope, known: Condition) -> bool:
        """Whether this is `if i == n - 1` or the `else` of `if i < n - 1`: maybe in the last turn of a loop alone."""
        maker = self.places.maker.get(known.value)
        counted = None if maker is None else maker.arguments.get("x")
        if maker is None or not isinstance(counted, Value):
            return False
        is_count = isinstance(self.read(counted), Tick) or counted in scope.region.params
        if not is_count or (maker.qualified, known.holds) not in _AT_THE_END:
            return False
        bound = maker.arguments.get("y")
        trips = None if scope.op is None else scope.op.most_trips
        # `i > 0` leaves many turns; only a bound that is computed may be the last one.
        return isinstance(bound, Value) or (isinstance(bound, int) and isinstance(trips, int) and bound >= trips - 1)

    def _seeded_inside(self, scope: Scope, term: Term) -> bool:
        start = root(term)
        while hasattr(start, "parent"):
            start = root(start.parent)
        return isinstance(start, Seed) and self.places.within(self.places.region_of[start.tag[0]], scope.region)

    def _handed_on(self, scope: Scope, op: Op) -> dict[Term, Use]:
        """Find the keys that a turn hands on and the next turn spends: term in this turn, use in the next."""
        body = op.regions[-1]
        loop = Loop(op).carried_in(body) if not Loop(op).is_condition(scope.region) and scope.region is body else []
        given = {param: self.read(body.results[i]) for param, _, i in loop if i < len(body.results)}
        if not given:
            return {}
        rename = Rename(self.terms, self.places, op, scope.region, given)
        following: dict[Term, Use] = {}
        for use in scope.uses:
            if use.consumes and (later := rename(use.term)) is not use.term:
                following.setdefault(later, use)
        return following

    def _runs_once(self, scope: Scope, op: Op, use: Use) -> bool:
        """The loop has one turn, one in which the use is reached, or control leaves it after the use."""
        if op.most_trips in (0, 1) or op.length in (0, 1) or turns_left(self.places, op, use.spot) in (0, 1):
            return True
        if op.name not in PYTHON_LOOPS:
            return False
        leaves = (Exit.BREAK, Exit.RETURN, Exit.RAISE)
        for region, _ in self.places.up(self.places.region_of[use.spot]):
            if self.places.exit_of(region) in leaves or any(step.name == "py.return" for step in region.ops):
                return True
            if region is scope.region:
                return False
        return False


def _gives_key(use: Use) -> bool:
    """Whether something that is a key for sure is given away, or may be spent."""
    return use.how is not How.FOLD and isinstance(root(use.term), (Split, Seed, Fold))


def _is_part(term: Term, use: Use) -> bool:
    """Whether a key is one of those that a split gives, or a mapped split."""
    start = root(term)
    mapped = isinstance(start, Atom) and start.value in use.site.results
    return mapped or use.origin.site in rows_behind((term,))
