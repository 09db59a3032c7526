"""What stands around one equation: the user's place, the transformations it was made under, JAX's function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from jaxaudit.frontends.jaxpr import compat
from jaxaudit.frontends.jaxpr.derivatives import RULE_SCOPE, Ran, ran
from jaxaudit.frontends.jaxpr.frames import Origin, Origins
from jaxaudit.frontends.jaxpr.records import Record, Records
from jaxaudit.spans import Span

_RECOMPUTED = "rematted_computation"

SEGMENTS = {
    "vmap": "vmap",
    "grad": "grad",
    "value_and_grad": "grad",
    "jacfwd": "jvp",
    "jvp": "jvp",
    "jacrev": "vjp",
    "vjp": "vjp",
    "linearize": "jvp",
    "hessian": "vjp",
    "checkpoint": "checkpoint",
    "custom_jvp": "custom_jvp",
    "custom_vjp": "custom_vjp",
}
"""The op of each kind of record whose equations stand among others, in no equation of their own."""


BRANCHES = ("cond", "switch")
"""Kinds of records whose equations are branches, in an equation or beside each other."""


class Key(NamedTuple):
    """One passage through a transformation: a call, and whether its forward or backward half."""

    uid: int
    under: tuple[str, ...]
    """The transformations around it; `transpose` among them says that it is run backwards."""


class Around(NamedTuple):
    """The scopes and transformations around an equation, within one jaxpr."""

    keys: tuple[Key, ...] = ()
    control: Record | None = None
    """The innermost call that leaves an equation of its own, such as `scan`."""
    scope: str = ""
    """The user's own named scopes and module names."""
    backward: bool = False
    recomputed: bool = False
    rule: Ran | None = None
    """The derivative rule of the user's that made it."""

    @property
    def turned(self) -> bool:
        """Whether the equations stand in the opposite order of the lines they are made of."""
        return self.backward and not self.in_backward_rule

    @property
    def in_backward_rule(self) -> bool:
        """Whether the user's own backward rule made the equation."""
        return self.rule is not None and self.rule.role == "bwd"


class Site(NamedTuple):
    """Where one equation comes from."""

    span: Span
    own: bool
    """False when the equation has no frame in the user's code, so that the span is that of the call around it."""
    origin: Origin
    around: Around


class Outer(Protocol):
    """What the equations of a jaxpr are told by the equation that holds it."""

    @property
    def span(self) -> Span:
        """The place of that equation."""
        ...

    @property
    def inlined(self) -> bool:
        """Whether that is the only place the user knows."""
        ...

    @property
    def backward(self) -> bool:
        """Whether it belongs to a backward pass."""
        ...

    @property
    def library(self) -> str:
        """The function of a library that made it."""
        ...

    @property
    def rule(self) -> Ran | None:
        """The derivative rule that made it."""
        ...


class Surroundings:
    """Reads sites; equal name stacks are read once."""

    def __init__(self, records: Records) -> None:
        self.records = records
        self.rules: set[object] = set()
        """The codes of the derivative rules that were met."""
        self._known: dict[Any, Around] = {}
        self._turned: dict[tuple[int, bool, int], Around] = {}
        self._lent: dict[tuple[int, str], Origin] = {}
        self._origins = Origins()

    def sites(self, equations: Sequence[Any], outer: Outer) -> list[Site]:
        """Return the site of each equation; inside a library's function the call around it is what the user knows.

        Equations that come from the same place in the same way have the same object.
        """
        known: dict[int, Site] = {}
        found: dict[tuple[int, int], Site] = {}
        sites: list[Site] = []
        for equation in equations:
            source = id(equation.source_info)
            site = known.get(source)
            if site is None:
                origin, around = self.read(equation)
                same = (id(origin), id(around))
                site = found.get(same)
                if site is None:
                    site = found[same] = self._site(origin, around, outer)
                known[source] = site
            sites.append(site)
        return sites

    def _site(self, origin: Origin, around: Around, outer: Outer) -> Site:
        own = bool(origin.users) and not outer.inlined
        if (outer.backward and not around.backward) or (outer.rule is not None and around.rule is None):
            key = (id(around), outer.backward, id(outer.rule))
            turned = around._replace(backward=outer.backward or around.backward, rule=around.rule or outer.rule)
            around = self._turned.setdefault(key, turned)
        if outer.library and not (own or origin.library):
            origin = self._lent.setdefault((id(origin), outer.library), replace(origin, library=outer.library))
        return Site(origin.users[0].span if own else outer.span, own, origin, around)

    def read(self, equation: Any) -> tuple[Origin, Around]:
        """Read the frames and the name stack of an equation; equal ones give the same objects."""
        stack = equation.source_info.name_stack
        known = self._known.get(stack)
        if known is None:
            known = self._known[stack] = self._read(tuple(compat.name_stack(equation)))
        origin = self._origins.of(equation)
        if known.rule is not None and known.rule.called is not None:
            origin = self._origins.in_rule(origin, known.rule.called)
        return origin, known

    def _read(self, stack: Sequence[tuple[bool, str]]) -> Around:
        keys: dict[int, Key] = {}
        control: Record | None = None
        under: list[str] = []
        scope: list[str] = []
        rule: Ran | None = None
        for is_scope, name in stack:
            if is_scope and name.startswith(RULE_SCOPE):
                rule = ran(name)
                continue
            record = self.records.in_scope(name) if is_scope else None
            if record is None:
                (scope if is_scope else under).append(name)
            elif record.kind in SEGMENTS or record.kind in BRANCHES:
                keys.setdefault(record.uid, Key(record.uid, tuple(under)))
                control = None
            else:
                control = record
        shown = "/".join(name for name in scope if name not in (_RECOMPUTED, "checkpoint"))
        return Around(tuple(keys.values()), control, shown, "transpose" in under, _RECOMPUTED in scope, self._met(rule))

    def _met(self, rule: Ran | None) -> Ran | None:
        if rule is not None:
            self.rules.add(rule.code)
        return rule
