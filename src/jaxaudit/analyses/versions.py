"""Versions: which value is the successor of which.

`x.at[i].set(v)` is a newer `x`, the second result of an optimizer's `update` a newer state, what a loop carries out a
newer one of what it was started with. What the rows of libraries say, the structure of what a function takes and gives,
and the summaries of the functions that are called say so; a name alone never does.

A forward domain: every region is solved once, and whoever calls it puts the operands in the place of its parameters.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from functools import reduce
from itertools import chain

from jaxaudit.analyses.domain import (
    WIDEN_AFTER,
    Direction,
    Read,
    Solution,
    Transfer,
    any_branch,
    anywhere,
    never_parts,
    not_at_once,
    whole,
)
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import depends, last, taken_apart
from jaxaudit.ir import Argument, Op, Program, Region, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.functions import SUMS_OF_TWO
from jaxaudit.ir.interfaces import Branch, Loop, Part, given_to, inside_of
from jaxaudit.ir.ops import BODIES, DERIVATIVES, ELEMENTWISE, MAPPED, SELECTED, VOCABULARY
from jaxaudit.ir.record import record
from jaxaudit.libraries.lookup import lookup, playing, plays, updates
from jaxaudit.libraries.results import Like, Parts, Result

_UPDATING = ("array.scatter", "py.replace")
_PARTS = ("py.unpack", "py.item")

_PLAIN_COPIES = (".replace", "._replace")
COPIES = (*_PLAIN_COPIES, ".apply_gradients")
"""The methods of records that give a changed copy, of whatever class."""

_CELLS: Mapping[str, tuple[int, int | None]] = {"cell.first": (0, 0), "cell.second": (1, 1), "cell.alone": (1, None)}
"""For each kind of recurrent cell, which argument holds its state and which result the next one; None for the whole."""

OPTIMIZER_STEPS = playing("optimizer.step")
"""The `update` of optimizers, by the names of their functions."""


class Ground(IntEnum):
    """What says that a value is the successor of another one, the weakest first."""

    VARIABLE = 1
    """A function gives it in the variable that its parameter came in, and computes it from that."""
    LOOP = 2
    """A loop carries it out in the place of what it was started with."""
    STRUCTURE = 3
    """A function takes a record and gives one of the same class; or something is mixed into the old one."""
    NATURE = 4
    """What makes it is an update by its nature: `.at[].set`, a function of a library that gives a newer argument."""


@record
class Version:
    """What a value is the successor of, and what its parts are."""

    old: frozenset[Value] = frozenset()
    ground: Ground = Ground.NATURE
    parts: frozenset[tuple[int | str, Version]] = frozenset()
    """The items of a tuple or mapping that are newer versions of something."""

    @property
    def plain(self) -> bool:
        """Whether what made it is an update by its nature, however many calls away."""
        return self.ground is Ground.NATURE

    @property
    def in_order(self) -> list[Value]:
        """The old values in the order of the program, for whoever speaks of one of them."""
        return sorted(self.old, key=lambda value: value.id)

    def part(self, key: object) -> Version:
        """Return what one item is the successor of."""
        return next((one for at, one in self.parts if at == key), NOTHING)

    def seen_by(self, visible: Callable[[Value], Value | None]) -> Version:
        """Return the same as it looks outside of a region, given what its values are called there, if anything."""
        parts = frozenset((at, one.seen_by(visible)) for at, one in self.parts)
        old = frozenset(one for inner in self.old if (one := visible(inner)) is not None)
        return _version(old, self.ground, frozenset((at, one) for at, one in parts if one != NOTHING))


NOTHING = Version()
"""What is known of a value that is no successor of any other, as far as can be told."""


def unknown_step(flow: Flow, value: Value) -> tuple[Op, Mapping[int, Value]] | None:
    """Return the `.update` of something unknown that a value is one of two results of, and both of them.

    It is that of an optimizer, if the first result is applied.
    """
    part = Part.of(flow.maker(value), value)
    made = None if part is None else flow.maker(part.whole)
    if part is None or made is None or made.qualified != ".update" or len(given_by_place(made)) not in (2, 3):
        return None
    both = taken_apart(flow, part.whole)
    return (made, both) if both.keys() == {0, 1} else None


def given_by_place(op: Op) -> tuple[tuple[Value, ...], ...]:
    """Return the values that each argument of a method of something unknown holds."""
    return op.placed or tuple((one,) for one in op.operands[1:])


def is_optimizer_step(op: Op) -> bool:
    """Whether an op is the `update` of an optimizer, which gives updates and a new state."""
    return op.qualified in OPTIMIZER_STEPS


def is_cell(op: Op) -> bool:
    """Whether an op is a step of a recurrent network, which gives the next state of it."""
    return any(plays(op.qualified, one) for one in _CELLS)


def is_update(op: Op) -> bool:
    """Whether an op makes a newer version of a value by its nature."""
    return op.name in _UPDATING or is_copy(op) or updates(op.qualified)


def is_copy(op: Op) -> bool:
    """Whether an op copies a record of an unknown class with some fields replaced."""
    return op.qualified in COPIES and bool(op.named)


def is_plain_copy(op: Op) -> bool:
    """Whether a copy keeps every field that it is not given anew."""
    return is_copy(op) and op.qualified in _PLAIN_COPIES


def updates_in(program: Program) -> Iterator[Op]:
    """Return every op that makes a newer version of a value by its nature."""
    return chain(program.named(*_UPDATING), (op for op in program.calls() if is_copy(op) or updates(op.qualified)))


class Versions:
    """The solved versions of all values."""

    def __init__(self, facts: Mapping[Value, Version], flow: Flow) -> None:
        self._known = {
            value: _seen_by_callers(value, fact, flow)
            for value, fact in facts.items()
            if fact.old and flow.maker(value)
        }
        self._parted = {value: fact for value, fact in facts.items() if fact.parts}
        self._flow = flow
        self._newer: dict[Value, list[Value]] = defaultdict(list)
        for value, fact in self._known.items():
            for old in fact.old:
                self._newer[old].append(value)

    def of(self, value: Value) -> Version | None:
        """Return what a value is the successor of; None where that is not known."""
        return self._known.get(value)

    def held(self, value: Value) -> Version | None:
        """Return what a value, or anything in the tuple or mapping that it is, is the successor of."""
        parts = (one for _, one in self._parted.get(value, NOTHING).parts)
        found = [one for one in (self._known.get(value, NOTHING), *parts) if one.old]
        old = frozenset(value for one in found for value in one.old)
        return Version(old, min(one.ground for one in found)) if found else None

    def all(self) -> Iterable[tuple[Value, Version]]:
        """Return every value that is the successor of another one."""
        return self._known.items()

    def untaken(self) -> Iterator[tuple[Value, Version]]:
        """Return every tuple that is taken apart, with the successors in it that are not taken."""
        for value, fact in self._parted.items():
            readers = self._flow.readers.get(value, ())
            items = [op.arguments.get("index") for op in readers if op.name == "py.item"]
            if readers and len(items) == len(readers) and all(isinstance(one, int) for one in items):
                yield from ((value, one) for at, one in fact.parts if at not in items and one.old)

    def newer(self, value: Value) -> Sequence[Value]:
        """Return the successors of a value."""
        return self._newer.get(value, ())

    def maker(self, value: Value) -> Op:
        """Return the op that made a successor: the call that gave it, where it was unpacked or taken from a tree."""
        made = self._flow.maker(last(value, self._whole)) or self._flow.maker(value)
        assert made is not None, "what a region is given is no successor in it"
        return made

    def _whole(self, value: Value) -> Value | None:
        op = self._flow.maker(value)
        return op.value("base", "tree") if op is not None and op.name in (*_PARTS, "tree.leaf") else None


def _seen_by_callers(value: Value, version: Version, flow: Flow) -> Version:
    """Add what a value succeeds in the calls that give it: there a parameter is what the call was given for it."""
    maker, old = flow.maker(value), version.old
    while maker is not None and (call := flow.holder(maker)) is not None and call.in_place and value in call.results:
        outside = dict(given_to(call, call.regions[0]))
        old |= {outside[one] for one in old if one in outside}
        maker = call
    return version if old == version.old else Version(old, version.ground, version.parts)


class VersionsDomain:
    """What every value is the successor of, on all paths."""

    name = "versions"
    direction = Direction.FORWARD
    by_summary = True
    widen_after = WIDEN_AFTER
    parts = never_parts
    taken = any_branch
    place = anywhere
    at_once = not_at_once
    part = whole

    def __init__(self, facts: Facts) -> None:
        self._flow = facts.flow
        own = {"tree.leaf": _leaf, "array.map": self._map, "py.item": self._unpacked, "py.unpack": self._unpacked}
        self._called = dict(self._by_calls(facts.program))
        table: Mapping[str, Transfer[Version]] = {**dict.fromkeys(VOCABULARY, _made), **own}
        self._table = {name: self._filled(transfer) for name, transfer in table.items()}

    @property
    def table(self) -> Mapping[str, Transfer[Version]]:
        """The transfer functions by op name."""
        return self._table

    def _filled(self, transfer: Transfer[Version]) -> Transfer[Version]:
        """Let calls say what a value is the successor of where the op that makes it does not."""

        def run(op: Op, read: Read[Version]) -> Sequence[Version | None]:
            return self._with_calls(op, transfer(op, read))

        return run

    def _with_calls(self, op: Op, made: Sequence[Version | None]) -> Sequence[Version | None]:
        if self._called.keys().isdisjoint(op.results):
            return made
        filled = [*made, *(NOTHING for _ in op.results[len(made) :])]
        pairs = zip(op.results, filled, strict=True)
        return [self._called.get(value, NOTHING) if fact in (None, NOTHING) else fact for value, fact in pairs]

    def unknown(self, value: Value) -> Version:
        """Note that a value is no successor of any other, as far as can be told."""
        return NOTHING

    def join(self, first: Version, second: Version) -> Version:
        """Return what a value is the successor of on both of two paths."""
        both = [(at, self.join(one, second.part(at))) for at, one in first.parts]
        parts = frozenset((at, one) for at, one in both if one != NOTHING)
        return _version(first.old & second.old, min(first.ground, second.ground), parts)

    def widen(self, old: Version, new: Version) -> Version:
        """Return what holds in both of two turns; sets only shrink, so every sequence ends."""
        return self.join(old, new)

    def enter(self, op: Op, region: Region, read: Read[Version], turn: int) -> Sequence[Version]:
        """Let parameters stand for themselves."""
        return [NOTHING] * len(region.params)

    def leave(self, op: Op, read: Read[Version]) -> Sequence[Version | None]:
        """Return what the results of a call, loop, map or branch are the successors of."""
        return self._with_calls(op, self._left(op, read))

    def _left(self, op: Op, read: Read[Version]) -> Sequence[Version]:
        if op.name == "tree.map":
            return _of_trees(op, self._blended(op))
        if not op.results:
            return ()
        if (loop := Loop.of(op)) is not None:
            return _after(loop)
        if (branch := Branch.of(op)) is not None:
            return [self._chosen(branch, at, read) for at in range(len(op.results))]
        return self._returned(op, read) if op.name in BODIES | MAPPED else ()

    def finish(self, facts: Facts, solution: Solution[Version]) -> Versions:
        """Return what rules read."""
        return Versions(solution.facts, self._flow)

    def _chosen(self, branch: Branch, at: int, read: Read[Version]) -> Version:
        """Return what a result is the successor of whichever branch is taken; one may leave the old value alone."""
        inside = list(inside_of(branch.op, at))
        if len(inside) != len(branch.arms) or all(read(value) == NOTHING for _, value in inside):
            return NOTHING
        ways: list[Version] = []
        for region, value in inside:
            visible = self._outside(region, dict(given_to(branch.op, region)))
            fact, same = read(value).seen_by(visible), visible(value)
            ways.append(Version(fact.old if same is None else fact.old | {same}, fact.ground, fact.parts))
        return reduce(self.join, ways)

    def _outside(self, region: Region, given: Mapping[Value, Value]) -> Callable[[Value], Value | None]:
        """Return how the values that a region sees are called outside of its op; what it makes is not seen there."""
        places = self._flow.places

        def visible(value: Value) -> Value | None:
            return given.get(value) or (None if places.within(places.region_of_value(value), region) else value)

        return visible

    def _returned(self, op: Op, read: Read[Version]) -> list[Version]:
        """Return what the results of a call are the successors of, by what its body says of its own parameters."""
        region, facts = op.regions[0], list[Version]()
        outside = dict(given_to(op, region))
        visible = self._outside(region, outside)
        renewed = _renewed(op, outside)
        for result in region.results[: len(op.results)]:
            inner = read(result)
            if result in outside:
                # The same value under another name.
                facts.append(NOTHING)
            elif inner != NOTHING:
                facts.append(inner.seen_by(visible))
            elif result in renewed:
                facts.append(renewed[result])
            else:
                same = self._in_variable(result, [(param.name, param) for param in outside])
                facts.append(same.seen_by(visible))
        return facts

    def _by_calls(self, program: Program) -> Iterator[tuple[Value, Version]]:
        """Return what calls that are read in place give for what they are given, where nothing else says so."""
        for op in (one for one in program.named("py.call") if one.in_place):
            outside = dict(given_to(op, op.regions[0]))
            given = [(param.name, value) for param, value in outside.items()]
            yield from ((made, self._in_variable(made, given)) for made in op.results)
            yield from _renewed(op, outside).items()

    def _in_variable(self, result: Value, given: Iterable[tuple[str, Value]]) -> Version:
        """Take what a function computes from a parameter, and binds to the variable it came in, for its successor."""
        same = [value for name, value in given if name and name == result.name and value is not result]
        made = self._flow.maker(result)
        # A gradient is called after what it was taken of, and a part of something, or what is drawn from it, is no
        # newer one.
        if (
            len(same) == 1
            and (made is None or made.name not in DERIVATIVES | SELECTED | {"key.draw"})
            and depends(self._flow, result, same)
        ):
            return Version(frozenset(same), Ground.VARIABLE)
        return NOTHING

    def _unpacked(self, op: Op, read: Read[Version]) -> Sequence[Version]:
        """Return what the parts of something are, also of what `.update` gives that is then applied as updates."""
        found = unknown_step(self._flow, op.results[0]) if op.results else None
        if found is None:
            return _part(op, read)
        made, both = found
        applied = any(plays(one.qualified, "optimizer.apply") for one in self._flow.readers.get(both[0], ()))
        old = {both[at]: Version(frozenset(held)) for at, held in enumerate(given_by_place(made)[:2])}
        return [old[one] for one in op.results] if applied else ()

    def _map(self, op: Op, read: Read[Version]) -> Sequence[Version]:
        """Take `0.9 * mean + 0.1 * x` for the next `mean`: a running average, by the larger weight."""
        if op.function not in SUMS_OF_TWO:
            return ()
        weights = {one: weight for value in op.operands for one, weight in self._weighted(value)}
        return [_version(frozenset(one for one, weight in weights.items() if weight > 0.5), Ground.STRUCTURE)]

    def _weighted(self, value: Value) -> Iterator[tuple[Value, float]]:
        """Return what a value is times a constant below one, with the constant."""
        made = self._flow.maker(value)
        if made is not None and made.function == "multiply":
            weights = [one for one in made.arguments.values() if isinstance(one, float) and 0 < one < 1]
            yield from ((one, weight) for one in made.operands for weight in weights)

    def _blended(self, op: Op) -> list[int]:
        """Return the trees to whose leaves a mapped function adds something, or mixes something in."""
        region = op.regions[0]
        made = self._flow.maker(region.results[0]) if len(region.results) == 1 else None
        if made is None or made.name not in ELEMENTWISE:
            return []
        leaves = [(at, leaf) for at, leaf in enumerate(region.params) if leaf in made.operands]
        scaled = (
            (at, leaf) for at, leaf in enumerate(region.params) for one in made.operands if self._is_scaled(one, leaf)
        )
        # `p - 0.1 * g` is a newer `p`, and `0.9 * a + 0.1 * b` may be either.
        return [at for at, _ in leaves or scaled]

    def _is_scaled(self, value: Value, leaf: Value) -> bool:
        made = self._flow.maker(value)
        return made is not None and made.name == "array.map" and leaf in made.operands


def _version(
    old: frozenset[Value], ground: Ground = Ground.NATURE, parts: frozenset[tuple[int | str, Version]] = frozenset()
) -> Version:
    return Version(old, ground, parts) if old or parts else NOTHING


def _of(op: Op, *arguments: str, ground: Ground = Ground.NATURE) -> Version:
    return _version(frozenset(value for name in arguments for value in values_in(op.arguments.get(name))), ground)


def _made(op: Op, read: Read[Version]) -> Sequence[Version]:
    """Return what an op gives a newer version of, by its nature."""
    match op.name:
        case "array.scatter":
            return [_of(op, "base" if op.has("base") else "operand")]
        case "grad.stop":
            return [_of(op, "x")]
        case "array.select" if op.argument("condition", "arr") is not None:
            # `where(mask, x, y)` of both that it chooses from, `clip(x, low, high)` of `x`.
            return [_of(op, "x" if op.has("x") else "arr", "y", ground=Ground.STRUCTURE)]
    if len(op.results) != 1:
        return ()
    if op.arguments and op.arguments.get("mutable"):
        return [_collections(op)]
    if not op.qualified:
        return ()
    if is_copy(op):
        return [Version(frozenset(op.operands[:1]))]
    row = lookup(op.qualified)
    if row is not None and (cell := next((one for one in _CELLS if one in row.roles), "")):
        taken, given = _CELLS[cell]
        return [_stepped(op.arguments.get(row.params[taken]), given)]
    return () if row is None else [_as_row_says(op, row.result)]


def _stepped(state: Argument, given: int | None) -> Version:
    """Return the next state of a recurrent network, as one of two results or by itself."""
    items = enumerate(state) if isinstance(state, tuple) else ()
    parts = frozenset((at, Version(frozenset((one,)))) for at, one in items if isinstance(one, Value))
    newer = _version(frozenset(values_in(state)), parts=parts)
    return newer if given is None or newer == NOTHING else Version(parts=frozenset(((given, newer),)))


def _as_row_says(op: Op, result: Result) -> Version:
    if isinstance(result, Like):
        return _of(op, result.param) if result.newer else NOTHING
    items = result.items if isinstance(result, Parts) else ()
    parts = ((at, made) for at, one in enumerate(items) if (made := _as_row_says(op, one)) != NOTHING)
    return _version(frozenset(), parts=frozenset(parts))


def _collections(op: Op) -> Version:
    """Return the collections that a module's `apply` was given, as the second of its results has them."""
    given, mutable = op.arguments.get("variables"), op.arguments.get("mutable")
    held = given.items() if isinstance(given, Mapping) else ()
    named = isinstance(mutable, tuple)
    changed = ((key, old) for key, old in held if not named or key in mutable)
    newer = frozenset((key, Version(frozenset((old,)))) for key, old in changed if isinstance(old, Value))
    whole = frozenset((given,)) if isinstance(given, Value) else frozenset[Value]()
    return Version(parts=frozenset(((1, Version(whole, parts=newer)),))) if newer or whole else NOTHING


def _part(op: Op, read: Read[Version]) -> Sequence[Version]:
    """Return what the items of a tuple or mapping are the successors of."""
    base = op.value("base")
    whole = NOTHING if base is None else read(base)
    if op.name == "py.item":
        return [whole.part(op.arguments.get("index"))]
    return [whole.part(at) for at in range(len(op.results))] if op.star is None else ()


def _leaf(op: Op, read: Read[Version]) -> Sequence[Version]:
    """Follow a leaf of a tree that is a newer version of another tree to the leaf in its place there."""
    tree = op.value("tree")
    whole = NOTHING if tree is None else read(tree)
    return [_version(frozenset(values_in(op.arguments.get("like"))), whole.ground)] if whole.old else ()


def _renewed(op: Op, outside: Mapping[Value, Value]) -> dict[Value, Version]:
    """Return what a call makes anew of what it is given; what it found elsewhere has no name outside of it."""
    pairs = ((outside[old], new) for old, new in op.renewed or () if old in outside)
    return {new: _version(frozenset((old,)), Ground.STRUCTURE) for old, new in pairs}


def _of_trees(op: Op, blended: Sequence[int]) -> Sequence[Version]:
    """Return what the leaves of a mapped tree are the successors of: those of the trees that are blended."""
    border, old = op.border, [op.operands[at] for at in blended if at < len(op.operands)]
    pending = [border.trees[at] for at in blended if at < len(border.trees)] if border is not None else []
    while pending:
        tree = pending.pop()
        pending.extend(tree.children)
        old += [] if tree.value is None else [tree.value]
    return [_version(frozenset(old), Ground.STRUCTURE)] * len(op.results)


def _after(loop: Loop) -> Sequence[Version]:
    """Return what a loop carries out as the successor of what it was started with, where a turn changes it."""
    results = loop.body.results
    starts = ((one, results[one.position]) for one in loop.carried if one.position < len(results))
    moved = {one.position: frozenset((one.start,)) for one, following in starts if following is not one.param}
    return [_version(moved.get(at, frozenset()), Ground.LOOP) for at in range(len(loop.op.results))]
