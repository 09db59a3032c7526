"""Writes ops with exact types, names and places; what all parts of the lowering share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.files import shown
from jaxaudit.frontends.jaxpr.prints import Prints
from jaxaudit.frontends.jaxpr.records import Records
from jaxaudit.frontends.jaxpr.sharing import Sharing
from jaxaudit.frontends.jaxpr.sites import Site, Surroundings
from jaxaudit.ir import Argument, ArrayType, Op, Region, Value
from jaxaudit.ir.builder import Builder
from jaxaudit.spans import Span


class KnownAs(NamedTuple):
    """What an equation is to the user."""

    function: str = ""
    api: str = ""
    """The function of JAX that code outside JAX called."""
    within: str = ""
    """The function of JAX whose inside it belongs to."""
    mode: bool = False
    """Whether the call says what shall happen to indices beyond the end."""

    def attrs(self) -> dict[str, object]:
        """Return it as attributes of an op."""
        told = {"function": self.function, "api": self.api, "within": self.within, "mode": self.mode}
        if self.api == self.function:
            del told["api"]
        return {name: one for name, one in told.items() if one}


UNNAMED = KnownAs()


@dataclass(slots=True)
class Writer:
    """The state of one program under construction."""

    records: Records
    builder: Builder = field(default_factory=Builder)
    types: dict[Value, ArrayType] = field(default_factory=dict)
    constants: dict[int, Value] = field(default_factory=dict)
    """The arrays that jaxprs are closed over, by identity."""
    paths: set[str] = field(default_factory=set)
    undifferentiated: dict[tuple[str, int], str] = field(default_factory=dict)
    """The functions with derivative rules that a call does not differentiate: their names by their places."""
    _attrs: dict[tuple[object, ...], tuple[Site, Mapping[str, object]]] = field(default_factory=dict)
    surroundings: Surroundings = field(init=False)
    sharing: Sharing = field(init=False)

    def __post_init__(self) -> None:
        self.surroundings = Surroundings(self.records)
        self.sharing = Sharing(Prints(self.surroundings))

    def value(self, span: Span, kind: ArrayType | None, name: str = "") -> Value:
        """Make a value with its type."""
        made = self.builder.value(span, name)
        if kind is not None:
            self.types[made] = kind
        return made

    def emit(
        self,
        name: str,
        site: Site,
        arguments: Mapping[str, Argument],
        attrs: Mapping[str, object],
        outs: Sequence[Any],
        names: Sequence[str] = (),
    ) -> tuple[Value, ...]:
        """Append an op whose results have the types of some variables."""
        return self.add(name, site, arguments, {**attrs, **marks_of(site)}, outs, names)

    def add(
        self,
        name: str,
        site: Site,
        arguments: Mapping[str, Argument],
        attrs: Mapping[str, object],
        outs: Sequence[Any],
        names: Sequence[str] = (),
    ) -> tuple[Value, ...]:
        """Append an op whose attributes say already under what it was made."""
        span = site.span
        self.paths.add(span.path)
        made = [self.value(span, compat.type_of(out)) for out in outs]
        for value, known_as in zip(made, names, strict=False):
            value.name = known_as
        return self.builder.emit(name, span, arguments, attrs, results=tuple(made)).results

    def attrs_of(self, site: Site, known_as: KnownAs) -> Mapping[str, object]:
        """Return the attributes of an op by what it is known as and where it was made; equal ones are one object."""
        key = (id(site.around), site.origin.library, known_as)
        known = self._attrs.get(key)
        if known is None:
            known = self._attrs[key] = (site, {**known_as.attrs(), **marks_of(site)})
        return known[1]

    def hold(
        self,
        name: str,
        site: Site,
        operands: Sequence[Value],
        attrs: Mapping[str, object],
        results: Sequence[Value],
        regions: Sequence[Region],
    ) -> Op:
        """Append an op that holds regions."""
        self.paths.add(site.span.path)
        attrs = {**attrs, **marks_of(site)}
        return self.builder.emit(
            name, site.span, attrs=attrs, operands=tuple(operands), results=tuple(results), regions=tuple(regions)
        )

    def like(self, value: Value, span: Span) -> Value:
        """Make a value of the same type and name: what an op gives for what its region leaves behind."""
        return self.value(span, self.types.get(value), value.name)

    def materialise(self, argument: Argument, span: Span, extent: tuple[int, int] | None = None) -> Value:
        """Return a value for an argument, writing constants down as ops, with the ends of what an array holds."""
        if isinstance(argument, Value):
            return argument
        attrs: dict[str, object] = {"value": argument} if extent is None else {"value": argument, "extent": extent}
        return self.builder.emit("py.const", span, attrs=attrs).result

    def results(self, out: Sequence[Argument], outvars: Sequence[Any], span: Span) -> tuple[Value, ...]:
        """Return what a jaxpr gives as values, constants with their types too."""
        made = tuple(self.materialise(one, span) for one in out)
        for value, variable in zip(made, outvars, strict=True):
            if value not in self.types and (kind := compat.type_of(variable)) is not None:
                self.types[value] = kind
        return made

    def place(self, function: compat.Function, otherwise: Span) -> Span:
        """Return the place of a function's definition."""
        if not function.path or function.line <= 0:
            return otherwise
        return Span(shown(function.path), function.line, 0, function.line, 0)


def marks_of(site: Site) -> dict[str, object]:
    """Return the attributes that say under what an op was made."""
    around = site.around
    found: dict[str, object] = {}
    if around.scope:
        found["scope"] = around.scope
    if around.backward:
        found["backward"] = True
    if around.rule is not None and not around.turned:
        found["rule"] = around.rule.name
    if site.origin.library:
        found["library"] = site.origin.library
    return found
