"""Where each op stands, and whether two ops can both happen in one execution of the code around them.

Built once for a program. A region that several calls share has no single way up; the walk up stops there, which is
right, because such a region sees nothing from outside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import takewhile

from jaxaudit.analyses.conditions import conditions
from jaxaudit.ir import Exit, Op, Program, Region, Value
from jaxaudit.ir.ops import BRANCHES, INLINE, LOOPS
from jaxaudit.ir.record import mutable, record

_LEAVES_FUNCTION = (Exit.RETURN, Exit.RAISE)
_LEAVES_TURN = (Exit.BREAK, Exit.CONTINUE)


@mutable
class Places:
    """The way up from every op, region and value of a program."""

    region_of: dict[Op, Region] = field(default_factory=dict)
    order: dict[Op, int] = field(default_factory=dict)
    """Rises in program order among the ops of one region."""
    holder: dict[int, Op | None] = field(default_factory=dict)
    """The op that holds a region, by the region's identity; None for shared regions."""
    maker: Mapping[Value, Op] = field(default_factory=dict)
    owner: dict[Value, Region] = field(default_factory=dict)
    """The region a value is a parameter of."""
    escaped: dict[Value, set[Region]] = field(default_factory=dict)
    """Values that left the region they were made in, in a container or a variable, with the regions that use them."""
    _home: dict[Value, Region] = field(default_factory=dict)
    """The region that each value is made in."""
    _given: dict[Value, Region] = field(default_factory=dict)
    """The region of the outermost call that gives each value that was made in its body."""
    _visible: set[int] = field(default_factory=set)
    _exits: dict[int, Exit] = field(default_factory=dict)
    _around: dict[int, frozenset[int]] = field(default_factory=dict)
    """The regions around each region that somebody asked about, itself included."""

    @classmethod
    def of(cls, program: Program) -> Places:
        """Index a whole program."""
        places = cls(maker=program.makers)
        seen: set[int] = set()
        for root in program.roots:
            places._index(root.region, seen)
        return places

    def _index(self, root: Region, seen: set[int]) -> None:
        """Walk in program order, knowing at each op which regions are open around it."""
        open_regions: list[tuple[Region, Iterator[Op]]] = []
        self._open(root, open_regions)
        while open_regions:
            region, ops = open_regions[-1]
            for op in ops:
                self._add(op, region)
                # The last region is walked first when pushed last, so push them in reverse.
                depth = len(open_regions)
                for inner in reversed(op.regions):
                    if id(inner) not in seen:
                        seen.add(id(inner))
                        self._open(inner, open_regions)
                if len(open_regions) > depth:
                    break
            else:
                open_regions.pop()
                self._visible.discard(id(region))
                call = self.holder.get(id(region))
                if call is not None and call.in_place:
                    made = (value for value in call.results if value not in call.operands)
                    self._given.update(dict.fromkeys(made, self.region_of[call]))

    def _open(self, region: Region, open_regions: list[tuple[Region, Iterator[Op]]]) -> None:
        self._visible.add(id(region))
        for value in region.params:
            self.owner[value] = self._home[value] = region
        open_regions.append((region, iter(region.ops)))

    def _add(self, op: Op, region: Region) -> None:
        self.region_of[op] = region
        self.order[op] = len(self.order)
        home, visible = self._home, self._visible
        for value in op.operands:
            made_in = self._given.get(value) or home.get(value)
            if made_in is not None and id(made_in) not in visible:
                self.escaped.setdefault(value, set()).add(region)
        for value in () if op.regions and op.in_place else op.results:
            home[value] = region
        for inner in op.regions:
            shared = self.holder.get(id(inner), op) is not op
            self.holder[id(inner)] = None if shared else op

    def up(self, region: Region) -> Iterator[tuple[Region, Op | None]]:
        """Return a region and those around it, innermost first, each with the op that holds it."""
        while True:
            op = self.holder.get(id(region))
            if op is None:
                yield region, None
                return
            yield region, op
            region = self.region_of[op]

    def top(self, region: Region) -> Region:
        """Return the outermost region around a region, as far as the way up is one."""
        while (op := self.holder.get(id(region))) is not None:
            region = self.region_of[op]
        return region

    def function_of(self, op: Op) -> Region:
        """Return the region of the function that an op is written in, around the branches and loops it stands in."""
        around = self.region_of[op]
        ways = (region for region, holder in self.up(around) if holder is None or holder.name not in INLINE)
        return next(ways, around)

    def is_handling(self, op: Op, loop: Op) -> bool:
        """Whether an op runs only in the turns of a loop that raise something: it stands under `except`."""
        inside = takewhile(lambda one: one[1] is not loop, self.up(self.region_of[op]))
        return any(
            holder is not None and holder.construct == "try" and region is not holder.regions[0]
            for region, holder in inside
        )

    def region_of_value(self, value: Value) -> Region | None:
        """Return the region that a value is made in."""
        return self._home.get(value)

    def within(self, inner: Region | None, outer: Region) -> bool:
        """Whether a region is another one or stands somewhere inside it."""
        return inner is not None and (inner is outer or id(outer) in self.around(inner))

    def around(self, region: Region) -> frozenset[int]:
        """Return the identities of a region and of those around it."""
        around = self._around.get(id(region))
        if around is None:
            around = self._around[id(region)] = frozenset(id(one) for one, _ in self.up(region))
        return around

    def comes_before(self, first: Op, second: Op) -> bool:
        """Whether one op stands before another where both have an ancestor in one region."""
        met = self.meet(first, second)
        return met is not None and self.order[met.first] <= self.order[met.second]

    def exit_of(self, region: Region) -> Exit:
        """Return how control leaves a region, also where every branch of a last `if` leaves by itself."""
        known = self._exits.get(id(region))
        if known is None:
            known = self._exits[id(region)] = self._find_exit(region)
        return known

    def _find_exit(self, region: Region) -> Exit:
        if region.exit is not Exit.FALL or not region.ops:
            return region.exit
        last = region.ops[-1]
        if last.name == "py.branch" and len(last.regions) > 1:
            exits = {self.exit_of(inner) for inner in last.regions}
            return region.exit if Exit.FALL in exits else (exits.pop() if len(exits) == 1 else Exit.RAISE)
        return region.exit

    def meet(self, first: Op, second: Op) -> Meeting | None:
        """Find the innermost region around two ops, and the ops of that region that hold them."""
        way: dict[int, tuple[Op, list[Region]]] = {}
        for region, holder, below in self._climb(first):
            way[id(region)] = (holder, below)
        for region, holder, below in self._climb(second):
            if id(region) in way:
                other, other_below = way[id(region)]
                return Meeting(region, other, holder, tuple(other_below), tuple(below))
        return None

    def _climb(self, op: Op) -> Iterator[tuple[Region, Op, list[Region]]]:
        """Return each region around an op, the op of that region on the way down, and the regions passed so far."""
        below: list[Region] = []
        for region, holder in self.up(self.region_of[op]):
            yield region, op, list(below)
            below.append(region)
            if holder is not None:
                op = holder

    def both_happen(self, first: Op, second: Op) -> bool:
        """Whether the second op can still run, in the same turn, after the first one did."""
        met = self.meet(first, second)
        if met is None:
            return True
        if met.first is met.second and met.first.name in BRANCHES:
            return False
        if any(self._cuts_off(region, met) for region in met.first_below):
            return False
        return not (met.first_below and met.second_below and self._contradict(first, second))

    def _contradict(self, first: Op, second: Op) -> bool:
        known = list(conditions(self, first))
        return any(one.contradicts(other) for one in conditions(self, second) for other in known)

    def _cuts_off(self, region: Region, met: Meeting) -> bool:
        leaves = self.exit_of(region)
        if leaves in _LEAVES_FUNCTION:
            return self._same_function(region, met.region)
        return leaves in _LEAVES_TURN and not self._loop_between(region, met.region)

    def _same_function(self, inner: Region, outer: Region) -> bool:
        for region, holder in self.up(inner):
            if region is outer:
                return True
            if holder is not None and holder.name not in INLINE:
                return False
        return False

    def _loop_between(self, inner: Region, outer: Region) -> bool:
        for region, holder in self.up(inner):
            if region is outer:
                return False
            if holder is not None and holder.name in LOOPS:
                return True
        return False


@record
class Meeting:
    """Where the ways up from two ops meet."""

    region: Region
    first: Op
    second: Op
    first_below: tuple[Region, ...]
    second_below: tuple[Region, ...]
