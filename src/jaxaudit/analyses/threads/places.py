"""What source and trace have in common: values that are made at one place of one file, and the names of their axes."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from jaxaudit.analyses.labels import Label, Labels, named
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Declared, Program, Value
from jaxaudit.ir.basis import Basis
from jaxaudit.ir.record import replace
from jaxaudit.spans import Span


class Known(NamedTuple):
    """A value that the source shows: its name, and the size and labels of each axis, 0 where it is not known."""

    name: str
    axes: tuple[tuple[int, Labels], ...]


def labelled(program: Program, shapes: Shapes) -> Mapping[Span, Sequence[Known]]:
    """Return for each place in the source the values that are made there, where some axis of theirs has a name."""
    found: dict[Span, dict[Known, None]] = defaultdict(dict)
    some: set[Span] = set()
    for op in program.walk():
        for value in op.results:
            known = _known(value, shapes)
            found[op.span][known] = None
            if any(labels for _, labels in known.axes):
                some.add(op.span)
    return {span: list(found[span]) for span in some}


def _known(value: Value, shapes: Shapes) -> Known:
    return Known(value.name, tuple((dim.constant or 0, dim.labels) for dim in shapes.of(value).dims or ()))


def _expressions(program: Program, places: Container[Span]) -> Iterator[tuple[Span, list[Value]]]:
    """Return the values of the expressions at some places: JAX makes other things there too, on the way to them."""
    for span, ops in groupby(program.walk(), key=lambda op: op.span):
        if span in places:
            made = [value for op in ops for value in op.results]
            yield span, [one for one in made if one.name] or made[-1:]


def alike(program: Program, source: Program, shapes: Shapes) -> Iterator[tuple[Value, Known]]:
    """Pair the values of a trace with those of the source that are made or enter at the same place, and fit."""
    yield from _made(program, labelled(source, shapes))
    yield from _entered(program, entries(source, shapes))


def _made(program: Program, places: Mapping[Span, Sequence[Known]]) -> Iterator[tuple[Value, Known]]:
    for span, values in _expressions(program, places):
        single = len(values) == 1 and len(places[span]) == 1
        for value in values:
            kind = program.types.get(value)
            for known in places[span] if kind is not None else ():
                # Of several values at one place those go together that people call alike.
                if kind is not None and (single or _is_called(value, known.name)) and _fits(known, kind.shape):
                    yield value, known


def _is_called(value: Value, name: str) -> bool:
    return bool(name) and re.split(r"\W+", value.name.rstrip("]'\""))[-1] == name


def _fits(known: Known, shape: Sequence[int]) -> bool:
    """Whether sizes agree; source may know an axis by its name and leave others open."""
    sizes = [size for size, _ in known.axes]
    return len(sizes) == len(shape) and all(size in (0, real) for size, real in zip(sizes, shape, strict=True))


def with_constants(program: Program, source: Program, shapes: Shapes) -> Program:
    """Return a trace in which axes have the names of the constants that gave them their sizes, where that decides.

    Only axes of one size can be taken for each other, so names of constants that no other of their scope equals decide
    nothing, and a program without such pairs stays as it is: its shapes need not be solved.
    """
    made, entered = labelled(source, shapes), entries(source, shapes)
    twins = _twins([known for some in (*made.values(), entered.values()) for known in some])
    if not twins:
        return program
    told: dict[Value, set[Declared | None]] = defaultdict(set)
    for value, known in (*_made(program, made), *_entered(program, entered)):
        told[value].add(_declared(known, twins))
    # Turns of a loop make several values at one place: where these have several names, it is not known which is whose.
    names = {value: one for value, some in told.items() if len(some) == 1 and (one := next(iter(some))) is not None}
    return replace(program, declared={**names, **program.declared}) if names else program


def _twins(known: Sequence[Known]) -> set[Label]:
    """Return the names of constants of one scope that have one size."""
    sizes: dict[tuple[str, int], set[Label]] = defaultdict(set)
    for size, labels in (axis for one in known for axis in one.axes if axis[0] > 1):
        for label in labels:
            if label.kind == "size":
                sizes[label.scope, size].add(label)
    return {label for same in sizes.values() if len({one.name for one in same}) > 1 for label in same}


def entries(source: Program, shapes: Shapes) -> Mapping[tuple[str, int, str], Known]:
    """Return what the source knows of the parameters of functions, by the line of the function and their names."""
    regions = (region for op in source.walk() for region in op.regions)
    return {
        (region.span.path, region.span.line, param.name): _known(param, shapes)
        for region in (*(root.region for root in source.roots), *regions)
        for param in region.params
        if param.name
    }


def _entered(program: Program, places: Mapping[tuple[str, int, str], Known]) -> Iterator[tuple[Value, Known]]:
    for root in program.roots:
        span = root.region.span
        for param in root.region.params:
            known, kind = places.get((span.path, span.line, param.name)), program.types.get(param)
            if known is not None and kind is not None and _fits(known, kind.shape):
                yield param, known


def _declared(known: Known, twins: set[Label]) -> Declared | None:
    """Name axes by constants of one scope: names of several places cannot contradict each other."""
    own = [sorted((label for label in labels if label in twins), key=lambda one: one.name) for _, labels in known.axes]
    scopes = Counter(label.scope for labels in own for label in labels)
    if not scopes:
        return None
    scope = scopes.most_common(1)[0][0]
    names = [[label.name for label in labels if label.scope == scope] for labels in own]
    return Declared(tuple(some[0] if len(some) == 1 else "" for some in names), scope, "constant", basis=Basis.COMPUTED)


def label_of(labels: Labels) -> str:
    """Return the name that an axis has in the source."""
    return min((one.name for one in named(labels)), default="")
