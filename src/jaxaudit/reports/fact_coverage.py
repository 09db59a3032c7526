"""Fact coverage: of how many arrays of the code the shape is known, in which functions of none, and why it is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.shapes import ShapeFact, Shapes
from jaxaudit.analyses.shapes.facts import NOTHING
from jaxaudit.ir import Argument, Op, Program, Region, Value
from jaxaudit.ir.functions import EQUALITIES
from jaxaudit.ir.ops import ARRAYS, UNFOLLOWED
from jaxaudit.ir.record import record
from jaxaudit.reports.model import ObservedFunction, Sight, SkippedFunction
from jaxaudit.reports.types_text import has_name
from jaxaudit.spans import Span


@record
class FactCoverage:
    """What is known of the arrays of the audited files."""

    arrays: int = 0
    shapes: int = 0
    shapeless: tuple[SkippedFunction, ...] = ()
    observed: tuple[ObservedFunction, ...] = ()


def fact_coverage(known: Sequence[Facts | None], paths: frozenset[str]) -> FactCoverage:
    """Count the places that make arrays, and those whose shape is known in some context, in any of several programs."""
    places: dict[Span, bool] = {}
    functions: dict[Span, list[Span]] = {}
    names: dict[Span, str] = {}
    traced: set[tuple[str, int]] = set()
    for facts in known:
        shapes = facts.find(Shapes) if facts is not None else None
        if facts is None or shapes is None:
            continue
        if facts.program.types:
            traced |= {(op.span.path, op.span.line) for op in facts.program.walk()}
            continue
        for op, function in _array_ops(facts.program, paths):
            found = [shapes.of(value) for value in op.results]
            if any(fact.number is not None or (fact.dims == () and fact.weak) for fact in found) or _is_plain(
                op, shapes
            ):
                continue
            places[op.span] = places.get(op.span, False) or all(map(is_shape_known, found))
            if function is not None:
                functions.setdefault(function.span, []).append(op.span)
                names[function.span] = function.label
    sure = {span for span, is_known in places.items() if is_known or (span.path, span.line) in traced}
    blind = sorted(span for span, made in functions.items() if sure.isdisjoint(made))
    shapeless = tuple(SkippedFunction(one.path, one.line, names[one], _SHAPELESS) for one in blind)
    return FactCoverage(len(places), len(sure), shapeless, tuple(_observed(known)))


def _is_number(fact: ShapeFact) -> bool:
    """Whether something is a number of Python's."""
    return fact.number is not None or (fact.dims == () and fact.weak)


_OF_SEQUENCES = EQUALITIES | frozenset(("add", "multiply"))


def _is_plain(op: Op, shapes: Shapes) -> bool:
    """Whether an operator is given something that is no array, so that what it makes need be none: `mode == "fast"`."""
    return op.is_operator and any(_is_no_array(one, op.function, shapes) for one in op.arguments.values())


def _is_no_array(argument: Argument, function: str, shapes: Shapes) -> bool:
    if argument is None or isinstance(argument, str | bytes):
        return True
    fact = shapes.of(argument) if isinstance(argument, Value) else NOTHING
    listed = isinstance(argument, tuple) or (fact.items or fact.each or fact.sizes) is not None
    return listed and function in _OF_SEQUENCES


_SHAPELESS = "no shape is known of what it is given or makes"


def is_shape_known(fact: ShapeFact) -> bool:
    """Whether the sizes of all axes are numbers, or go by names of the program's."""
    return fact.dims is not None and all(map(has_name, fact.dims))


def _array_ops(program: Program, paths: frozenset[str]) -> Iterator[tuple[Op, Region | None]]:
    """Return the ops that make arrays, with the function that each stands in; None at the top of a module."""
    seen: set[int] = set()
    waiting: list[tuple[Region, Region | None]] = [
        (root.region, None if root.runs else root.region) for root in program.roots
    ]
    while waiting:
        region, function = waiting.pop()
        if id(region) in seen:
            continue
        seen.add(id(region))
        for op in region.ops:
            if op.name in ARRAYS and op.results and op.span.path in paths:
                yield op, function
            if not op.regions:
                continue
            waiting += [(inner, inner if inner.kind == "function" else function) for inner in op.regions]


def _observed(known: Sequence[Facts | None]) -> Iterator[ObservedFunction]:
    for root in (root for facts in known if facts is not None for root in facts.program.roots):
        seen = root.observation
        if seen is not None:
            sights = tuple(Sight(where, calls) for where, calls in seen.places)
            span = root.region.span
            yield ObservedFunction(span.path, span.line, root.name, seen.arguments, seen.text, sights, seen.changed)


def reasons(facts: Facts) -> Callable[[Value], str]:
    """Return the words that say why the shape of a value is not known; empty where it is, or it is no array."""
    shapes, makers = facts.get(Shapes), facts.program.makers
    owners = {param: region for region in facts.program.regions() for param in region.params}
    kept: dict[Value, str] = {}

    def why(value: Value) -> str:
        if is_shape_known(shapes.of(value)):
            return ""
        way: list[Value] = []
        while value not in kept and value not in way:
            way.append(value)
            cause = _cause(value)
            if isinstance(cause, str):
                kept[value] = cause
                break
            value = cause
        reason = kept.get(value, "it depends on itself")
        for one in way:
            kept.setdefault(one, reason if reason.startswith("it follows from") else _following(value, reason))
        return kept[way[0]] if way else reason

    def _cause(value: Value) -> Value | str:
        maker = makers.get(value)
        if maker is None:
            region = owners.get(value)
            label = f"`{region.label}`" if region is not None else "its function"
            return f"it is an argument of {label}, and no call that was read says its shape"
        if maker.name in UNFOLLOWED:
            return maker.reason or "what makes it was not followed"
        unknown = (one for one in maker.operands if not is_shape_known(shapes.of(one)))
        found = next(unknown, None)
        made = maker.qualified or maker.name
        return f"what `{made}` gives has no known shape" if found is None else found

    return why


def _following(cause: Value, reason: str) -> str:
    name = f"`{cause.name}`" if cause.name else "a value"
    return f"it follows from {name} at line {cause.span.line}: {reason}"
