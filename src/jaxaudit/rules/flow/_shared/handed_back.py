"""Functions that make a newer version of a value: which of the two they give back beside what they made of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import depends, walk
from jaxaudit.analyses.uses import Use, Uses
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import inside_of
from jaxaudit.ir.ops import LOOPS, UNFOLLOWED
from jaxaudit.rules.base import Obligation, Severity, Step, named, unknown
from jaxaudit.rules.intent.names import is_unwanted, older_names

_CALLS = UNFOLLOWED | {"py.call", "py.call_library"}
_KEPT = Use.STORED | Use.SHOWN
_Made = Mapping[int, Sequence[Value]]
"""Values by the identity of the region of the function that makes them."""


def handed_back(program: Program, facts: Facts) -> Iterator[Obligation]:
    """List every value that is given back though a function makes another one in its place.

    That a value is the next one of another, a second call of the same callee tells whose result is given back in the
    place of what it was given; or its name, where all else that is given back was made of it.
    """
    flow, newer, all_left = facts.flow, _called_after_others(program, facts.flow), defaultdict[int, set[Value]](set)
    returns = [(op, flow.places.function_of(op)) for op in program.named("py.return")]
    for given, function in returns:
        all_left[id(function)].update(walk(given.operands, lambda one: _chosen_from(flow, one)))
    for given, function in returns:
        holder, left = flow.holder(given), all_left[id(function)]
        if len(given.operands) > 1 and (holder is None or holder.name not in LOOPS):
            yield from _by_name(newer.get(id(function), ()), given, left, facts)
            for old in (one for one in function.params if one in given.operands):
                yield from _by_likeness(old, function.params, given, left, facts)


def _called_after_others(program: Program, flow: Flow) -> _Made:
    found: dict[int, list[Value]] = defaultdict(list)
    for op in program.walk():
        for value in op.results:
            if value.name and not is_unwanted(value.name) and older_names(value.name):
                found[id(flow.places.function_of(op))].append(value)
    return found


def _chosen_from(flow: Flow, value: Value) -> list[Value]:
    """Return what a branch chooses a value from."""
    op = flow.own_maker(value)
    return (
        [one for _, one in inside_of(op, op.results.index(value))] if op is not None and op.name == "py.branch" else []
    )


def _by_name(made: Sequence[Value], given: Op, left: set[Value], facts: Facts) -> Iterator[Obligation]:
    flow = facts.flow
    for newer in made:
        maker = flow.maker(newer)
        if maker is None or not flow.places.comes_before(maker, given):
            continue
        older = [one for one in given.operands if one.name in older_names(newer.name) and depends(flow, newer, (one,))]
        others = [one for one in given.operands if one not in older] if older else []
        if others and all(depends(flow, one, (newer,)) for one in others) and not _is_kept(newer, left, facts):
            yield _finding(older[0], newer, maker, given)
        elif older:
            yield unknown(maker.span, f"whether {named(older[0])} or `{newer.name}` is to be given back is not known")


def _by_likeness(
    old: Value, params: Sequence[Value], given: Op, left: set[Value], facts: Facts
) -> Iterator[Obligation]:
    """Judge a parameter that is given back, where another one is renewed by the same callee as it is."""
    flow = facts.flow
    for call in _calls(old, flow):
        newer, place = call.results[0], call.operands.index(old)
        like = [
            other
            for param in params
            for other in (_calls(param, flow) if param is not old and param not in left else ())
            if other.results[0] in left and _callee(other) == _callee(call) and other.operands.index(param) == place
        ]
        told = any(one is not old and depends(flow, one, (newer,)) for one in given.operands)
        if like and told and not _is_kept(newer, left, facts):
            yield _finding(old, newer, call, given, like[0])


def _calls(value: Value, flow: Flow) -> list[Op]:
    return [op for op in flow.readers.get(value, ()) if op.name in _CALLS and len(op.results) == 1]


def _callee(op: Op) -> tuple[str, str]:
    return op.qualified, op.callee


def _is_kept(newer: Value, left: set[Value], facts: Facts) -> bool:
    """Whether a value is given back, put where others find it, or shown; where no use is known, it may be."""
    uses = facts.get(Uses).of(newer)
    return newer in left or not uses or bool(uses & _KEPT)


def _finding(old: Value, newer: Value, made: Op, given: Op, like: Op | None = None) -> Obligation:
    name, after = named(old, "the old value"), named(newer, "what was made of it")
    alike = () if like is None else (Step(like.span, "the same makes a newer value here, which is given back"),)
    return Obligation(
        made.span,
        severity=Severity.WARNING,
        message=f"{name} is given back, on line {given.span.line}, beside what was made of {after}",
        current=f"whoever calls this goes on with the old {name}, and with results of the newer one",
        expected=f"{after} is given back",
        steps=(Step(given.span, f"{name} is given back here"), *alike),
        suggestion=f"give {after} back in the place of {name}",
    )
