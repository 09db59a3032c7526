"""Successors of values: which of them are lost while the old value goes on, and whether that is surely a mistake."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.index import is_pure
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import carried_on, depends, left, made_by, readers, walk
from jaxaudit.analyses.succession import GoesOn, Way, goes_on, handed_on_within, own_loop
from jaxaudit.analyses.uses import Uses
from jaxaudit.analyses.versions import NOTHING, Ground, Version, Versions, is_optimizer_step
from jaxaudit.ir import Argument, Op, Symbol, Value
from jaxaudit.ir.functions import SUMS_OF_TWO
from jaxaudit.ir.interfaces import Part
from jaxaudit.ir.ops import BODIES, MAPPED
from jaxaudit.ir.record import record
from jaxaudit.libraries.lookup import lookup, plays
from jaxaudit.rules.intent.names import is_newer, is_unwanted
from jaxaudit.spans import Span


@record
class Lost:
    """A successor that nothing reads, and the old value that goes on."""

    label: str
    """The variable that it is bound to; `_` where it is bound to none."""
    span: Span
    made: Op
    ground: Ground
    old: tuple[Value, ...]
    variable: str
    """What the old value is called."""
    ways: tuple[GoesOn, ...]
    """How it goes on; never empty."""
    newer: Value | None = None
    """One leaf of the successor, where it has any."""
    renews: bool = False
    """Whether it is bound to the variable that held the old value."""

    @property
    def handed_on(self) -> bool:
        """Whether the old value is given to whoever comes next, not merely read."""
        return any(one.way in (Way.STORED, Way.RETURNED, Way.CARRIED) for one in self.ways)

    @property
    def next_turn(self) -> bool:
        """Whether it is only read in the next turn of the loop around it, or in the next call."""
        return all(one.way in (Way.AGAIN, Way.CARRIED) for one in self.ways)


@remembered
def lost_successors(facts: Facts) -> dict[Op, Lost]:
    """Return every unread variable that holds the successor of a value that goes on, by its note."""
    notes = [op for op in facts.program.named("py.unread") if op.kind == "variable" and op.values]
    return {op: found for op in notes if (found := _lost(op, facts)) is not None}


def untaken_successors(facts: Facts) -> Iterator[Lost]:
    """Return every successor that no variable is left for, while the old value goes on.

    It is bound to `_`, and `_` once more in the same line, or never taken out of its tuple.
    """
    versions, uses = facts.get(Versions), facts.get(Uses)
    noted = {value for note in facts.program.named("py.unread") for value in note.values or ()}
    unnamed = ((value, version) for value, version in versions.all() if value.name == "_" and value not in noted)
    dropped = [(value, version) for value, version in unnamed if not uses.is_read(value)]
    for value, version in (*versions.untaken(), *dropped):
        made = versions.maker(value)
        ways = {one: goes_on(facts.flow, one, made) for one in version.old}
        old = tuple(one for one in version.in_order if ways[one])
        if old:
            found = tuple(way for one in old for way in ways[one])
            yield Lost("_", made.span, made, version.ground, old, old[0].name or "it", found, value)


def is_state_of_module(lost: Lost, flow: Flow) -> bool:
    """Whether it is the state that a run of a module gives beside its output: `module-state-mishandled` speaks."""
    return run_of(lost, flow) is not None


def run_of(lost: Lost, flow: Flow) -> Op | None:
    """Return the run of a module that gives a state beside its output."""
    made = None if lost.newer is None else origin(flow, lost.newer, {})
    part = None if made is None else Part.of(made.op, made.value)
    run = None if part is None else flow.maker(part.whole)
    return run if run is not None and plays(run.qualified, "module.apply") else None


def goes_on_from(
    note: Op, flow: Flow, wanted: Callable[[str, tuple[Value, ...]], bool]
) -> Iterator[tuple[str, tuple[Value, ...], list[GoesOn]]]:
    """Return the wanted ones of the variables that a noted value was made from and that go on, with their leaves."""
    made = flow.made_at(note.made_at, note) if note.made_at is not None else None
    if made is None and note.values:
        made = flow.maker(note.values[0])
    for name, leaves in (note.made_of or {}).items():
        if made is not None and wanted(name, leaves):
            ways = [way for leaf in leaves for way in _ways(note, leaf, made, flow)]
            if ways:
                yield name, leaves, ways


def _ways(note: Op, old: Value, made: Op, flow: Flow) -> list[GoesOn]:
    """Return how an old value goes on, by itself and in what holds it; what is not wanted leaves that as it was."""
    within = [] if is_unwanted(note.label) else handed_on_within(flow, old, made)
    return [*goes_on(flow, old, made, method=note.is_method), *within]


def _lost(note: Op, facts: Facts) -> Lost | None:
    flow = facts.flow
    copied = flow.made_at(note.made_at, note) if note.made_at is not None else None
    before = (
        frozenset(copied.values or ()) if copied is not None and copied.name == "py.replace" else frozenset[Value]()
    )
    # A copy has most of its leaves from the old one.
    values = [one for one in note.values or () if one not in before]
    unread = [one for one in values if not _is_read(one, note, facts)]
    if copied is not None and before:
        return _found(note, copied, Version(before), flow) if len(unread) == len(values) else None
    versions = facts.get(Versions)
    known = [(one, version) for one in unread if (version := versions.held(one)) is not None]
    if not known:
        return _by_the_way(note, flow) if unread else None
    ground, maker = min(version.ground for _, version in known), flow.through(versions.maker(known[0][0]), note)
    # What is in two results, a state and what is observed of it, is lost in neither where one is read.
    beside = [one for one in maker.results if _is_read(one, note, facts)] if known[0][0] in maker.results else []
    kept = {value for one in beside for value in (versions.of(one) or NOTHING).old}
    old = frozenset(value for _, version in known for value in version.old) - kept
    found = _found(note, maker, Version(old, ground), flow)
    # What a name inside of the call says hides nothing that the call itself tells.
    return _by_the_way(note, flow) if found is None and ground is Ground.VARIABLE else found


def _is_read(value: Value, note: Op, facts: Facts) -> bool:
    """Whether a value is read where it is noted: what the call that gives it does with it inside is another matter."""
    giver = facts.flow.giver(value, note)
    if giver is not None and giver.in_place:
        return facts.flow.is_read_outside(value, giver)
    return facts.get(Uses).is_read(value)


def _found(note: Op, made: Op, version: Version, flow: Flow) -> Lost | None:
    """Return how what a version succeeds goes on, under the name that its maker was given it by."""
    ways = {one: _ways(note, one, made, flow) for one in version.old}
    old = tuple(one for one in version.in_order if ways[one])
    if not old:
        return None
    # Of several, the one that is handed on is missed most.
    handed = max(old, key=lambda one: max(way.way for way in ways[one]))
    named = {name: leaves for name, leaves in (note.made_of or {}).items() if leaves and version.old >= set(leaves)}
    names = sorted(named, key=lambda name: handed not in named[name])
    names += [note.label] if note.renews else []
    variable = next(iter(names), None) or next((one.name for one in (handed, *old) if one.name), "it")
    found = tuple(way for one in old for way in ways[one])
    newer = next(iter(note.values or ()), None)
    return Lost(note.label, note.span, made, version.ground, old, variable, found, newer, note.renews)


def _by_the_way(note: Op, flow: Flow) -> Lost | None:
    """Return the value that another succeeds: a record of its class, or part by part, or that it is named after."""
    values = note.values or ()
    made = flow.made_at(note.made_at, note) if note.made_at is not None else None
    made = flow.maker(values[0]) if made is None and values else made

    def is_alike(name: str, leaves: tuple[Value, ...]) -> bool:
        return name in (note.alike or ()) or (len(leaves) == 1 and _is_read_as(flow, leaves[0], note.parts or ()))

    def is_succeeded(name: str, leaves: tuple[Value, ...]) -> bool:
        if is_alike(name, leaves):
            return any(depends(flow, new, leaves) for new in values)
        if not leaves or len(leaves) != len(values) or len(set(leaves)) < len(leaves):
            return False
        if len(leaves) == 1 and _moves_state(note, leaves[0], values[0], flow):
            return True
        if is_unwanted(note.label) if len(leaves) > 1 else not is_newer(note.label, name):
            return False
        pairs = zip(values, leaves, strict=True)
        return all(new is not before and depends(flow, new, (before,)) for new, before in pairs)

    if made is None:
        return None
    for name, leaves, ways in goes_on_from(note, flow, is_succeeded):
        moves = len(leaves) == len(values) == 1 and _moves_state(note, leaves[0], values[0], flow)
        ground = Ground.STRUCTURE if len(values) > 1 or moves or is_alike(name, leaves) else Ground.VARIABLE
        return Lost(note.label, note.span, made, ground, leaves, name, tuple(ways), values[0], note.renews)
    return None


def _moves_state(note: Op, old: Value, new: Value, flow: Flow) -> bool:
    """Whether something is added to a part of a state, which then is handed on as it was.

    A part of a state is what a loop carries, a field of a record, or an attribute that a method reads and never sets.
    """
    made = flow.maker(new)
    if made is None or made.function not in SUMS_OF_TWO or is_unwanted(note.label):
        return False
    terms = (made.argument("x"),) if made.function == "subtract" else tuple(made.arguments.values())
    if old not in terms:
        return False
    loop, source, ways = flow.loop_of(old), flow.maker(old), {one.way for one in _ways(note, old, made, flow)}
    if loop is not None:
        return (old, old) in loop.successors
    part = source is not None and source.name in ("py.attr", "py.item")
    return part and (Way.RETURNED in ways or (note.is_method and Way.AGAIN in ways))


def _is_read_as(flow: Flow, value: Value, parts: Sequence[str]) -> bool:
    """Whether several parts of something from elsewhere are read, and all of them have one of these names."""
    ops = [op for op in readers(flow, value) if op.name in ("py.attr", "py.item")]
    read = [op.label if op.name == "py.attr" else op.arguments.get("index") for op in ops]
    return all(one in parts for one in read) and len({one for one in read if isinstance(one, str)}) > 1


def _has_other_name(lost: Lost, flow: Flow) -> bool:
    """Whether a second variable held the old value before: one goes on from it, and the other keeps it."""
    order, region = flow.places.order, flow.places.region_of[lost.made]
    notes = (one for one in flow.program.named("py.again") if flow.places.region_of[one] is region)
    return any(order[one] < order[lost.made] and one.values and set(one.values) <= set(lost.old) for one in notes)


def is_surely_missed(lost: Lost, facts: Facts) -> bool | None:
    """Whether the old value goes on by mistake for sure; None where its successor may well not be wanted."""
    flow = facts.flow
    if is_unwanted(lost.label):
        if lost.ground is Ground.NATURE and _stands_still(lost, flow) and _is_kept(lost, flow):
            # Whatever it is called, the next turn goes on from what else the step gave.
            return True
        needed = _is_needed(lost, facts) if lost.ground is Ground.NATURE else _stands_still(lost, flow)
        if needed and _is_measured(lost, flow):
            return False
        if needed:
            # A search tries several steps from one place that it holds from outside of its loop.
            return lost.handed_on or lost.ground is Ground.NATURE
        # Somebody trains, or goes on with another result of the step, and hands on what was there before.
        return False if lost.handed_on and (_trains(lost.made) or _goes_on_beside(lost, facts)) else None
    made = lost.made
    if _is_made_again(lost, flow):
        return False
    # That something is called after the old value, `dt_2 = dt / 2`, is no proof that it succeeds it.
    told = lost.ground is not Ground.VARIABLE or bool(made.regions)
    # A call whose body stands where it is called has those results alone that somebody reads.
    gives = bool(made.results) or made.in_place
    computes_nothing_else = told and gives and is_pure(made) and not any(map(flow.is_read, made.results))
    # A map over trees has one result: where nobody reads it, it was computed for nothing.
    if lost.ground is Ground.NATURE or made.name == "tree.map" or computes_nothing_else:
        return True
    if _has_other_name(lost, flow):
        return None
    if any(one.way is Way.CARRIED for one in lost.ways):
        return True
    given = any(one.way in (Way.RETURNED, Way.STORED) for one in lost.ways)
    if given and (lost.renews or lost.ground is not Ground.VARIABLE):
        return True
    if own_loop(flow, made) is None:
        # It may be called for what else it gives.
        return None
    # A step that differentiates trains the same old parameters in each turn; a name alone makes nothing a parameter.
    return (lost.ground is not Ground.VARIABLE and _trains(made)) or _stands_still(lost, flow)


def _is_measured(lost: Lost, flow: Flow) -> bool:
    """Whether each turn of a loop steps from a value that it holds from outside, as an evaluation does."""
    loop = own_loop(flow, lost.made)
    if loop is None or is_optimizer_step(lost.made):
        return False
    return not any(flow.places.within(flow.places.region_of_value(one), loop.body) for one in lost.old)


def _is_made_again(lost: Lost, flow: Flow) -> bool:
    """Whether the successor is made from the old value again, under the same name: that one may be the one in use."""
    later, readers = {one.at for one in lost.ways}, (op for value in lost.old for op in flow.readers.get(value, ()))
    again = [op for op in readers if op is not lost.made and op.span in later]
    return any(made.name == lost.label for op in again for made in op.results)


def _goes_on_beside(lost: Lost, facts: Facts) -> bool:
    """Whether another variable that the call was given takes its next value: the step was taken."""
    notes = (note for note in facts.program.named("py.taken") if note.span.covers(lost.span))
    return lost.ground is not Ground.VARIABLE and any(any(note.had or ()) for note in notes)


def _trains(made: Op) -> bool:
    """Whether a gradient is taken inside of an op."""
    return any(inner.name == "grad" for body in made.regions for inner in body.walk())


def _is_needed(lost: Lost, facts: Facts) -> bool:
    """Whether a protocol cannot do without the successor, whatever it is called: an optimizer needs its moments."""
    made, flow = lost.made, facts.flow
    known = made.name in ("key.draw", "py.call_library", *BODIES, *MAPPED)
    if not known and not plays(made.qualified, "optimizer.apply"):
        return False
    if not is_optimizer_step(made):
        return lost.handed_on and not plays(made.qualified, "module.apply")
    keeps = keeps_something(flow, made.value("self"))
    if lost.handed_on or not keeps:
        return lost.handed_on and keeps is not False
    return lost.next_turn and _goes_into_next_turn(facts, made)


def _goes_into_next_turn(facts: Facts, made: Op) -> bool:
    """Whether a later turn of a loop starts from what a step of an optimizer changes, and not from before it."""
    flow, versions = facts.flow, facts.get(Versions)

    def goes_on(op: Op) -> bool:
        moved = op.name in ("py.unpack", "py.item", "tree.leaf", "tree.map", "array.map")
        return moved or any(versions.of(one) is not None for one in op.results)

    reached = walk(made.results, lambda one: (*made_by(flow, one, goes_on), *left(flow, one)))
    return any(True for one in reached for _ in carried_on(flow, one))


def _is_kept(lost: Lost, flow: Flow) -> bool:
    """Whether a successor holds more than the old value did: of an optimizer that keeps nothing, it does not."""
    found = None if lost.newer is None else origin(flow, lost.newer, {}).op
    part = None if found is None or not found.operands else flow.maker(found.operands[0])
    step = next((one for one in (found, part) if one is not None and is_optimizer_step(one)), None)
    return step is None or keeps_something(flow, step.value("self")) is True


def keeps_something(flow: Flow, optimizer: Value | None) -> bool | None:
    """Whether an optimizer keeps something of each step, moments or their number; None where that is not known."""
    maker = None if optimizer is None else origin(flow, optimizer, {}).op
    if maker is not None and isinstance(maker.constant, Value):
        return keeps_something(flow, maker.constant)
    if maker is None:
        return None
    if plays(maker.qualified, "optimizer.chain"):
        parts = [keeps_something(flow, one) for one in maker.operands]
        return True if True in parts else None if None in parts else False
    if plays(maker.qualified, "optimizer.direct"):
        return bool(maker.arguments.get("momentum")) or _is_schedule(flow, maker.arguments.get("learning_rate"))
    return True if plays(maker.qualified, "optimizer.moments") else None


def _is_schedule(flow: Flow, rate: Argument) -> bool:
    """Whether a learning rate is a function of the number of the step."""
    made = origin(flow, rate, {}).op if isinstance(rate, Value) else None
    row = None if made is None else lookup(made.qualified)
    return isinstance(rate, Symbol) or (row is not None and row.cls == "optax.Schedule")


def _stands_still(lost: Lost, flow: Flow) -> bool:
    """Whether turns that start from the same old value depend on one another through what else the maker gives."""
    loop, made = own_loop(flow, lost.made), lost.made
    if loop is None or not any(one.way in (Way.AGAIN, Way.CARRIED) for one in lost.ways):
        return False
    first = (
        one in loop.body.params or not flow.places.within(flow.places.region_of_value(one), loop.body)
        for one in lost.old
    )
    if not any(first):
        # What an earlier step of the turn gave is not the same in all turns.
        return False
    moving = [(param, following) for param, following in loop.successors if following is not param]
    given = [param for param, _ in moving if any(depends(flow, one, (param,)) for one in made.operands)]
    if any(depends(flow, following, made.results) for param, following in moving if param in given):
        return True
    # Where the parts of a carry are not known, all of them are among what the body returns.
    ends = [op for op in loop.body.ops if op.name == "py.return" and not set(loop.body.results) >= set(op.operands)]
    others = [one for op in ends for one in op.operands if one not in lost.old]
    return bool(given) and any(depends(flow, one, made.results) for one in others)
