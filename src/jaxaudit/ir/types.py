"""What a program is made of: values, ops that make values from values, and regions that nest ops.

The form is structured single assignment: every value is made once, by an op or as a parameter of a region; an op may
hold regions (the branches of an `if`, the body of a scan, the body of a called function). An op sees every value made
before it in program order: a value made inside the body of a called function may be met outside it, where the callee
put it into a list or an attribute. Only a `shared` region (one body that several calls use) is closed: it sees its own
parameters alone, and nothing inside it is seen outside. Containers do not exist here: a front end keeps tuples, dicts
and records apart and hands their leaves to ops.

Values, ops and regions compare by identity. Only `ir.builder` makes them; nothing changes them afterwards.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import chain
from typing import Any, NamedTuple

from jaxaudit.ir.attributes import Attribute, Attributes
from jaxaudit.ir.basis import Basis
from jaxaudit.ir.fits import CallFit
from jaxaudit.ir.functions import canonical
from jaxaudit.ir.members import ClassMembers, Copy, Exported, Settings
from jaxaudit.ir.reads import ScopeReads
from jaxaudit.ir.record import entity, record
from jaxaudit.ir.values import REST, Argument, Value
from jaxaudit.spans import Span


class Exit(Enum):
    """How control leaves the end of a region."""

    FALL = "fall"
    """To whatever follows the op that holds the region."""
    RETURN = "return"
    """Out of the enclosing function."""
    RAISE = "raise"
    """By an exception."""
    BREAK = "break"
    """Out of the enclosing loop."""
    CONTINUE = "continue"
    """To the next turn of the enclosing loop."""


@dataclass(slots=True, eq=False)
class Op(Attributes):
    """One step: takes operands, makes results, and may hold regions. Its name is a row of `ir.ops.VOCABULARY`."""

    name: str
    operands: tuple[Value, ...]
    results: tuple[Value, ...]
    span: Span
    arguments: Mapping[str, Argument] = field(default_factory=dict)
    """The operands by role, with the constants among them: `{"axis": -1, "a": %4}`."""
    attrs: Mapping[str, object] = field(default_factory=dict)
    """What is known of the op itself: which function, which options."""
    regions: tuple[Region, ...] = ()
    qualified: str = field(init=False, repr=False)
    """The function by its qualified name (`jax.numpy.sum`), or by the name its author gave it."""
    function: str = field(init=False, repr=False)
    """The canonical id of the function that the op is a call of: `subtract`, however it was spelled."""
    views: dict[object, Any] | None = field(init=False, default=None, repr=False)
    """What `ir.interfaces` tells of the op, as far as somebody asked."""

    def __post_init__(self) -> None:
        # Everybody asks for these two, so they are no attributes that are looked up.
        named = self.attrs.get("function")
        self.qualified = named if isinstance(named, str) else ""
        self.function = canonical(self.name, self.qualified) if self.qualified else ""

    @property
    def result(self) -> Value:
        """The only result of an op that has one."""
        (value,) = self.results
        return value

    @property
    def is_derived(self) -> bool:
        """Whether JAX made it of a line by differentiating; the lines of a derivative rule are the author's own."""
        return bool(self.attrs.get("backward")) and not self.rule

    def argument(self, *names: str) -> Argument:
        """Return an argument under the first of these names that was used; None where none of them was."""
        for name in names:
            if name in self.arguments:
                return self.arguments[name]
        return None

    def value(self, *names: str) -> Value | None:
        """Return an argument under the first of these names that was used, where it is a value and no constant."""
        given = self.argument(*names)
        return given if isinstance(given, Value) else None

    @property
    def transformation(self) -> str:
        """The transformation by its own name, whatever library spells it: `jit` of `equinox.filter_jit`."""
        return self.spelling.rpartition(".")[2].removeprefix("filter_")

    @property
    def is_inner(self) -> bool:
        """Whether a trace shows it as a part of what another function does, one of JAX or of a library."""
        written = self.api in ("", self.function) or self.api.startswith("operator")
        return bool(self.within or self.library) or not written

    @property
    def base(self) -> Value | None:
        """The array that a function rearranges or takes elements of: its first argument, else the first operand."""
        first = next(iter(self.arguments.values()), None)
        return first if isinstance(first, Value) else next(iter(self.operands), None)

    def option(self, name: str, default: object = None) -> Any:
        """Return what a transformation was given by keyword; the default where that is its own."""
        options = self.options
        return default if options is None else options.get(name, default)

    def has(self, *names: str) -> bool:
        """Whether an argument was given under one of these names."""
        return not self.arguments.keys().isdisjoint(names)


@dataclass(slots=True, eq=False)
class Region:
    """A run of ops with parameters and results: a function's body, a branch, the body of a loop."""

    kind: str
    """`root`, `function`, `branch` or `loop`."""
    label: str
    """For people: the function's name, `then`, `else`, `body`."""
    span: Span
    params: tuple[Value, ...] = ()
    ops: list[Op] = field(default_factory=list)
    results: tuple[Value, ...] = ()
    exit: Exit = Exit.FALL
    shared: bool = False
    """True for the closed body of a function that several calls may use; else the region belongs to its op alone."""

    def walk(self, seen: set[int] | None = None, enters: Callable[[Op], bool] | None = None) -> Iterator[Op]:
        """Return every op in this region and the regions inside it, in program order.

        A region that several ops share (a function called twice) is given at its first op only. Those whose identity is
        in `seen` are left out, and all that are given are added to it. Ops that `enters` denies are not looked into.
        """
        seen = set() if seen is None else seen
        stack = [iter(self.ops)]
        while stack:
            for op in stack[-1]:
                yield op
                if not op.regions or (enters is not None and not enters(op)):
                    continue
                depth = len(stack)
                for region in reversed(op.regions):
                    if id(region) not in seen:
                        seen.add(id(region))
                        stack.append(iter(region.ops))
                if len(stack) > depth:
                    break
            else:
                stack.pop()


@record
class Declared:
    """The names that somebody wrote down for the axes of a value; empty where an axis has none.

    A size may stand in the place of a name, and `...` for any number of axes.
    """

    names: tuple[str, ...]
    scope: str
    """Where they were written: names of one place are different things."""
    source: str = "annotation"
    """`annotation`, `hint`, `assertion`: the code relies on them; `comment`, `docstring`, `return annotation`: somebody
    said so; `constant`: the sizes are constants of these names."""
    span: Span | None = None
    """The line they were written on."""
    basis: Basis = Basis.SAID
    """Whether the program checks them; a hint is written for the audit, which holds the code to it."""

    @property
    def is_certain(self) -> bool:
        """Whether the number of axes follows from it; what is only said may be stale."""
        return self.source not in ("comment", "docstring", "return annotation")

    @property
    def rank(self) -> int | None:
        """How many axes were named; None where that may be any number."""
        return None if REST in self.names else len(self.names)

    def for_rank(self, rank: int) -> tuple[str, ...] | None:
        """Return one name for each axis of an array of some rank; None where it has too many axes or too few."""
        if REST not in self.names:
            return self.names if len(self.names) == rank else None
        at, missing = self.names.index(REST), rank - len(self.names) + 1
        return (*self.names[:at], *("",) * missing, *self.names[at + 1 :]) if missing >= 0 else None

    @property
    def where(self) -> str:
        """Return in words where the names come from."""
        return f"the {self.source}" if self.span is None else f"the {self.source} at line {self.span.line}"


class ArrayType(NamedTuple):
    """The exact shape and dtype of a value, where a front end has them from JAX itself."""

    shape: tuple[int, ...]
    dtype: str
    """As NumPy names it (`float32`), or `key<fry>` for typed random keys."""
    weak: bool = False


@record
class Observation:
    """With what a function was seen to be called in runs and tests."""

    places: tuple[tuple[str, int], ...]
    """The scripts and tests, with the number of calls in each."""
    text: str
    """For people: `observed in tests/test_env.py::test_step, 3 calls`."""
    arguments: str
    """For people: `x float32[8, 3]`."""
    changed: bool = False
    """True where the function has changed since; its parameters have not."""


@entity
class Root:
    """A place where a program may start: a module's top level, or a function that nothing in the project calls."""

    name: str
    path: str
    region: Region
    runs: bool = False
    """True for code that runs as it stands, a module's top level: nothing else can call it from elsewhere."""
    observation: Observation | None = None
    """Where its arguments are those that a run showed; None where they may be anything."""


@entity
class Program:
    """All roots that one front end found."""

    roots: tuple[Root, ...]
    front_end: str
    comments: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    """The comments of each file by line: people say there what they mean."""
    types: Mapping[Value, ArrayType] = field(default_factory=dict)
    """The exact types of values; empty where nothing was traced."""
    declared: Mapping[Value, Declared] = field(default_factory=dict)
    """The names of axes that annotations give."""
    observed: Mapping[Value, ArrayType] = field(default_factory=dict)
    """The types that arguments of roots had in runs and tests."""
    fields: Mapping[Value, tuple[Value | ArrayType, ...]] = field(default_factory=dict)
    """For what is read from objects from outside all that the code stores in that field of such objects."""
    kept: Mapping[Value, Argument] = field(default_factory=dict)
    """For what is read from objects from outside what their constructor alone puts there, in terms of its own."""
    main_blocks: Mapping[str, Span] = field(default_factory=dict)
    """The block under `if __name__ == "__main__"` of each file that has one."""
    reads: tuple[ScopeReads, ...] = ()
    """The names that each function, class and module reads."""
    members: tuple[ClassMembers, ...] = ()
    """The attributes of each class."""
    settings: tuple[Settings, ...] = ()
    """What the program gives itself to go by."""
    copies: tuple[Copy, ...] = ()
    """Lines that are copies of one another with a word changed in their names."""
    compared: Mapping[Span, CallFit] = field(default_factory=dict)
    """How the calls that raise in no context compare with the parameters of what they call."""
    switches: frozenset[str] = frozenset()
    """The switches of JAX that the code names, or that scripts beside it turn on."""
    exported: tuple[Exported, ...] = ()
    """The switches of JAX that modules put into the environment."""
    unpacked: Mapping[Span, int] = field(default_factory=dict)
    """How many parts are unpacked where that many are known to be there."""

    _ops: list[Op] = field(default_factory=list, init=False, repr=False)
    _named: dict[str, list[Op]] = field(default_factory=dict, init=False, repr=False)
    _calling: dict[str, list[Op]] = field(default_factory=dict, init=False, repr=False)
    _mapping: dict[str, list[Op]] = field(default_factory=dict, init=False, repr=False)
    _having: dict[str, list[Op]] = field(default_factory=dict, init=False, repr=False)
    _regions: list[Region] = field(default_factory=list, init=False, repr=False)
    _makers: dict[Value, Op] = field(default_factory=dict, init=False, repr=False)

    def walk(self) -> Iterator[Op]:
        """Return every op of every root once, in order."""
        return iter(self._walked())

    def named(self, *names: str) -> Iterator[Op]:
        """Return every op of some names: those of each name in order, one name after the other."""
        self._walked()
        return chain.from_iterable(self._named.get(name, ()) for name in names)

    def calling(self, *functions: str) -> Iterator[Op]:
        """Return every op that is a call of some functions: those of each function in order, one after the other."""
        self._walked()
        return chain.from_iterable(self._calling.get(function, ()) for function in functions)

    def called(self, tail: str) -> Iterator[Op]:
        """Return every op that is a call of a function whose name ends so."""
        self._walked()
        return chain.from_iterable(ops for function, ops in self._calling.items() if function.endswith(tail))

    def mapping(self, *functions: str) -> Iterator[Op]:
        """Return every elementwise op of some functions, by the last part of their names, one after the other."""
        self._walked()
        return chain.from_iterable(self._mapping.get(function, ()) for function in functions)

    def having(self, attribute: Attribute[Any]) -> Sequence[Op]:
        """Return every op that has an attribute, in order."""
        self._walked()
        return self._having.get(attribute.key, ())

    def calls(self) -> Sequence[Op]:
        """Return every op that is a call of some function, in order."""
        self._walked()
        return self._having.get("function", ())

    def regions(self) -> Sequence[Region]:
        """Return every region once: those of the roots, then all others in order."""
        if not self._regions:
            inner = [region for op in self._walked() for region in op.regions]
            known = {id(region): region for region in (*(root.region for root in self.roots), *inner)}
            self._regions.extend(known.values())
        return self._regions

    @property
    def makers(self) -> Mapping[Value, Op]:
        """The op that makes each value; parameters of regions are made by none."""
        if not self._makers:
            made = (op for op in self._walked() if not op.regions or not op.in_place)
            self._makers.update([(value, op) for op in made for value in op.results])
        return self._makers

    def values(self) -> Iterator[Value]:
        """Return every value: some more than once."""
        for root in self.roots:
            yield from root.region.params
        for op in self._walked():
            yield from op.results
            for region in op.regions:
                yield from region.params

    def _walked(self) -> list[Op]:
        """Walk once for all who ask, into each region once: roots share the bodies of functions that both call."""
        if not self._ops:
            seen: set[int] = set()
            self._ops.extend(op for root in self.roots for op in root.region.walk(seen))
            named, having = defaultdict[str, list[Op]](list), defaultdict[str, list[Op]](list)
            for op in self._ops:
                named[op.name].append(op)
                for attr in op.attrs:
                    having[attr].append(op)
            self._named.update(named)
            self._having.update(having)
            for op in self._having.get("function", ()):
                self._calling.setdefault(op.qualified, []).append(op)
                if op.name == "array.map":
                    self._mapping.setdefault(op.function, []).append(op)
        return self._ops
