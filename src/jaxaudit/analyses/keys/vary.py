"""Whether a key changes from one turn of a loop to the next, or from one element of a mapped axis to the next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from enum import Enum

from jaxaudit.analyses.domain import Read
from jaxaudit.analyses.keys.terms import (
    AnyOf,
    Atom,
    Choice,
    Each,
    Fold,
    Global,
    Number,
    Part,
    Repeat,
    Row,
    Seed,
    Split,
    Stack,
    Steps,
    Tag,
    Term,
    Tick,
    View,
)
from jaxaudit.analyses.paths import Places
from jaxaudit.ir import Op, Region, Value
from jaxaudit.ir.functions import MANY_TO_ONE, UNIFORM
from jaxaudit.ir.interfaces import Loop, Mapped
from jaxaudit.ir.ops import MAPPED, PYTHON_LOOPS, UNFOLLOWED
from jaxaudit.ir.record import mutable


class Vary(Enum):
    """How a value behaves over the turns of a loop or the elements of a mapped axis."""

    SAME = "same"
    VARIES = "varies"
    UNKNOWN = "unknown"


_CHANGING = ("key.stream",)
_RUN_BY_PYTHON = PYTHON_LOOPS | {"tree.map"}
"""What Python itself runs again for every turn, or for every leaf; JAX traces the bodies of all others once."""
_FETCHED = ("py.random", "py.clock")
_FETCHING_FUNCTIONS = ("builtins.next",)
"""What Python itself fetches anew whenever it runs: once for all turns of a body that JAX traces."""


def combine(parts: Iterable[Vary]) -> Vary:
    """Return how something behaves that depends on all the parts."""
    found = set(parts)
    return next((kind for kind in (Vary.VARIES, Vary.UNKNOWN) if kind in found), Vary.SAME)


def agree(parts: Iterable[Vary]) -> Vary:
    """Return how something behaves that is one of the parts."""
    found = set(parts)
    return found.pop() if len(found) == 1 else Vary.UNKNOWN


_ROWS = (Split, View)
"""Keys that differ from each other, side by side."""


@mutable
class Variation:
    """Answers for one region that runs many times."""

    op: Op
    region: Region
    places: Places
    read: Read[Term]
    spot: Op | None = None
    """Where the key is used; a branch that was taken to get there decides what a joined key is."""
    _memo: dict[Term, Vary] = field(default_factory=dict)
    _open: set[Term] = field(default_factory=set)

    def of(self, term: Term) -> Vary:
        """Return how a key behaves; one of which nothing is known is not another one because something else is."""
        varies = self._depends(term)
        return Vary.UNKNOWN if varies is Vary.VARIES and self._is_blank(term) else varies

    def _depends(self, term: Term) -> Vary:
        """Return whether what a term is computed from changes."""
        known = self._memo.get(term)
        if known is not None:
            return known
        if term in self._open:
            # A carried key that is derived from itself: each turn derives another one.
            return Vary.VARIES
        self._open.add(term)
        found = self._memo[term] = self._find(term)
        self._open.discard(term)
        return found

    def _find(self, term: Term) -> Vary:
        match term:
            case Number() | Global():
                return Vary.SAME
            case Atom(value, tag):
                return self._made(tag) if tag else self.value(value)
            case Seed(_, data):
                return self._depends(data)
            case Split(parent, _, _) | Row(parent, Number()) | Part(parent) | Each(parent):
                return self._depends(parent)
            case View(parent, tag) | Repeat(parent, tag):
                # Which rows are looked at may change though the array does not.
                return combine((self._depends(parent), self._op(tag[0])))
            case Row(base, _) if (collected := self._collected(base)) is not None:
                # Whichever turn made the one that is taken, they are all alike, or may be.
                return combine((self._depends(base), collected))
            case Row(base, index) | Fold(base, index) | Tick(index, base):
                return combine((self._depends(base), self._depends(index)))
            case Steps(start, stop, step):
                return combine(map(self._depends, (start, stop, step)))
            case Stack(items):
                return combine(map(self._depends, items))
            case AnyOf(items):
                return agree(map(self._depends, items))
            case Choice():
                return self._choice(term)

    def _collected(self, term: Term) -> Vary | None:
        """Return how what a loop collects behaves over its turns; None where it varies, or nothing collects it."""
        op = self.places.maker.get(term.value) if isinstance(term, Atom) else None
        if op is None or op is self.op or not isinstance(term, Atom):
            return None
        loop, position = Loop.of(op), op.results.index(term.value)
        if loop is None and (op.name not in MAPPED or not op.regions):
            return None
        body = op.regions[-1]
        if not (0 if loop is None else len(loop.carried)) <= position < len(body.results):
            return None
        found = Variation(op, body, self.places, self.read).of(self.read(body.results[position]))
        return None if found is Vary.VARIES else found

    def _is_blank(self, term: Term, seen: frozenset[Term] = frozenset()) -> bool:
        """Whether a key would be another one only because of a key, or of rows, of which nothing is known."""
        if term in seen:
            return False
        seen |= {term}
        match term:
            case Atom(value, _, opaque):
                return opaque or any(self._is_blank(one, seen) for one in self._sources(value))
            case Fold(parent, data):
                return self._depends(data) is not Vary.VARIES and self._is_blank(parent, seen)
            case Split(parent) | Row(parent) | Part(parent) | Each(parent) | View(parent) | Repeat(parent):
                return self._is_blank(parent, seen)
            case Stack(items) | AnyOf(items) | Choice(_, items):
                return any(item is not None and self._is_blank(item, seen) for item in items)
        return False

    def _sources(self, param: Value) -> Iterator[Term]:
        """Return what a parameter of the region is another one by: the rows of an operand, or the turn before."""
        view = Loop.of(self.op) or Mapped.of(self.op)
        yield from (self.read(whole) for one, whole in view.elements if one is param) if view else ()
        if isinstance(view, Loop):
            yield from (self.read(following) for one, following in view.successors if one is param)

    def _choice(self, term: Choice) -> Vary:
        taken = [term.items[i] for i in self._taken(term.op)]
        items = taken or term.items
        return agree(self._depends(item) for item in items if item is not None)

    def _taken(self, op: Op) -> list[int]:
        if self.spot is None:
            return []
        place = self.places.region_of[self.spot]
        return [i for i, region in enumerate(op.regions) if self.places.within(place, region)]

    def _made(self, tag: Tag) -> Vary:
        return self._op(tag[0])

    def value(self, value: Value) -> Vary:
        """Return how a value behaves that has no history as a key: by what it is computed from."""
        maker = self.places.maker.get(value)
        if maker is not None:
            return self._mapped(maker, value)
        if value in self.region.params:
            return self._param(value)
        owner = self.places.owner.get(value)
        return self._inner_param(owner) if owner is not None and self.places.within(owner, self.region) else Vary.SAME

    def _mapped(self, op: Op, value: Value) -> Vary:
        """A map gives what its body makes, which may read more than what is mapped."""
        found = self._op(op)
        body = op.regions[-1] if op.name in MAPPED and op.regions else None
        if found is not Vary.UNKNOWN or body is None or len(body.results) != len(op.results):
            return found
        return self._depends(self.read(body.results[op.results.index(value)]))

    def _inner_param(self, owner: Region) -> Vary:
        """A parameter of a region further inside changes with what its op is given."""
        holder = self.places.holder.get(id(owner))
        if holder is None:
            return Vary.UNKNOWN
        return combine(self._depends(self.read(value)) for value in holder.operands)

    def _op(self, op: Op) -> Vary:
        if not self.places.within(self.places.region_of[op], self.region):
            return Vary.SAME
        if op.name in _CHANGING or op.function == "process_index":
            return Vary.VARIES
        if op.function == "axis_index" and not self._is_position_elsewhere(op):
            return Vary.VARIES
        # In a trace the position along a map with a name is a row of numbers, one for each element.
        if op.api == "axis_index" and self.op.axis_name is not None:
            return Vary.VARIES
        once = self._compiled_once(op)
        if op.name in _FETCHED or op.qualified in _FETCHING_FUNCTIONS:
            if self.op.name in _RUN_BY_PYTHON and once is None:
                return Vary.VARIES
            # The next item of what is made in the body itself is another one where that is.
            home = once or self.region
            return combine(self._depends(self.read(one)) for one in op.operands if self._within(one, home))
        if op.name in UNFOLLOWED or (op.name == "py.call_library" and op.qualified.startswith(".")):
            # A method of an object that nothing is known of, such as `rng.split()`, may change the object.
            return Vary.UNKNOWN
        # What compiled code reads from outside other than by its parameters is as it was in the first turn.
        read = [value for value in op.operands if once is None or self._within(value, once)]
        depends = combine(self._depends(self.read(value)) for value in read)
        if op.function in MANY_TO_ONE and depends is Vary.VARIES:
            # Of several turns `i // 2` and `i % 2` make the same.
            return Vary.UNKNOWN
        return Vary.UNKNOWN if op.regions and depends is Vary.SAME else depends

    def _is_position_elsewhere(self, op: Op) -> bool:
        """Whether a position is one along another axis than the one that is mapped: all elements have it alike."""
        asked = op.arguments.get("axis_name", op.axis_name)
        named = (self.op.options or {}).get("axis_name", self.op.axis_name)
        known = isinstance(asked, str) and (named is None or isinstance(named, str))
        return known and self.op.name == "vmap" and named != asked

    def _compiled_once(self, op: Op) -> Region | None:
        """Return the compiled function around an op that a Python loop calls again and again, and traces once."""
        if self.op.name not in PYTHON_LOOPS:
            return None
        found = None
        for region, holder in self.places.up(self.places.region_of[op]):
            if region is self.region or holder is None:
                return found
            older = (holder.wrapper_id or 0) <= (self.op.entered or (0,))[0]
            if holder.name == "jit" and older and not any(one is not False for one in holder.static or ()):
                found = region
        return None

    def _within(self, value: Value, region: Region) -> bool:
        return self.places.within(self.places.region_of_value(value), region)

    def _param(self, value: Value) -> Vary:
        if self.op.name in MAPPED:
            position = self.region.params.index(value)
            mapped = Mapped(self.op).is_mapped(position)
            if mapped is None and self.op.name == "shard_map":
                mapped = self._is_spread(position)
            return Vary.UNKNOWN if mapped is None else (self._rows(self.op.operands[position]) if mapped else Vary.SAME)
        for param, _, position in Loop(self.op).carried_in(self.region):
            if param is value:
                return self._carried(value, position)
        return next((self._rows(whole) for one, whole in Loop(self.op).elements if one is value), Vary.VARIES)

    def _is_spread(self, position: int) -> bool | None:
        """Whether the spec of an argument names axes, so that each device has another part; None if that is open."""
        said = next(iter((self.op.placed_in or ())[position : position + 1]), None)
        spec = None if said is None else self.places.maker.get(said)
        parts = None if spec is None else spec.arguments.get("partitions", ())
        if not isinstance(parts, tuple) or any(isinstance(one, Value) for one in parts):
            return None
        return any(one is not None for one in parts)

    def _rows(self, whole: Value) -> Vary:
        """Rows differ, unless they are copies of one key, or what made them made the same each time."""
        term = self.read(whole)
        if (collected := self._collected(term)) is not None:
            return collected
        if isinstance(term, Repeat):
            return Vary.UNKNOWN if isinstance(term.base, _ROWS) else Vary.SAME
        maker = self.places.maker.get(whole)
        if maker is not None and maker.function in UNIFORM:
            return Vary.SAME
        if not isinstance(term, Stack) or len(set(term.items)) > 1 or len(term.items) < 2:
            return Vary.VARIES
        # Several keys that are put behind themselves are as many pairs, of which each shares its numbers.
        return Vary.UNKNOWN if not term.aligned and isinstance(term.items[0], _ROWS) else Vary.SAME

    def _carried(self, value: Value, position: int) -> Vary:
        """A carried value that is handed on as it is stays the same; what replaces it says how it changes."""
        body = self.op.regions[-1]
        if Loop(self.op).is_condition(self.region):
            value = body.params[position]
        if position >= len(body.results):
            return Vary.UNKNOWN
        handed_on = self._under_path(self.read(body.results[position]))
        if handed_on is self.read(value):
            return Vary.SAME
        if isinstance(handed_on, AnyOf | Choice) and self.read(value) in handed_on.items:
            return Vary.UNKNOWN
        return self._depends(handed_on)

    def _under_path(self, term: Term) -> Term:
        if isinstance(term, Choice):
            taken = [item for i in self._taken(term.op) if (item := term.items[i]) is not None]
            return self._under_path(taken[0]) if len(taken) == 1 else term
        return term
