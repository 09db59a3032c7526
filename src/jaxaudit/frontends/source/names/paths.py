"""Which names have a value on the paths that lead to a place, and what decides where only some of them do."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import field
from functools import lru_cache

from jaxaudit.frontends.source.interpret.syntax import names_in, walk
from jaxaudit.ir.reads import Sure
from jaxaudit.ir.record import entity, mutable, record, replace


@entity
class Gap:
    """Some path that leads here gives a name no value."""

    sure: Sure
    why: str
    cause: ast.AST
    tests: tuple[ast.expr, ...] = ()
    """The conditions that decide it."""
    unless: str = ""
    """A condition under which there is a value."""
    turns: frozenset[str] | None = None
    """Where it is missing in the first turn of a loop: the variables that tell one turn from another."""
    new: frozenset[str] = frozenset()
    """And those that each turn gives a value of its own, the first one too."""


@mutable
class State:
    """What the paths to a place have bound. A name that is missing has no value on any of them."""

    names: dict[str, Gap | None] = field(default_factory=dict)
    closures: set[int] = field(default_factory=set)
    """The functions defined so far: they see what is bound later."""
    made: dict[str, frozenset[int]] = field(default_factory=dict)
    """The bindings that may have given each name its value."""
    fresh: dict[str, frozenset[int]] = field(default_factory=dict)
    """Those of them that nothing has read on some path."""

    def has(self, name: str) -> bool:
        """Whether a name has a value on every path."""
        return name in self.names and self.names[name] is None

    def copy(self) -> State:
        """Return a state that goes its own way."""
        return State(dict(self.names), set(self.closures), dict(self.made), dict(self.fresh))

    def inside(self) -> State:
        """Return the state for a part of an expression: what is bound there is bound on all further paths."""
        return State(dict(self.names), self.closures, self.made, self.fresh)

    def loosened(self, names: Collection[str], why: str, cause: ast.AST) -> State:
        """Return the state after code that may have bound some names, or not."""
        gap = Gap(Sure.OPEN, why, cause)
        more = {name: gap for name in names if name not in self.names or self.names[name] is not None}
        return State({**self.names, **more}, set(self.closures), dict(self.made), dict(self.fresh))


def taken(state: State, test: ast.expr, *, holds: bool, params: Collection[str]) -> State:
    """Return the state on one side of a condition: gaps that it closes, or that depend on it, are others there."""
    found = state.inside()
    if all(gap is None for gap in state.names.values()):
        return found
    given = implied(test, holds=holds)
    for name, gap in state.names.items():
        if gap is not None:
            found.names[name] = None if gap.unless in given else _guarded(gap, test, params)
    return found


def _guarded(gap: Gap, test: ast.expr, params: Collection[str]) -> Gap:
    """Return a gap as it is under a further condition, which may be true just where there is a value."""
    if gap.turns is not None:
        free, apart = _is_free(test, params), gap.turns.isdisjoint(names_in(test))
        return replace(gap, sure=min(gap.sure, Sure.CERTAIN if free and apart else Sure.LIKELY if apart else Sure.OPEN))
    apart = _is_free(test, params) and all(_are_apart(test, other) for other in gap.tests)
    return replace(gap, sure=min(gap.sure, Sure.LIKELY if apart else Sure.OPEN))


def _is_free(test: ast.expr, params: Collection[str]) -> bool:
    """Whether the caller alone decides a condition, by what it gives."""
    inside = walk(test)
    names = {one.id for one in inside if isinstance(one, ast.Name)}
    return names <= {*params} and not any(isinstance(one, ast.Attribute | ast.Call) for one in inside)


def _are_apart(one: ast.expr, other: ast.expr) -> bool:
    return {*names_in(one)}.isdisjoint(names_in(other))


@lru_cache(maxsize=4096)
def implied(test: ast.expr, *, holds: bool) -> tuple[str, ...]:
    """Return the conditions that hold where one does, or does not, as text; the whole of it comes last."""
    return tuple(_implied(test, holds=holds))


def _implied(test: ast.expr, *, holds: bool) -> Iterator[str]:
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            yield from _implied(inner, holds=not holds)
        case ast.BoolOp(op=ast.And(), values=values) if holds:
            for one in values:
                yield from _implied(one, holds=True)
        case ast.BoolOp(op=ast.Or(), values=values) if not holds:
            for one in values:
                yield from _implied(one, holds=False)
        case ast.Compare(left=left, ops=[ast.IsNot() | ast.NotEq() | ast.NotIn() as op], comparators=[right]):
            plain = {ast.IsNot: ast.Is, ast.NotEq: ast.Eq, ast.NotIn: ast.In}[type(op)]
            yield from _implied(ast.Compare(left, [plain()], [right]), holds=not holds)
            return
    yield f"{'' if holds else 'not '}{_text(test)}"


@lru_cache(maxsize=4096)
def _text(node: ast.expr) -> str:
    """Return an expression as it is written, which takes Python long to tell."""
    return ast.unparse(node)


@record
class Side:
    """One side of a branch, as it ends."""

    state: State | None
    """None where it never falls through."""
    body: list[ast.stmt]
    bound: frozenset[str]
    """What it binds."""
    holds: bool


def joined(
    before: State, node: ast.If, sides: tuple[Side, Side], params: Collection[str], *, chained: bool
) -> State | None:
    """Return the state after both sides of an `if`."""
    yes, no = sides
    if yes.state is None or no.state is None:
        return yes.state or no.state
    found = _either([yes.state, no.state])
    for name in {**yes.state.names, **no.state.names}:
        if name in before.names and name not in yes.bound and name not in no.bound:
            found.names[name] = before.names[name]
            continue
        gaps = [_missing(name, node, side, params, chained=chained) for side in sides]
        open_ends = [one for one in gaps if one is not None]
        found.names[name] = max(open_ends, key=lambda gap: gap.sure, default=None)
    return found


def _missing(name: str, node: ast.If, side: Side, params: Collection[str], *, chained: bool) -> Gap | None:
    """Return the gap that one side leaves for a name; None where the name has a value at its end."""
    state = side.state
    if state is None or (name in state.names and state.names[name] is None):
        return None
    gap = state.names.get(name)
    overlaps = gap is not None and not all(_are_apart(node.test, other) for other in gap.tests)
    chosen = Sure.OPEN if overlaps else _chosen(node, side, params, chained=chained)
    other = implied(node.test, holds=not side.holds)[-1]
    if gap is None or gap.turns is not None:
        why = f"it has no value where `{_short(node.test)}` is {'true' if side.holds else 'false'}"
        if gap is not None:
            # What a turn has just been given may say by itself that it is the first one.
            chosen = Sure.OPEN if not gap.new.isdisjoint(names_in(node.test)) else min(chosen, gap.sure)
        return Gap(chosen, why, node, (node.test,), other)
    return replace(gap, sure=min(chosen, gap.sure), tests=(node.test, *gap.tests), unless="")


def _chosen(node: ast.If, side: Side, params: Collection[str], *, chained: bool) -> Sure:
    """Return how sure it is that a side of a branch is taken, and left again at its end."""
    if isinstance(node.test, ast.Constant) or "TYPE_CHECKING" in _text(node.test):
        return Sure.OPEN
    if not side.body:
        return Sure.OPEN if chained else Sure.CERTAIN if _is_free(node.test, params) else Sure.LIKELY
    last = side.body[-1]
    # A call that stands for itself may well end the program.
    ends = isinstance(last, ast.Assert) or (isinstance(last, ast.Expr) and isinstance(last.value, ast.Call))
    return Sure.OPEN if ends else Sure.CERTAIN


def _short(node: ast.expr) -> str:
    text = _text(node)
    return text if len(text) <= 40 else f"{text[:37]}..."


def merged(states: list[State | None], why: str, cause: ast.AST) -> State | None:
    """Return the state where several paths come together that no condition tells apart."""
    alive = [one for one in states if one is not None]
    if not alive:
        return None
    found = _either(alive)
    lacking = Gap(Sure.OPEN, why, cause)
    for name in {name: None for one in alive for name in one.names}:
        first, *others = (one.names.get(name, lacking) for one in alive)
        found.names[name] = first if all(one is first for one in others) else lacking
    return found


def _either(states: list[State]) -> State:
    """Return the functions and bindings that there may be after any of several paths."""
    first, *others = states
    found = State({}, set(first.closures), dict(first.made), dict(first.fresh))
    for state in others:
        found.closures |= state.closures
        for mine, theirs in ((found.made, state.made), (found.fresh, state.fresh)):
            for name, bindings in theirs.items():
                known = mine.get(name, bindings)
                mine[name] = known if known is bindings else known | bindings
    return found
