"""What a flag says of a state that goes on from step to step: that it ends where the flag is set, or where it is not.

A state is cleared by `x * (1 - done)`, `where(done, 0, x)`, a choice of a fresh one, or by what stops a sum over the
steps to come. Each such place reads the flag one way or the other, whatever it is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations, product

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.lineage.moments import moment, same_step
from jaxaudit.analyses.lineage.products import Product, Sums
from jaxaudit.analyses.lineage.returns import Flag, flags, returns
from jaxaudit.analyses.queries import behind, depends, made_of, operands_of, through_ops, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.versions import is_copy
from jaxaudit.ir import Op, Region, Value
from jaxaudit.ir.functions import ABOVE, DISJUNCTIONS, TRUTHS
from jaxaudit.ir.interfaces import Loop, complement
from jaxaudit.ir.ops import ELEMENTWISE, KEEPING, LOOPS
from jaxaudit.ir.record import record, replace

_READ = ("py.attr", "py.item", "py.unpack")


@record
class Reading:
    """One place that lets a state go on or end by a flag."""

    op: Op
    flag: Flag
    what: str
    """What is done there: a state that the flag is about is `reset`, another `cleared`, a sum over steps `stopped`, its
    first next value `started` with; or the flag is set there, as a counter of the state got to its `limit`."""
    state: Value
    """What goes on or ends."""

    @property
    def ends(self) -> bool:
        """Whether the state ends where the flag is set."""
        return self.flag.ends


@record
class Renewal:
    """A part of a state, and what a step makes of it for the next one."""

    old: Value
    new: Value
    grown: frozenset[Value]
    """The parts of the same state that something is added to in each step."""


@remembered
def readings(facts: Facts) -> Sequence[Reading]:
    """Return every place of a program that lets something go on or end by a flag."""
    return [*_of_renewals(facts), *_of_resets(facts), *_of_sums(facts)]


def _of_sums(facts: Facts) -> Iterator[Reading]:
    for one in returns(facts.program, facts.flow):
        yield from (Reading(one.update, flag, "stopped", one.carry) for flag in one.flags(one.kept))
        used = {factor for part in one.added for factor in part.factors}
        for start in (carried.start for carried in one.course.carried if carried.param in used):
            made = one.sums.maker(start)
            stops = [flag for part in one.sums.products(start) for flag in flags(facts.flow, part, one.sums.context)]
            if made is not None and made.name in ELEMENTWISE:
                yield from (Reading(made, flag, "started", start) for flag in stops)


def _of_renewals(facts: Facts) -> Iterator[Reading]:
    for one in renewals(facts):
        yield from _cleared(one, facts)


@remembered
def renewals(facts: Facts) -> Sequence[Renewal]:
    """Return the parts of the state of every loop and of every function that takes and gives one."""
    flow = facts.flow
    found: list[Renewal] = []
    for op in facts.program.named(*LOOPS):
        moved = [(old, new) for old, new in Loop(op).successors if old is not new]
        sums = Sums.of(flow, {})
        grown = frozenset(old for old, new in moved if is_added_to(old, new, sums))
        found += [Renewal(old, new, grown) for old, new in moved]
    for op in facts.program.named("py.return"):
        holder = flow.holder(op)
        if holder is None or holder.name not in LOOPS:
            found += _given_back(op, flow)
    copies = (op for op in facts.program.named("py.call_library") if is_copy(op) and op.operands)
    return [*found, *(one for op in copies for one in _replaced(op, flow))]


def _replaced(op: Op, flow: Flow) -> Iterator[Renewal]:
    """Find what the fields of a record are replaced by in a copy of it."""
    reads = [one for one in flow.readers.get(op.operands[0], ()) if one.name == "py.attr"]
    new = {name: value for name, value in (op.named or {}).items() if isinstance(value, Value)}
    pairs = [(one.results[0], new[one.label]) for one in reads if one.label in new]
    sums = Sums.of(flow, {})
    grown = frozenset(old for old, value in pairs if is_added_to(old, value, sums))
    yield from (Renewal(old, value, grown) for old, value in pairs)


def _given_back(op: Op, flow: Flow) -> Iterator[Renewal]:
    """Find what a function makes of the parts of a record that it is given, where it gives one value for each."""
    region = flow.places.function_of(op)
    parts = {one: key for one in _parts_read(region, flow) if (key := _key(one, flow)) is not None}
    sums, made_of = Sums.of(flow, {}), dict[Value, set[object]]()
    for value in dict.fromkeys(op.operands):
        made = flow.maker(value)
        if parts and made is not None and made.name in ELEMENTWISE:
            factors = {factor for part in sums.products(value) for factor in part.factors}
            made_of[value] = {parts[factor] for factor in factors if factor in parts}
    alone = {part: [value for value, keys in made_of.items() if keys == {key}] for part, key in parts.items()}
    grown = {part for part in parts for value in alone[part] if is_added_to(part, value, sums)}
    states = {parts[part][0] for part in grown}
    for part, key in parts.items():
        others = [value for value, keys in made_of.items() if key in keys]
        for value in alone[part] if len(alone[part]) == 1 else others if len(others) == 1 else ():
            if key[0] in states:
                yield Renewal(part, value, frozenset(grown))


def is_added_to(part: Value, value: Value, sums: Sums) -> bool:
    """Whether a value is another one with something added: what is given is a state, and no settings."""
    found = sums.products(value)
    return len(found) > 1 and any(one.coefficient == 1.0 and part in one.factors for one in found)


def _parts_read(region: Region, flow: Flow) -> Iterator[Value]:
    reads = (op for param in region.params for op in flow.readers.get(param, ()) if op.name in _READ)
    return (value for op in reads for value in op.results)


def _key(value: Value, flow: Flow) -> tuple[Value, str | int] | None:
    op = flow.maker(value)
    assert op is not None
    index = op.arguments.get("index")
    if op.name == "py.unpack":
        return (op.operands[0], flow.position(op.results, value))
    name = op.label if op.name == "py.attr" else index if isinstance(index, str) else None
    return None if name is None else (op.operands[0], name)


def _cleared(one: Renewal, facts: Facts) -> Iterator[Reading]:
    """Tell by which flags a part of a state goes on, where it starts anew otherwise."""
    flow, new = facts.flow, moment(facts.flow, one.new)
    made = flow.maker(new.value)
    if made is None or made.name not in ELEMENTWISE or new.path or new.shift or new.loop:
        return
    parts = Sums.of(flow, {}).products(new.value)
    goes_on = [part for part in parts if any(_uses(factor, (one.old,), flow) for factor in part.factors)]
    kept = [flag for part in goes_on for flag in flags(flow, _without_state(part, one, flow), {})]
    rest = [part for part in parts if part not in goes_on]
    for flag in {flag.moment.series: flag for flag in kept if _decides(flag, new.value, facts)}.values():
        same = [other.ends for other in kept if other.moment.series == flag.moment.series]
        instead = [factor for part in rest if _counts_by(part, flag, flow) for factor in part.factors]
        starts = not one.grown.isdisjoint(instead) or all(_is_start(factor, one, flow) for factor in instead)
        if len(set(same)) == 1 and starts:
            judged = _uses(flag.moment.value, (one.old,), flow)
            yield Reading(made, flag, "reset" if judged else "cleared", one.old)


def _decides(flag: Flag, new: Value, facts: Facts) -> bool:
    """Whether a factor decides on what goes on, and is not itself what goes on."""
    return flag.moment.value is not new and is_flag(flag.moment.value, facts)


def _without_state(part: Product, one: Renewal, flow: Flow) -> Product:
    """Leave out what is itself what goes on, and no flag."""
    factors = part.factors if len(part.factors) > 1 else ()
    return replace(part, factors=tuple(factor for factor in factors if factor is not one.old))


def _counts_by(part: Product, flag: Flag, flow: Flow) -> bool:
    return any(other.moment.series == flag.moment.series and other.ends != flag.ends for other in flags(flow, part, {}))


def _is_start(value: Value, one: Renewal, flow: Flow) -> bool:
    """Whether a value is the start of something: it was drawn, or is the same in every turn of the loop."""
    if _uses(value, (one.old,), flow):
        return False
    loop = flow.loop_of(one.old)
    return is_fresh(value, flow) or (loop is not None and not depends(flow, value, loop.body.params))


def is_fresh(value: Value, flow: Flow) -> bool:
    """Whether a value was drawn, or is made of constants alone: the start of something, and no part of what goes on."""
    made = [flow.maker(one) for one in walk((value,), lambda one: operands_of(flow, one, _hands_numbers_on))]
    known = all(op is not None and op.name != "py.unknown" for op in made)
    return known or any(op is not None and op.name == "key.draw" for op in made)


def _hands_numbers_on(op: Op) -> bool:
    return op.name not in ("array.create", "key.draw")


def is_flag(value: Value, facts: Facts) -> bool:
    """Whether a value may be true or false in each step: no number that somebody set."""
    flow = facts.flow
    made = flow.maker(value)
    if facts.get(Shapes).of(value).dtype == "bool" or (made is not None and made.function in TRUTHS):
        return True
    whole = None if made is None or made.name not in _READ else flow.maker(made.operands[0])
    return whole is not None and whole.name in ("py.call_unknown", "py.call_library", "key.draw")


def _of_resets(facts: Facts) -> Iterator[Reading]:
    """Tell by which flags one of two whole states is taken, where the flag is about one of them."""
    flow = facts.flow
    for op in facts.program.named("array.select", "cond"):
        condition = op.operands[0] if op.name == "cond" and op.operands else op.value("condition", "pred")
        both = sides(op, flow)
        if condition is None or not all(both):
            continue
        about = [_uses(condition, side, flow) for side in both]
        wholes = [tuple(whole for one in side for whole in _wholes(one, flow)) for side in both]
        if (
            sum(about) == 1
            and all(map(flow.maker, wholes[about.index(False)]))
            and not _follow(wholes[0], wholes[1], flow)
            and not _follow(wholes[1], wholes[0], flow)
        ):
            part = Product(1.0, (), (condition,), (condition,) if about[1] else ())
            state = both[about.index(True)][0]
            yield from (Reading(op, flag, "reset", state) for flag in flags(flow, part, {}))
            yield from _limits(part, both[about.index(True)], flow)


def _limits(part: Product, state: Sequence[Value], flow: Flow) -> Iterator[Reading]:
    """Tell where a flag is set because a counter of the state that it resets has got to a limit: there it ends."""
    for flag in flags(flow, part, {}):
        for reason in reasons(flag.moment.value, flow):
            made = flow.maker(reason)
            counter = made.value("x") if made is not None and made.function in ABOVE else None
            count = None if counter is None else flow.maker(counter)
            if made is not None and counter in state and count is not None and count.function == "add":
                if any(isinstance(given, int | float) and given > 0 for given in count.arguments.values()):
                    yield Reading(made, replace(flag, ends=True), "limit", count.operands[0])


def reasons(flag: Value, flow: Flow) -> Iterator[Value]:
    """Return the flags any of which sets a flag."""
    sums = Sums.of(flow, {})
    made = sums.maker(flag)
    if made is None or made.function not in DISJUNCTIONS:
        yield sums.source(flag)
    else:
        for one in made.operands:
            yield from reasons(one, flow)


@record
class Choice:
    """One of two values, by a flag."""

    flag: Value
    yes: Value
    """What it is where the flag is set."""
    no: Value


def blended(op: Op, facts: Facts) -> Choice | None:
    """Return what a sum `flag * yes + (1 - flag) * no` chooses between."""
    flow = facts.flow
    sides = [flow.maker(one) for one in op.operands] if op.function == "add" and len(op.operands) == 2 else []
    parts = [one.operands for one in sides if one is not None and one.function == "multiply" and len(one.operands) == 2]
    if len(parts) != 2:
        return None
    for (mask, yes), (rest, no) in product(permutations(parts[0]), permutations(parts[1])):
        for one, chosen, other, instead in ((mask, yes, rest, no), (rest, no, mask, yes)):
            flag, opposite = made_of(flow, one, _keeps), complement(flow.maker(other))
            if opposite is not None and made_of(flow, opposite, _keeps) is flag and is_flag(flag, facts):
                return Choice(flag, chosen, instead)
    return None


_keeps = through_ops(*KEEPING)


def choices_of(flow: Flow, value: Value) -> Iterator[Op]:
    """Return what chooses a value in its own turn, inside of the calls and maps that give it."""

    def step(one: Value) -> Sequence[Value]:
        return behind(flow, one, through_ops(*KEEPING)) if flow.maker(one) is not None else ()

    made = map(flow.maker, walk((value,), step))
    return (op for op in made if op is not None and op.name in ("array.select", "cond"))


def sides(op: Op, flow: Flow) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
    """Return what is chosen where a condition holds and where it does not: values that were made, no constants."""
    if op.name == "cond":
        arms = [tuple(region.results) for region in op.regions]
        return (arms[0], arms[1]) if len(arms) == 2 else ((), ())
    given = [op.value("x", "on_true"), op.value("y", "on_false")]
    yes, no = (() if one is None else tuple(_leaves(one, flow)) for one in given)
    return yes, no


def _leaves(value: Value, flow: Flow) -> Iterator[Value]:
    """Return a value; the leaves of the tree that it stands for, where a function is mapped over trees."""
    entry = flow.entered(value)
    if entry is None or entry.op.name != "tree.map":
        yield value
        return
    at = flow.position(entry.region.params, value)
    trees = entry.op.operands[at : at + 1]
    for one in walk(trees, lambda one: operands_of(flow, one, through_ops("py.container"))):
        made = flow.maker(one)
        if made is None or made.name != "py.container":
            yield one


def _wholes(value: Value, flow: Flow) -> Iterator[Value]:
    """Return a value, and what it was taken out of."""
    return walk((value,), lambda one: operands_of(flow, one, through_ops(*_READ)))


def _follow(first: Sequence[Value], second: Sequence[Value], flow: Flow) -> bool:
    """Whether something is computed from the other side: a step that is taken or left out, and no fresh start."""
    return any(_uses(value, second, flow) for value in first)


def _uses(value: Value, given: Iterable[Value], flow: Flow) -> bool:
    """Whether a value was computed from one of some others in the same step."""
    return not set(given).isdisjoint(same_step(flow, (value,)))
