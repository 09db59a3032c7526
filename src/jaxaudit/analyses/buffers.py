"""Buffers: which values are one array in memory, and who reads it after a call that it was donated to.

A value that is handed on, kept in another variable or taken from a function that only gives it back is the same buffer
under another name. A loop of Python may hand one buffer on under two names: then a later turn donates what the other
one still holds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.lineage.kinds import is_array
from jaxaudit.analyses.queries import entered, holders, walk
from jaxaudit.ir import Exit, Op, Region, Value
from jaxaudit.ir.functions import GIVING_BACK
from jaxaudit.ir.interfaces import Loop, given_as, given_to, leaves_as, made_inside
from jaxaudit.ir.ops import NOTES, PYTHON_LOOPS, SIZED_BY
from jaxaudit.ir.values import index_parts
from jaxaudit.libraries.lookup import playing

_WHOLE = frozenset(("py.join", "py.container"))
_SAME = playing("model.filter", "model.join")
"""Functions that give a tree with the very arrays of another one."""
_PARTED = playing("model.partition")
_PASSED = frozenset(("py.call", "py.branch"))
_CROSSED = _PASSED | PYTHON_LOOPS
_TURN = (Exit.BREAK, Exit.CONTINUE)
_LEFT_BY = {"continue": _TURN, "break": (Exit.BREAK,), "return": (Exit.RETURN,)}
"""How the ways leave early that meet in each kind of join, beside the one to the end."""
_KEEPING = ("py.return", "py.store_attr")


class Reading(NamedTuple):
    """A read of a buffer after it was donated."""

    reader: Op
    value: Value
    """What the buffer is called where it is read."""
    names: tuple[Value, ...]
    """What it was called before, under which it is kept."""
    replaced: bool = False
    """Whether it is read only where no turn of a loop has put another buffer in its place."""


def readings(flow: Flow, call: Op, value: Value) -> Iterator[Reading]:
    """Return who reads the buffer of a value after a call that it was donated to, in any turn, also of its callers."""
    for op, donated in walk(((call, value),), lambda one: _around(flow, *one)):
        names = names_of(flow, sources(flow, donated), after=(call, op))
        for name, kept in names.items():
            readers = list(_below(flow, op, name))
            replaced = bool(readers) and (_is_replaced(flow, kept) or _is_doubtful(flow, kept, (call, op)))
            yield from (Reading(one, name, kept, replaced) for one in readers)
        for loop in _loops_around(flow, op):
            yield from _in_next_turn(flow, (call, op), names, loop)
            yield from (one for name in names for one in _beside(flow, op, name, loop))


def givers(flow: Flow, call: Op, value: Value) -> Iterator[tuple[Op, Value]]:
    """Return a call with what it donates, and the calls and loops around it that give it this very value."""
    return walk(((call, value),), lambda one: _given_by(flow, *one))


def given_twice(flow: Flow, call: Op, first: Value, second: Value) -> Value | None:
    """Return the buffer that a call is given as two arguments, in some turn or from some caller."""
    if both := set(sources(flow, first)).intersection(sources(flow, second)):
        return next(iter(both))
    for op, one in _around(flow, call, first):
        for other, two in _around(flow, call, second):
            if op is other and (found := given_twice(flow, op, one, two)) is not None:
                return found
    return None


def sources(flow: Flow, value: Value) -> list[Value]:
    """Return what a value may be in the same turn, before it was given other names."""
    return list(walk((value,), lambda one: _before(flow, one)))


def has_no_buffer(flow: Flow, value: Value) -> bool:
    """Whether a value is an array of NumPy, which JAX copies, or a number: given as a size or a bound somewhere."""
    known = flow.table(has_no_buffer)
    if value not in known:
        own = sources(flow, value)
        makers = [maker for one in own if (maker := flow.maker(one)) is not None]
        sizes = (_is_size(op, name) for name in names_of(flow, own) for op in flow.readers.get(name, ()))
        known[value] = any(op.qualified.startswith("numpy.") for op in makers) or any(sizes)
    return known[value]


def _is_size(op: Op, value: Value) -> bool:
    given = [op.arguments.get(role) for role in SIZED_BY.get(op.name, ())]
    given += [op.arguments.get("iterable")] if op.name == "py.element" else []
    given += [part for part in index_parts(op.arguments.get("index")) if isinstance(part, Mapping)]
    for one in given:
        parts = one if isinstance(one, tuple) else tuple(one.values()) if isinstance(one, Mapping) else (one,)
        if any(part is value for part in parts):
            return True
    return False


def names_of(flow: Flow, values: Iterable[Value], after: Collection[Op] = ()) -> dict[Value, tuple[Value, ...]]:
    """Return all names of some buffers in the same turn, each with those it had on the way.

    After some ops have run, the names count that a buffer has on their way through a branch.
    """
    found: dict[Value, tuple[Value, ...]] = {value: (value,) for value in values}
    pending = list(found)
    for value in pending:
        for following in _after(flow, value, after):
            if following not in found:
                found[following] = (*found[value], following)
                pending.append(following)
    return found


def kept_in(flow: Flow, names: Iterable[Value]) -> list[Op]:
    """Return the statements that hand a buffer on under other names, in the order of the program."""
    wanted = set(names)
    notes = (one for one in flow.program.named("py.again") if not wanted.isdisjoint(one.values or ()))
    readers = (one for value in wanted for one in flow.readers.get(value, ()) if one.name in _KEEPING)
    given = (one for one in readers if one.name != "py.return" or holders(flow, flow.places.function_of(one)))
    return sorted(dict.fromkeys((*notes, *given)), key=flow.places.order.__getitem__)


def _before(flow: Flow, value: Value) -> Iterator[Value]:
    op = flow.own_maker(value)
    if op is None:
        entry = flow.entered(value)
        if entry is not None and entry.op.name in _PASSED:
            yield from given_as(*entry, value)
    elif op.name in _PASSED:
        for region in op.regions:
            yield from _out_of_shared(flow, op, region, value) if region.shared else made_inside(op, region, value)
    elif op.name in _WHOLE or op.qualified in _SAME or _gives_back(flow, op):
        yield from op.operands


def _out_of_shared(flow: Flow, op: Op, region: Region, value: Value) -> Iterator[Value]:
    """Return what a call gives that is the same as one of its results: another one, or what it was given.

    What several calls share gives each of them something else, so nothing inside of it has a name out here.
    """
    for inner in made_inside(op, region, value):
        before = set(sources(flow, inner))
        yield from (given for param, given in given_to(op, region) if param in before)
        results = zip(region.results, op.results, strict=False)
        yield from (made for one, made in results if before.intersection(sources(flow, one)))


def _after(flow: Flow, value: Value, calls: Collection[Op]) -> Iterator[Value]:
    for op in flow.readers.get(value, ()):
        if op.name in _CROSSED:
            yield from entered(op, value) if not op.regions[0].shared else ()
        elif (_is_shared(op) or _gives_back(flow, op)) and not any(_is_missed(flow, value, one, op) for one in calls):
            yield from op.results
    for region in flow.leaving.get(value, ()):
        holder = flow.places.holder.get(id(region))
        if holder is not None and holder.name in _CROSSED and not _is_beside(flow, calls, holder, region):
            yield from leaves_as(holder, region, value)


def _is_beside(flow: Flow, calls: Iterable[Op], holder: Op, region: Region) -> bool:
    """Whether one of some ops stands in another region of an op: on another way through a branch."""
    homes = [flow.places.region_of[one] for one in calls if _is_inside(flow, one, holder)]
    return any(not flow.places.within(home, region) for home in homes)


def _is_doubtful(flow: Flow, names: Iterable[Value], calls: Iterable[Op]) -> bool:
    """Whether a buffer may have got some names only on ways that miss some calls."""
    makers = [flow.own_maker(one) for one in names]
    return any(_ways_past(flow, call, one)[1] for call in calls for one in makers if one is not None)


def _is_missed(flow: Flow, value: Value, call: Op, join: Op) -> bool:
    """Whether a value comes into a join only on ways that miss a call.

    Of `if done: continue` and `state = step(state)` below it, the old state comes from the first line alone: the one
    way past the call brings what was made on it.
    """
    past, others = _ways_past(flow, call, join)
    order = flow.places.order
    makers = {one: flow.maker(one) for one in join.operands}
    late = {one for one, maker in makers.items() if maker is not None and order[maker] >= order[call]}
    return others and value not in late and (not past or (past == 1 and bool(late)))


def _ways_past(flow: Flow, call: Op, join: Op) -> tuple[int, bool]:
    """Return how many of the ways that leave early, and of the way to the end, lead past a call into a join.

    And whether others get there that do not.
    """
    places, kind = flow.places, join.kind
    home = places.region_of[join]
    if join.name != "py.join" or kind not in _LEFT_BY:
        return 1, False
    if kind == "break":
        around = [holder for _, holder in places.up(places.region_of[call]) if holder is not None]
        bodies = (one.regions[0] for one in around if one.name in PYTHON_LOOPS and places.region_of[one] is home)
        home = next(bodies, home)
    if not places.within(places.region_of[call], home):
        return 1, False
    ways = [_leads_past(flow, call, region) for region in _left(flow, home, _LEFT_BY[kind])]
    inner = places.up(places.region_of[call])
    falls = kind != "break" and all(
        places.exit_of(region) is Exit.FALL for region, _ in takewhile(lambda one: one[0] is not home, inner)
    )
    return sum(ways) + falls, not all(ways)


def _left(flow: Flow, home: Region, exits: Collection[Exit]) -> Iterator[Region]:
    """Return the regions inside of a region that leave it early."""
    for op in home.ops:
        if op.name == "py.branch" or (op.name in PYTHON_LOOPS and Exit.RETURN in exits):
            for region in op.regions:
                if region.exit in exits:
                    yield region
                yield from _left(flow, region, exits)


def _leads_past(flow: Flow, call: Op, region: Region) -> bool:
    """Whether a call may have run where a region is left."""
    places, holder = flow.places, flow.places.holder.get(id(region))
    home = places.region_of[call]
    if holder is None or places.within(home, region):
        return True
    if _is_inside(flow, call, holder):
        return holder.construct == "try"
    return places.comes_before(call, holder) and places.both_happen(call, holder)


def _is_shared(op: Op) -> bool:
    """Whether what an op gives has the very arrays of its operands, or some of them."""
    return op.name in _WHOLE or op.name == "py.unpack" or op.qualified in _SAME or op.qualified in _PARTED


def _gives_back(flow: Flow, op: Op) -> bool:
    """Whether an op gives an array of JAX back as it is, and no copy of an array of NumPy."""
    alone = len(op.arguments) == len(op.operands) == 1
    return op.qualified in GIVING_BACK and alone and is_array(flow, op.operands[0], {})


def _around(flow: Flow, op: Op, value: Value) -> Iterator[tuple[Op, Value]]:
    """Return the calls and loops around a call that give it what it donates."""
    for source in sources(flow, value):
        yield from _given_by(flow, op, source)


def _given_by(flow: Flow, op: Op, param: Value) -> Iterator[tuple[Op, Value]]:
    """Return the calls and loops around an op that give it a parameter."""
    region = flow.places.owner.get(param)
    for holder in holders(flow, region) if region is not None else ():
        # What a function has given back is its own value still, though the call is over.
        if holder.name in _CROSSED and region is not None and _is_inside(flow, op, holder):
            yield from ((holder, one) for one in given_as(holder, region, param))


def _loops_around(flow: Flow, op: Op) -> Iterator[Loop]:
    """Return the loops of Python whose turns run an op, as far as the way up is one."""
    for _, holder in flow.places.up(flow.places.region_of[op]):
        if holder is not None and holder.name in PYTHON_LOOPS:
            yield Loop(holder)


def _below(flow: Flow, op: Op, value: Value) -> Iterator[Op]:
    """Return what reads a value after an op in the same turn."""
    places = flow.places
    for reader in flow.readers.get(value, ()):
        apart = reader is not op and not _is_inside(flow, reader, op) and not _is_inside(flow, op, reader)
        if apart and is_read_by(flow, reader, value):
            if places.comes_before(op, reader) and places.both_happen(op, reader):
                yield reader


def _is_inside(flow: Flow, inner: Op, outer: Op) -> bool:
    home = flow.places.region_of.get(inner)
    return any(flow.places.within(home, region) for region in outer.regions)


def is_read_by(flow: Flow, op: Op, value: Value) -> bool:
    """Whether an op reads the elements of a buffer, and does not merely hand it on."""
    if op.name in NOTES or op.name in ("array.shape", "py.store_attr") or _is_shared(op):
        return False
    if op.name == "py.return":
        # Whoever calls a function that nothing here calls may read what it gives.
        return not holders(flow, flow.places.function_of(op))
    if op.name not in _CROSSED:
        return True
    shared = (region for region in op.regions if region.shared)
    return any(_reads_inside(flow, region, op, value) for region in shared)


def _reads_inside(flow: Flow, region: Region, op: Op, value: Value) -> bool:
    given = [param for param in region.params if value in given_as(op, region, param)]
    inside = names_of(flow, given)
    return any(is_read_by(flow, one, name) for name in inside for one in flow.readers.get(name, ()))


def _in_next_turn(
    flow: Flow, calls: Sequence[Op], names: Mapping[Value, tuple[Value, ...]], loop: Loop
) -> Iterator[Reading]:
    """Return who reads in the next turn what this one has donated."""
    for param, following in loop.successors:
        for name in names_of(flow, (param,)) if following in names else ():
            way = names[following]
            doubtful = _is_doubtful(flow, way, calls)
            readers = (one for one in flow.readers.get(name, ()) if is_read_by(flow, one, name))
            yield from (Reading(one, name, way, doubtful) for one in readers if _is_within(flow, one, loop))


def _beside(flow: Flow, op: Op, param: Value, loop: Loop) -> Iterator[Reading]:
    """Return who reads what is carried beside a value that each turn donates, and may be the same buffer."""
    results = loop.body.results
    carried = [one for one in loop.carried if one.position < len(results)]
    donated = next((one for one in carried if one.param is param), None)
    if donated is None:
        return
    first = names_of(flow, sources(flow, donated.start))
    later = names_of(flow, sources(flow, results[donated.position]))
    for one in carried:
        kept = later.get(results[one.position], first.get(one.start))
        if one is donated or kept is None:
            continue
        inside = names_of(flow, (one.param,))
        only_first = results[one.position] not in later
        for name, way in inside.items():
            replaced = only_first and _is_replaced(flow, way)
            yield from (Reading(reader, name, kept, replaced) for reader in _below(flow, op, name))
        yield from _in_next_turn(flow, (op,), dict.fromkeys(inside, kept), loop)


def _is_replaced(flow: Flow, names: tuple[Value, ...]) -> bool:
    """Whether a buffer came into a loop under some names, and out of a branch there that may give another in its place.

    `best = state; for ...: if score < lowest: best = copy(state)` reads the first one only where no turn was better.
    """
    loops = {flow.places.owner[one] for one in names if _is_carried(flow, one)}
    makers = ((flow.own_maker(one), one) for one in names)
    branches = [(op, one) for op, one in makers if op is not None and op.name == "py.branch"]
    return any(
        flow.places.within(flow.places.region_of[op], body) and _has_other(flow, op, one, names)
        for op, one in branches
        for body in loops
    )


def _is_carried(flow: Flow, value: Value) -> bool:
    entry = flow.entered(value)
    return entry is not None and entry.op.name in PYTHON_LOOPS


def _has_other(flow: Flow, branch: Op, value: Value, names: Collection[Value]) -> bool:
    """Whether one side of a branch gives another buffer than the one with some names."""
    inner = (one for region in branch.regions for one in made_inside(branch, region, value))
    return any(not set(names).intersection(sources(flow, one)) for one in inner)


def _is_within(flow: Flow, op: Op, loop: Loop) -> bool:
    return flow.places.within(flow.places.region_of.get(op), loop.body)
