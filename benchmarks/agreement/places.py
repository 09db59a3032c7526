"""What each front end makes at each place of a file: the values that are compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from jaxaudit.analyses.threads import weave
from jaxaudit.ir import ArrayType, Op, Program, Value
from jaxaudit.reports.inside import mapped_axes
from jaxaudit.spans import Span

STAGES = ("jit", "scan", "while", "fori", "cond", "checkpoint")
"""Ops inside whose regions JAX traces every array. `vmap` and `grad` leave alone what they do not map or derive."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What a trace shows of one expression: the types that leave it, one of which is that of its value.

    JAX makes residuals for a derivative at the place of the expression they belong to, so there may be more than one.
    """

    span: Span
    types: tuple[ArrayType, ...]
    inside: bool
    """Whether JAX surely traces it, under a transformation that the program itself asks for."""
    constant: bool
    """Whether it is made of nothing: also what JAX fills in for a derivative that is zero looks so."""


def observations(traced: Program) -> Iterator[Observed]:
    """Return what a trace shows at each place, each different answer once."""
    whole: dict[Observed, None] = {}
    parts: dict[Span, dict[ArrayType, None]] = defaultdict(dict)
    types, outputs = _as_written(traced), _read_elsewhere(traced)
    inside, unclear = _under(traced, STAGES), {*_under(traced, ("vmap",), _is_split), *_under(traced, ("pmap",))}
    ops = (op for op in _expressions(traced, _NOT_IN_TRACE) if not op.is_derived and op not in unclear)
    for span, run in groupby(ops, key=lambda op: op.span):
        made = list(run)
        found = [value for op in made for value in _results(op) if value in outputs]
        if not found or any(value not in types for value in found):
            continue
        if len(found) == 1 and not made[-1].regions:
            constant = not any(op.operands for op in made)
            whole[Observed(span, (types[found[0]],), all(op in inside for op in made), constant)] = None
        else:
            parts[span].update((types[value], None) for value in found)
    # JAX splits what it differentiates: the value of the expression is then among the results of one of the parts.
    yield from (Observed(span, tuple(kinds), inside=False, constant=False) for span, kinds in parts.items())
    yield from whole


_NOT_IN_TRACE = ("py.call",)
"""What a trace shows to leave a call is what is read later, state that it changed included."""

_NOT_IN_SOURCE = ("py.call", "py.const", "py.loop", "py.while", "py.branch")
"""Numbers are no arrays, and statements have no value: where a loop stands, a trace takes rows from an array."""


def _expressions(program: Program, without: Sequence[str]) -> Iterator[Op]:
    """Return the ops that make the values of expressions, without the steps that are taken at the very same place."""
    steps = {
        inner for op in program.walk() for region in op.regions for inner in region.walk() if inner.span == op.span
    }
    return (op for op in program.walk() if op not in steps and op.name not in without)


def _results(op: Op) -> Sequence[Value]:
    """Return the results of an op that the program asked for: a derivative also gives what its other half needs."""
    roles = op.attrs.get("roles")
    if not isinstance(roles, tuple):
        return op.results
    return [value for value, role in zip(op.results, roles, strict=False) if role]


def _is_split(op: Op) -> bool:
    """Whether a `vmap` is the part of one that a derivative needs again: where its axis is was not written down."""
    mapped = op.attrs.get("mapped_in")
    return not isinstance(mapped, tuple) or not any(isinstance(place, int) for place in mapped)


def source_ops(program: Program) -> Mapping[Span, Sequence[Op]]:
    """Return for each place of the source the ops that make values there."""
    found: dict[Span, list[Op]] = defaultdict(list)
    for op in _expressions(program, _NOT_IN_SOURCE):
        if op.results:
            found[op.span].append(op)
    return found


def _read_elsewhere(program: Program) -> Collection[Value]:
    """Return the values that leave the expression which makes them: others are steps on the way to its value."""
    readers: dict[Value, set[Span]] = defaultdict(set)
    for op in program.walk():
        for value in op.operands:
            readers[value].add(op.span)
    makers = program.makers
    return {value for value, op in makers.items() if readers.get(value, set()) != {op.span}}


def _as_written(program: Program) -> Mapping[Value, ArrayType]:
    """Return the types as the code sees them: without the axes over which `vmap` maps."""
    woven = weave(program)
    gone = mapped_axes(program, lambda value: tuple(str(id(one)) if one else "" for one in woven.of(value)))

    def seen(value: Value, kind: ArrayType) -> ArrayType:
        away = gone.get(value, ())
        return kind._replace(shape=tuple(size for place, size in enumerate(kind.shape) if place not in away))

    return {value: seen(value, kind) for value, kind in program.types.items()}


def _under(program: Program, names: Collection[str], which: Callable[[Op], bool] = lambda op: True) -> Collection[Op]:
    """Return the ops inside the regions of some ops."""
    found: set[Op] = set()
    done: set[int] = set()
    for region in (region for op in program.named(*names) if which(op) for region in op.regions):
        if id(region) not in done:
            done.add(id(region))
            found.update(region.walk())
    return found
