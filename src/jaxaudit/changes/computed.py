"""A program in terms: what each of its roots returns and stores, of its parameters.

Front ends take containers apart and read functions where they are called, so none of these is to be seen here;
compiling and calling change nothing either.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, zip_longest

from jaxaudit.changes.terms import CARRY, CONSTANT, ELEMENT, FULL, INPUT, PART, TURNS, Terms
from jaxaudit.ir import Op, Program, Region, Value
from jaxaudit.ir.functions import NEGATIONS, UNIFORM
from jaxaudit.ir.interfaces import Branch, Loop, given_to
from jaxaudit.ir.ops import (
    BRANCHES,
    CUSTOM_DERIVATIVES,
    DERIVATIVES,
    INLINE,
    LOOPS,
    MAPPED,
    NOTES,
    PYTHON_LOOPS,
    STORES,
)
from jaxaudit.ir.types import Root
from jaxaudit.ir.values import Argument, Symbol
from jaxaudit.spans import Span

_SCALARS = frozenset({"array.map", "array.select", "py.operator"})
"""Ops among whose arguments a number is a value like any other, and says nothing about how they work."""
_OPTIONS = "length reverse axis axis_name in_specs out_specs has_aux argnums".split()
_SHOWN = frozenset({"py.print", "py.format", "callback"})
"""Ops that show values to somebody."""
_SAME = frozenset({"key.within", "key.clone", "device.place"})
"""Ops that give their first operand back."""


@dataclass
class Outputs:
    """What one root gives away, by term."""

    name: str
    returned: list[tuple[Span, list[int]]] = field(default_factory=list)
    stored: dict[str, list[tuple[Span, int]]] = field(default_factory=lambda: defaultdict(list))

    @property
    def numbers(self) -> tuple[object, ...]:
        """All of it without places."""
        stored = {name: [number for _, number in some] for name, some in self.stored.items()}
        return [numbers for _, numbers in self.returned], stored


@dataclass
class Reading:
    """One program in terms."""

    terms: Terms
    names: dict[int, str] = field(default_factory=dict)
    """What the program calls each term, and where it computes it."""
    places: dict[int, list[Span]] = field(default_factory=lambda: defaultdict(list))
    given: dict[int, list[Span]] = field(default_factory=lambda: defaultdict(list))
    """Where functions return them."""
    _of: dict[Value, int] = field(default_factory=dict)

    def root(self, root: Root, inputs: Mapping[str, str]) -> Outputs:
        """Read a root, whose parameters go by these names."""
        for param in root.region.params:
            self._bind(param, self.terms.number(INPUT, (), (("name", inputs.get(param.name, param.name)),)))
        found = Outputs(root.region.label)
        self._region(root.region, found, own=True)
        if not found.returned:
            # What a decorator has made of a function is called by nobody here, and gives what it gives.
            calls = [op for op in root.region.ops if op.regions and (root.runs or op.qualified == found.name)]
            found.returned += [(op.span, [self._get(one) for one in op.results]) for op in calls]
        return found

    def _bind(self, value: Value, number: int) -> None:
        self._of[value] = number
        if value.name:
            self.names.setdefault(number, value.name)

    def _get(self, value: Value) -> int:
        # What was made elsewhere, in a body that is not read here, is an input of its own.
        if value not in self._of:
            self._bind(value, self.terms.number(INPUT, (), (("name", value.name),)))
        return self._of[value]

    def _region(self, region: Region, found: Outputs, *, own: bool = False) -> None:
        for op in region.ops:
            if op.name == "py.return":
                numbers = [self._get(one) for one in op.operands]
                found.returned += [(op.span, numbers)] * own
                for one in numbers:
                    self.given[one].append(op.span)
            elif op.name in STORES and isinstance(stored := op.arguments.get("value"), Value):
                found.stored[f"{op.name} {op.label}"].append((op.span, self._get(stored)))
            elif op.name in _SHOWN:
                found.stored[op.name].extend((op.span, self._get(one)) for one in op.operands)
            elif op.name not in NOTES and (op.results or op.regions):
                if op.name == "py.call_unknown":
                    found.stored[_label(op)].extend((op.span, self._get(one)) for one in op.operands)
                self._op(op, found, own=own and op.name in INLINE)

    def _op(self, op: Op, found: Outputs, *, own: bool) -> None:
        if op.name in MAPPED and op.regions:
            made = self._mapped(op, found)
        elif op.name in LOOPS and op.regions:
            made = self._loop(op, found, own=own)
        elif op.regions:
            made = self._body(op, found, own=own)
        elif op.name in _SAME and op.operands:
            made = iter([self._get(op.operands[0])] * len(op.results))
        else:
            made = self._plain(op)
        for at, (value, number) in enumerate(zip_longest(op.results, made)):
            if value is not None:
                self._bind(value, self._rest(op, at) if number is None else number)
                self.places[self._of[value]].append(op.span)

    def _rest(self, op: Op, at: int) -> int:
        """Return a result of which it is only known that the op made it, of all that it had."""
        inner = [self._get(one) for region in op.regions for one in region.results]
        whole = self.terms.number(_label(op), [*inner, *map(self._get, op.operands)], [*_options(op)])
        return self.terms.number(PART, [whole], [("place", str(at))])

    def _plain(self, op: Op) -> Iterator[int]:
        if op.name in ("py.const", "py.global"):
            yield self._constant(op.constant if op.constant is not None else op.label)
            return
        if op.name == "py.item" and isinstance(op.arguments.get("index"), int) and op.operands:
            whole, places = self._get(op.operands[0]), [op.arguments["index"]]
        elif op.name == "py.attr" and op.operands:
            yield self.terms.number("attr", [self._get(op.operands[0])], [("name", op.label)])
            return
        elif op.name == "py.unpack" and op.operands:
            whole, places = self._get(op.operands[0]), list(range(len(op.results)))
        else:
            whole = self.terms.number(_label(op), list(self._inputs(op)), [*_options(op)])
            self.places[whole].append(op.span)
            places = list(range(len(op.results))) if len(op.results) > 1 else []
            if not places:
                yield whole
        for at in places:
            yield self.terms.number(PART, [whole], [("place", str(at))])

    def _constant(self, value: object) -> int:
        return self.terms.number(CONSTANT, (), [("value", _text(value))])

    def _inputs(self, op: Op) -> Iterator[int]:
        if op.name in _SCALARS and op.arguments:
            for argument in op.arguments.values():
                if isinstance(argument, Value):
                    yield self._get(argument)
                elif argument is not None:
                    yield self._constant(argument)
        else:
            yield from map(self._get, op.operands)

    def _body(self, op: Op, found: Outputs, *, own: bool) -> Iterator[int]:
        """Read what runs once: functions, derivatives of functions, and branches of which one runs."""
        for region in op.regions:
            for param, given in given_to(op, region):
                self._bind(param, self._get(given))
            self._region(region, found, own=own)
        if op.name in BRANCHES:
            arms = (Branch.of(op) or Branch(op)).arms
            asked = [self._get(one) for one in op.operands[:1]]
            for at in range(len(op.results)):
                inner = [self._get(arm.results[at]) for arm in arms if at < len(arm.results)]
                yield self.terms.number(op.name, [*asked, *inner])
        elif op.name in DERIVATIVES | CUSTOM_DERIVATIVES:
            inner = [self._get(one) for region in op.regions for one in region.results]
            by = [self._get(op.operands[at]) for at in op.differentiated or () if at < len(op.operands)]
            whole = self.terms.number(op.name, [*inner, *by], [*_options(op)])
            self.places[whole].append(op.span)
            yield from (self.terms.number(PART, [whole], [("place", str(at))]) for at in range(len(op.results)))
        else:
            yield from map(self._get, op.regions[0].results)

    def _mapped(self, op: Op, found: Outputs) -> Iterator[int]:
        region, axes = op.regions[0], op.in_axes or ()
        given = dict[Value, list[int]]()
        for at, (param, operand) in enumerate(given_to(op, region)):
            given.setdefault(param, []).append(self._get(operand))
            axis = axes[at] if at < len(axes) else 0
            how = [("in_axes", _text(axis))] if axis != 0 else []
            self._bind(param, self.terms.number(ELEMENT, given[param], how))
            self.places[self._of[param]].append(op.span)
        self._region(region, found)
        out = op.out_axes or ()
        for at, inner in enumerate(region.results):
            how = [("out_axes", _text(out[at]))] if at < len(out) and out[at] != 0 else []
            yield self.terms.number(op.name, [self._get(inner)], [*how, *_options(op)])

    def _loop(self, op: Op, found: Outputs, *, own: bool) -> Iterator[int]:
        loop = Loop(op)
        for region in op.regions:
            for param in region.params:
                self._bind(param, self.terms.number(ELEMENT, (), (("name", "turn"),)))
            for param, array in loop.elements:
                self._bind(param, self.terms.number(ELEMENT, [self._get(array)]))
            for param, start, at in loop.carried_in(region):
                # The order in which Python's loops carry variables is that of nobody.
                how = [] if op.name in PYTHON_LOOPS else [("place", str(at))]
                self._bind(param, self.terms.number(CARRY, [self._get(start)], how))
            self._region(region, found, own=own)
        last = loop.body.results
        after = {self._of[param]: self._get(last[at]) for param, _, at in loop.carried if at < len(last)}
        asked = [self._get(one) for region in op.regions if loop.is_condition(region) for one in region.results]
        bounds = [self._get(one) for one in op.operands[:2]] if op.name == "fori" else []
        for at, _ in enumerate(op.results):
            if at < len(last):
                first = [self._get(last[at]), *asked, *bounds]
                turns = [one for pair in self._renewed(first, after) for one in pair]
                yield self.terms.number(op.name, [*first, *turns], [(TURNS, str(len(first))), *_options(op)])

    def _renewed(self, numbers: Sequence[int], after: Mapping[int, int]) -> list[tuple[int, int]]:
        """Return what a loop carries of all that some terms of its body depend on, and what its next turn has of it."""
        found: set[int] = set()
        waiting = list(numbers)
        while waiting:
            for one in (self.terms.leaves(waiting.pop()) & after.keys()) - found:
                found.add(one)
                waiting.append(after[one])
        return [(one, after[one]) for one in after if one in found]


def _label(op: Op) -> str:
    # What is called by a variable of the program's own may be called otherwise.
    callee = op.callee if "." in op.callee else ""
    name = op.name if op.regions else op.function or callee or op.operator or op.name
    if name in NEGATIONS:
        return "not"
    if name in UNIFORM and op.value("fill_value") is None:
        return FULL
    return name.rpartition(".")[2] if op.name.startswith(("array.", "key.")) else name


def _options(op: Op) -> Iterator[tuple[str, str]]:
    """Return all that is written down of how an op works."""
    if op.name not in _SCALARS:
        for role, argument in op.arguments.items():
            if not _is_value(argument) and argument is not None and argument is not False and role != "fill_value":
                yield role, _text(argument)
    for name in _OPTIONS:
        given = op.attrs.get(name, op.option(name))
        if given is not None and given is not False and name not in op.arguments:
            yield name, _text(given)


def _is_value(argument: Argument) -> bool:
    """Whether an argument is all of values, which are inputs."""
    return isinstance(argument, Value) or (isinstance(argument, tuple) and all(map(_is_value, argument)))


def _text(argument: Argument | object) -> str:
    match argument:
        case Value():
            return "_"
        case Symbol():
            return argument.rpartition(".")[2]
        case tuple():
            return f"({', '.join(map(_text, argument))})"
        case {"start": start, "stop": stop, "step": step}:
            ends = [_text(one) if one is not None else "" for one in (start, stop, step)]
            return ":".join(ends if step is not None else ends[:2])
        case Mapping():
            return f"{{{', '.join(f'{name}: {_text(one)}' for name, one in argument.items())}}}"
        case int() if not isinstance(argument, bool):
            return int.__repr__(argument)
    return repr(argument)


def roots(program: Program) -> dict[tuple[str, str, int], Root]:
    """Return the places where a program may start, by their file and their name in it, and which of several it is."""
    found: dict[tuple[str, str, int], Root] = {}
    for root in program.roots:
        name = _inside(root)
        found[root.path, name, next(at for at in count() if (root.path, name, at) not in found)] = root
    return found


def _inside(root: Root) -> str:
    """Return the name of a root without that of its module."""
    module = root.path.removesuffix(".py").removesuffix("/__init__").split("/")
    tails = (".".join(module[start:]) for start in range(len(module)))
    tail = next((one for one in tails if root.name.startswith(f"{one}.")), "")
    return root.name.removeprefix(f"{tail}.") if tail else "" if root.runs else root.name
