"""The order in which compiled functions are called and the state they read is changed."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import field

from jaxaudit.analyses.buffers import is_read_by, sources
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.parts import roots_around
from jaxaudit.analyses.queries import behind, through_ops, walk
from jaxaudit.analyses.tracing.facts import TracingFacts
from jaxaudit.ir import Argument, Op, Region, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.interfaces import Part
from jaxaudit.ir.ops import PYTHON_LOOPS
from jaxaudit.ir.record import mutable, record
from jaxaudit.libraries.lookup import playing
from jaxaudit.libraries.methods import WRITING

State = tuple[str, object, object]
"""What is read or changed: its kind, whose it is, its name."""

_COMPILED = ("jit", "pmap", "shard_map")
_NUMPY = ("array.numpy", "array.order", "py.random")
_FOLLOWED = ("array.map", "py.operator", "py.unpack", "py.item", "tree.other")
_STRUCTURES = dict.fromkeys(playing("model.split"), 0) | dict.fromkeys(playing("tree.flatten"), 1)
"""Functions that give the structure of a tree beside its leaves, and where it stands among their results."""
_IN_PLACE = playing("model.train")
_HELD = through_ops("py.container")
_FILLED = ("filled",)
"""Stands for whatever variable is None in one arm of a branch, is filled there, and stays as it is in the other."""


@record
class Read:
    """One reading of outside state by compiled code."""

    op: Op
    state: State


@record
class CompiledCall:
    """One call of a compiled function, with what it reads from outside."""

    op: Op
    at: int
    end: int
    loops: tuple[Op, ...]
    reads: tuple[Read, ...]

    @property
    def function(self) -> str:
        """The name of the function, for people."""
        return self.op.qualified or "the function"

    def runs_the_same(self, other: CompiledCall) -> bool:
        """Whether two calls run one compiled function."""
        mine, theirs = (
            (one.op.wrapper_id, one.op.wrapped, one.function, one.op.regions[0].span) for one in (self, other)
        )
        return mine == theirs


@record
class Write:
    """One change of state."""

    op: Op
    at: int
    loops: tuple[Op, ...]
    traced: bool
    """True when compiled code itself does it."""
    step: float | None = None
    """By how much a counter changes."""
    whole: bool = False
    """True when it changes all of a model, whatever part of it is read."""


@mutable
class History:
    """All calls and changes of one root, in program order."""

    calls: list[CompiledCall] = field(default_factory=list)
    writes: dict[State, list[Write]] = field(default_factory=dict)

    def is_late(self, call: CompiledCall, state: State, write: Write) -> bool:
        """Whether a change comes between two calls of the function, which is not made anew in between."""
        if write.traced:
            # A plain assignment inside is seen by what follows it, a depth is counted up and down again; a counter is
            # frozen with the rest.
            inside = [one for one in self.writes[state] if call.at < one.at < call.end]
            return inside == [write] and write.op.augmented
        if self._is_depth(state):
            return False
        made = call.op.wrapper_id or 0
        for loop in write.loops:
            if loop in call.loops and made <= entered(loop)[0] and not _made_inside(state, loop):
                return True
        return write.at >= call.at and any(one.at > write.at and call.runs_the_same(one) for one in self.calls)

    def _is_depth(self, state: State) -> bool:
        """Whether the state is as often counted up as down, so that every call finds the same number."""
        steps = [write.step for write in self.writes[state] if not write.traced]
        return len(steps) > 1 and None not in steps and sum(step for step in steps if step is not None) == 0


def entered(op: Op) -> tuple[int, int]:
    """Return the ids of the youngest value and of the youngest object when a loop or transformation was entered."""
    return (op.entered[0], op.entered[1]) if op.entered else (0, 0)


def _made_inside(state: State, loop: Op) -> bool:
    """Whether every turn makes the object anew whose attribute or entry this is."""
    kind, owner, _ = state
    if kind not in ("attr", "item", "array") or not isinstance(owner, int):
        return False
    newest_value, newest_object = entered(loop)
    return owner > newest_object if owner > 0 else -owner > newest_value


def histories(facts: Facts) -> Iterator[History]:
    """Return the history of every root that calls compiled functions which read outside state."""
    places = facts.places.region_of
    trace, written = facts.get(TracingFacts), filled_arrays(facts).items()
    sure = {op: tuple(one for one in held if trace.value(one).what == "numpy") for op, held in written}
    filled = {op: held for op, held in sure.items() if held}
    reading = roots_around(facts, {places[op] for op in (*facts.program.named("py.read"), *filled)})
    for root in (one for one in facts.program.roots if one.region in reading):
        reader = _Reader(facts, filled)
        reader.region(root.region, ())
        reader.note_updates()
        if any(call.reads for call in reader.history.calls):
            yield reader.history


def filled_arrays(facts: Facts) -> dict[Op, tuple[Value, ...]]:
    """Return the ops that write into an array, each with the arrays that it may be: of NumPy, or nothing is known.

    A name that stands for such an array stays the same value, so what compiled code keeps of it is not told otherwise.
    """
    known = facts.flow.table(filled_arrays)
    if "found" not in known:
        given = ((op, written_array(op)) for op in facts.program.named("py.set_item", *_NUMPY, "py.call_unknown"))
        known["found"] = {op: tuple(_memory(facts.flow, one)) for op, one in given if one is not None}
    return known["found"]


def written_array(op: Op) -> Value | None:
    """Return the array that an op writes into: at an index, as `out=`, or as what a function of NumPy changes."""
    if op.name == "py.set_item":
        base = None if op.results or isinstance(op.arguments.get("index"), str) else op.arguments.get("base")
        return base if isinstance(base, Value) else None
    out = op.arguments.get("out") if op.name == "array.numpy" else None
    called = op.qualified if op.name in _NUMPY else op.callee
    if out is None and called in WRITING and op.operands:
        out = op.operands[0]
    return out if isinstance(out, Value) else None


def captured_arrays(call: Op, facts: Facts) -> Iterator[tuple[Op, Value]]:
    """Return who in a compiled function reads a NumPy array that was there before, and that somebody writes into."""
    filled = {array for held in filled_arrays(facts).values() for array in held}
    for op in compiled_ops(call) if filled else ():
        yield from ((op, array) for array in _arrays_read(facts.flow, op, filled) if array.id <= entered(call)[0])


def _arrays_read(flow: Flow, op: Op, among: Collection[Value]) -> Iterator[Value]:
    for value in dict.fromkeys(op.operands):
        found = [one for one in _memory(flow, value) if one in among]
        yield from found if found and is_read_by(flow, op, value) else ()


def _memory(flow: Flow, value: Value) -> list[Value]:
    """Return what a value may be under the names that it had before, one of which may be a global."""
    found = sources(flow, value)
    for one in found:
        maker = flow.own_maker(one)
        if maker is not None and maker.name == "py.global" and isinstance(maker.constant, Value):
            found += [before for before in sources(flow, maker.constant) if before not in found]
    return found


class _Reader:
    def __init__(self, facts: Facts, filled: dict[Op, tuple[Value, ...]]) -> None:
        self.history = History()
        self._flow = facts.flow
        self._filled = filled
        self._arrays = {array for held in filled.values() for array in held}
        """The NumPy arrays that somebody writes into, and who does."""
        self._updates: list[tuple[Op, Write]] = []
        """The calls that change the parameters of a model in place."""
        self._holders: dict[Value, set[State]] = {}
        """The attributes that parts of models are read from."""
        self._at = 0
        self._seen: set[int] = set()
        self._made: dict[Value, Op] = {}
        self._names: dict[Value, object] = {}
        self._missing: list[object] = []
        """What the code being read was found to lack: names of attributes, keys of entries."""
        self._reads: list[list[Read]] = []
        self._entered: list[int] = []
        """The youngest value when each of the compiled calls being read was entered."""

    def region(self, region: Region, loops: tuple[Op, ...]) -> None:
        if region.shared:
            if id(region) in self._seen:
                return
            self._seen.add(id(region))
            # What a shared body makes it makes anew for each call, whatever loop calls it.
            loops = ()
        for op in region.ops:
            self._at += 1
            if self._arrays:
                self._note_arrays(op, loops)
            if op.name in _COMPILED:
                self._call(op, loops)
            elif op.name == "py.read":
                self._note_read(op)
            elif op.name in CHANGING and (state := changed(op)) is not None:
                self._note_write(op, state, loops)
            elif op.qualified in _IN_PLACE:
                self._updates.append((op, Write(op, self._at, loops, traced=False, whole=True)))
            elif op.name in _FOLLOWED:
                self._made.update((value, op) for value in op.results)
            elif op.name == "py.branch":
                self._branch(op, loops)
            elif op.name == "callback":
                # It runs on the host whenever the compiled code does, and keeps nothing of when that was traced.
                outside, self._reads = self._reads, list[list[Read]]()
                for inner in op.regions:
                    self.region(inner, loops)
                self._reads = outside
            else:
                for inner in op.regions:
                    self.region(inner, (*loops, op) if op.name in PYTHON_LOOPS else loops)

    def _note_arrays(self, op: Op, loops: tuple[Op, ...]) -> None:
        for array in self._filled.get(op, ()):
            write = Write(op, self._at, loops, bool(self._reads))
            self.history.writes.setdefault(_state_of(array), []).append(write)
        if self._reads and op.name not in (*_COMPILED, "py.read"):
            read = _arrays_read(self._flow, op, self._arrays)
            self._reads[-1].extend(Read(op, _state_of(one)) for one in read if one.id <= self._entered[-1])

    def _note_write(self, op: Op, state: State, loops: tuple[Op, ...]) -> None:
        # Filled in where there was none: nobody can have read another value before.
        filled = state[2] in self._missing or (_FILLED in self._missing and state[0] != "item")
        if not filled and not self._is_structure(op.arguments.get("value")):
            write = Write(op, self._at, loops, bool(self._reads), self._step(op))
            self.history.writes.setdefault(state, []).append(write)

    def note_updates(self) -> None:
        """Note what changes with a model: every attribute that holds a part of it."""
        for op, write in self._updates:
            changed_parts = set(walk(values_in(op.arguments.get("args")), lambda one: behind(self._flow, one, _HELD)))
            for part in changed_parts & self._holders.keys():
                for state in self._holders[part]:
                    self.history.writes.setdefault(state, []).append(write)

    def _maker(self, value: Argument) -> Op | None:
        return self._made.get(value) if isinstance(value, Value) else None

    def _step(self, op: Op) -> float | None:
        """Return what `x += 1` or `x -= 1` adds."""
        how = self._maker(op.arguments.get("value")) if op.augmented else None
        if how is None or not isinstance(amount := how.arguments.get("y"), int | float):
            return None
        return {"add": amount, "subtract": -amount}.get(how.function)

    def _is_structure(self, value: Argument) -> bool:
        """Whether something is equal whenever it is taken of a tree of one structure, whatever the leaves."""
        part = Part.of(self._maker(value), value) if isinstance(value, Value) else None
        whole = None if part is None else self._maker(part.whole)
        return part is not None and whole is not None and _STRUCTURES.get(whole.qualified) == part.at

    def _branch(self, op: Op, loops: tuple[Op, ...]) -> None:
        asked = self._made.get(op.operands[0]) if op.operands else None
        for at, inner in enumerate(op.regions):
            missing = None if asked is None else _missing(asked, holds=at == 0)
            if isinstance(missing, Value):
                stays = any(missing in other.results for other in op.regions if other is not inner)
                missing = _FILLED if stays else self._names.get(missing, missing.name)
            self._missing.append(missing)
            self.region(inner, loops)
            self._missing.pop()

    def _call(self, op: Op, loops: tuple[Op, ...]) -> None:
        at = self._at
        self._reads.append([])
        self._entered.append(entered(op)[0])
        for inner in op.regions:
            self.region(inner, loops)
        self._entered.pop()
        reads = self._reads.pop()
        self._at += 1
        self.history.calls.append(CompiledCall(op, at, self._at, loops, tuple(reads)))
        if self._reads:
            self._reads[-1].extend(reads)

    def _note_read(self, op: Op) -> None:
        if isinstance(value := op.arguments.get("value"), Value):
            self._names[value] = op.subject
            self._holders.setdefault(value, set()).add((op.kind, op.owner, op.subject))
        if self._reads:
            self._reads[-1].append(Read(op, (op.kind, op.owner, op.subject)))


def _missing(asked: Op, *, holds: bool) -> object:
    """Return the value that a test finds to be None, or the key that it finds to be in no container."""
    x, y, operator = asked.arguments.get("x"), asked.arguments.get("y"), asked.operator
    finds_none = operator == ("is" if holds else "is not") and y is None and isinstance(x, Value)
    return x if finds_none or operator == ("not in" if holds else "in") else None


def _state_of(array: Value) -> State:
    return "array", -array.id, array.name


def compiled_ops(call: Op) -> Iterator[Op]:
    """Return the ops that a call compiles: not what a callback does on the host."""
    for region in call.regions:
        for op in region.ops:
            yield op
            yield from () if op.name == "callback" else compiled_ops(op)


CHANGING = ("py.store_global", "py.store_nonlocal", "py.rebind", "py.store_attr", "py.set_item")
"""The ops that change state which may live outside of the function they stand in."""


def changed(op: Op) -> State | None:
    """Return the state that an op changes."""
    match op.name:
        case "py.store_global":
            return "global", op.owner, op.subject
        case "py.store_nonlocal" | "py.rebind":
            return "closure", op.owner, op.subject
        case "py.store_attr" if op.object_id is not None:
            return "attr", op.object_id, op.subject
        case "py.store_attr" if isinstance(holder := op.arguments.get("object"), Value):
            return "attr", -holder.id, op.subject
        case "py.set_item" if op.object_id is not None:
            index = op.arguments.get("index")
            return ("item", op.object_id, index) if isinstance(index, str | int | float) else None
        case _:
            return None
