"""Names of axes that people wrote down: in annotations, assertions and comments `# jaxaudit: axes x = batch time obs`.

Names in other comments and in docstrings are only noted: they show in reports, and no error rests on them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from jaxaudit.analyses.dims import UNKNOWN, constant
from jaxaudit.analyses.labels import Label, Labels
from jaxaudit.analyses.shapes.asserted import asserted_axes
from jaxaudit.analyses.shapes.facts import Dims, ShapeFact
from jaxaudit.ir import Declared, Program, Value
from jaxaudit.ir.basis import Basis
from jaxaudit.ir.record import replace
from jaxaudit.spans import Span

_HINT = re.compile(r"jaxaudit:\s*axes\s+(?P<name>\w+)\s*=\s*(?P<axes>[\w\s]+)")

Hints = Mapping[tuple[str, int, str], Declared]


def declared_axes(program: Program) -> Mapping[Value, Declared]:
    """Return the declared axes of every value that has some."""
    hints = _hints(program)
    return {**program.declared, **asserted_axes(program), **(dict(_hinted(program, hints)) if hints else {})}


def _hints(program: Program) -> Hints:
    found: dict[tuple[str, int, str], Declared] = {}
    for path, lines in program.comments.items():
        for line, text in lines.items():
            match = _HINT.search(text) if "jaxaudit" in text else None
            if match is not None:
                names = tuple(match["axes"].split())
                found[path, line, match["name"]] = Declared(
                    names, f"{path}:hints", "hint", Span(path, line, 0, line, 0), Basis.DECLARED
                )
    return found


def _hinted(program: Program, hints: Hints) -> Iterator[tuple[Value, Declared]]:
    """A hint stands on the line of what it names, or on the one above."""
    for value, span in _values(program):
        hint = hints.get((span.path, span.line, value.name)) or hints.get((span.path, span.line - 1, value.name))
        if value.name and hint is not None:
            yield value, hint


def _values(program: Program) -> Iterator[tuple[Value, Span]]:
    """Return every value with the place where it gets its name: an assignment, or the head of a function."""
    for root in program.roots:
        yield from ((param, root.region.span) for param in root.region.params)
    for op in program.walk():
        yield from ((value, op.span) for value in op.results)
        yield from ((param, region.span) for region in op.regions for param in region.params)


def with_names(fact: ShapeFact, declared: Declared) -> ShapeFact:
    """Return a fact whose axes have the names that were declared for them."""
    names = None if fact.dims is None or not agrees(fact.dims, declared) else declared.for_rank(len(fact.dims))
    if fact.dims is None or names is None:
        return fact
    labels = [_label(name, declared) for name in names]
    return replace(fact, dims=tuple(dim.labelled(own) for dim, own in zip(fact.dims, labels, strict=True)))


def declared_dims(declared: Declared) -> Dims:
    """Return the sizes of the axes of a value of which nothing but its declaration is known."""
    return tuple(constant(int(name)) if name.isdigit() else UNKNOWN for name in declared.names)


def agrees(dims: Dims, declared: Declared) -> bool:
    """Whether a shape has as many axes as were named, and the sizes that were written as numbers."""
    names = declared.for_rank(len(dims))
    if names is None:
        return False
    pairs = zip(dims, names, strict=True)
    return not any(name.isdigit() and dim.constant not in (None, int(name)) for dim, name in pairs)


def _label(name: str, declared: Declared) -> Labels:
    if not name.isidentifier():
        return frozenset()
    if declared.source == "constant":
        return frozenset((Label("size", name, declared.scope),))
    kind = "declared" if declared.is_certain else "noted"
    return frozenset((Label(kind, name, declared.scope, where=declared.where),))
