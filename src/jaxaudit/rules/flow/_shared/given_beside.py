"""What a function gives beside a state, such as an observation: of which state another function computes it.

`reset` gives a state and what `observe` makes of it. A `step` that gives the next state beside what `observe` makes of
the one before hands out something that is one step old.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import depends, made_of, through_ops, walk
from jaxaudit.analyses.versions import Ground, Versions
from jaxaudit.ir import Op, Program, Region, Value
from jaxaudit.ir.interfaces import given_to
from jaxaudit.ir.ops import BODIES, PASSED_ON
from jaxaudit.ir.record import record
from jaxaudit.rules.base import Obligation, Step, named, proved, unknown
from jaxaudit.rules.flow._shared.phrases import called
from jaxaudit.spans import Span

_PASSED_ON = through_ops(*PASSED_ON)


@record
class _Given:
    """A call whose result a function returns beside others."""

    call: Op
    end: Op
    """The `return`."""

    @property
    def callee(self) -> Span:
        """Which function is called: the place of its last op, wherever it is read."""
        return self.call.regions[0].ops[-1].span


def given_beside(program: Program, facts: Facts) -> Iterator[Obligation]:
    """List what is computed of a state and given beside a newer one."""
    flow = facts.flow
    found = [one for end in program.named("py.return") for one in _given(end, flow)]
    versions = facts.get(Versions)
    trained = {
        op.regions[0].ops[-1].span for op in program.named("grad", "jvp", "vjp") if op.regions and op.regions[0].ops
    }
    beside = [one for one in found if _is_beside(one, flow)]
    comparable = {one.callee for one in beside}
    renewed = {
        one: pairs
        for one in found
        if one.callee not in trained
        and (pairs := [*_renewed(one, flow), *_succeeded(one, versions, flow)])
        and (one.callee in comparable or _gets_newer(one, pairs, flow))
        and _describes(one, pairs, versions, flow)
    }
    # A line that is read in several ways does not show by one of them what is wrong with another.
    lines = {one.call.span for one in renewed}
    shown = {(one.callee, at): one for one in beside if one.call.span not in lines for at in _seen_at(one, flow)}
    for one, pairs in renewed.items():
        again = [other for other in renewed if other.end is one.end and other.callee == one.callee]
        like = [
            shown[one.callee, at] for old, _ in pairs for at in _places(one, old, flow) if (one.callee, at) in shown
        ]
        if _gets_newer(one, pairs, flow):
            yield proved(one.call.span, "it is computed of the state that is given beside it")
        elif like and len(again) == 1:
            yield _finding(one, *pairs[0], like[0])
        elif like:
            yield unknown(one.call.span, "it is computed of two states: which of them is meant is not known")


def _given(end: Op, flow: Flow) -> Iterator[_Given]:
    """Return the calls of one function whose results it gives, in a record or bare."""
    home = flow.places.region_of[end]
    for value in walk(end.operands, lambda one: _packed(one, flow)):
        made = flow.giver(value, end)
        here = made is not None and made.name in BODIES and bool(made.regions) and bool(made.regions[0].ops)
        if made is not None and here and flow.places.region_of[made] is home and len(end.operands) > 1:
            yield _Given(made, end)


def _packed(value: Value, flow: Flow) -> Iterator[Value]:
    made = flow.maker(value)
    if made is not None and made.name in ("py.container", "py.call_library"):
        yield from made.operands


def _renewed(one: _Given, flow: Flow) -> list[tuple[Value, Value]]:
    """Return the fields of a parameter that the call reads or could read, each with the newer one that is given.

    A newer field has its name and is computed from it.
    """
    home = flow.places.region_of[one.end]
    inner, given, pairs = _inputs(one.call, flow), _returned(one.end, flow), list[tuple[Value, Value]]()
    for op in home.ops:
        base = op.value("base") if op.name == "py.attr" else None
        if base is None or base not in home.params or not op.results:
            continue
        old = op.results[0]
        new = [value for value in given if value.name == op.label and value is not old]
        reads = _bare(old, flow) in inner or (_bare(base, flow) in inner and _reads(one.call, base, op.label))
        newer = [value for value in new if value in inner or reads]
        if old not in given and newer and depends(flow, newer[0], (old,)):
            pairs.append((old, newer[0]))
    return pairs


def _succeeded(one: _Given, versions: Versions, flow: Flow) -> Iterator[tuple[Value, Value]]:
    """Return the parameters that the call is given, each with the successor that is given beside its result."""
    home, inner = flow.places.region_of[one.end], _inputs(one.call, flow)
    given = _returned(one.end, flow)
    for new in given:
        version = versions.of(new)
        for old in version.in_order if version is not None and version.ground > Ground.VARIABLE else ():
            bare = _bare(old, flow)
            if old in home.params and bare not in given and (bare in inner or new in inner):
                yield old, new


def _gets_newer(one: _Given, pairs: list[tuple[Value, Value]], flow: Flow) -> bool:
    """Whether a call is given one of the newer states."""
    return any(new in _inputs(one.call, flow) for _, new in pairs)


def _describes(one: _Given, pairs: list[tuple[Value, Value]], versions: Versions, flow: Flow) -> bool:
    """Whether a call says something of a state: what makes the newer one, leads to it or is given the step is not that.

    `converged(y, updates)` beside `y + updates` gets the state before the step and the step itself. A call that renews
    another part of the state, as `logits, cache = decode(mask, cache)` does, takes the step.
    """
    body = one.call.regions[0]
    made_inside = (flow.places.within(flow.places.region_of_value(new), body) for _, new in pairs)
    if any(made_inside) or _renews(one, versions, flow):
        return False
    return not any(depends(flow, new, one.call.results) or _gets_step(one, old, new, flow) for old, new in pairs)


def _renews(one: _Given, versions: Versions, flow: Flow) -> bool:
    """Whether a call is given something, a part of a parameter maybe, and gives what is returned in its place."""
    home, inputs = flow.places.region_of[one.end], _inputs(one.call, flow)
    parts = (op for op in home.ops if op.name == "py.attr" and op.value("base") in home.params and op.results)
    read = {op.label for op in parts if _bare(op.results[0], flow) in inputs} | {value.name for value in inputs} - {""}
    made = [value for value in _returned(one.end, flow) if flow.giver(value, one.end) is one.call]
    succeeds = (version for value in made if (version := versions.of(value)) is not None)
    return any(value.name in read for value in made) or any(
        version.ground > Ground.VARIABLE and not inputs.isdisjoint(version.in_order) for version in succeeds
    )


def _seen_at(one: _Given, flow: Flow) -> set[int]:
    """Return the places of the arguments that a function gives beside what the call computes of them."""
    made = {value for value in _returned(one.end, flow) if flow.maker(value) is not None}
    return {at for value in made.difference(one.call.results) for at in _places(one, value, flow)}


def _places(one: _Given, value: Value, flow: Flow) -> set[int]:
    """Return the places at which a call is given a value, or the record that it is a field of; -1 where it reads it."""
    maker = flow.maker(value)
    base = maker.value("base") if maker is not None and maker.name == "py.attr" else None
    wanted = {value} if base is None else {value, _bare(base, flow)}
    found = {at for at, given in enumerate(one.call.operands) if _bare(given, flow) in wanted}
    return found or ({-1} if not wanted.isdisjoint(_inputs(one.call, flow)) else set())


def _gets_step(one: _Given, old: Value, new: Value, flow: Flow) -> bool:
    """Whether a call is given what the newer state is made of besides the old one, where that was computed of it."""
    maker, inputs = flow.maker(new), _inputs(one.call, flow)
    steps = (value for value in maker.operands if value is not old and value in inputs) if maker is not None else ()
    return any(depends(flow, value, (old,)) for value in steps)


def _reads(call: Op, record: Value, label: str) -> bool:
    """Whether a call reads a field of a record that it is given."""
    region = call.regions[0]
    params = [param for param, given in given_to(call, region) if given is record]
    return any(op.name == "py.attr" and op.label == label and op.value("base") in params for op in region.walk())


def _inputs(call: Op, flow: Flow) -> frozenset[Value]:
    """Return what a call is given, and what its body reads from around it."""
    known = flow.table(_inputs)
    if call not in known:
        region: Region = call.regions[0]
        read = {value for op in region.walk() for value in op.operands}
        free = (value for value in read if not flow.places.within(flow.places.region_of_value(value), region))
        known[call] = frozenset(_bare(value, flow) for value in (*call.operands, *free))
    return known[call]


def _returned(end: Op, flow: Flow) -> list[Value]:
    return [_bare(value, flow) for value in end.operands]


def _bare(value: Value, flow: Flow) -> Value:
    """Return what a value was before its gradient was stopped, or it was converted."""
    known = flow.table(_bare)
    if value not in known:
        known[value] = made_of(flow, value, _PASSED_ON)
    return known[value]


def _is_beside(one: _Given, flow: Flow) -> bool:
    """Whether a function gives what a call computes, and what it computes it of."""
    given = _returned(one.end, flow)
    made = (value for value in given if flow.maker(value) is not None and value not in one.call.results)
    return not _inputs(one.call, flow).isdisjoint(made)


def _finding(one: _Given, old: Value, new: Value, shown: _Given) -> Obligation:
    name = f"`{called(one.call)}`"
    return Obligation(
        one.call.span,
        message=f"{name} gets the state before the step, and the newer {named(new, 'one')} is given beside its result",
        current=f"{named(old, 'the state')} is read as it was, so what is given is one step old",
        expected=f"{name} gets the state that is given beside its result, as on line {shown.call.span.line}",
        steps=(
            Step(new.span, f"the newer {named(new, 'state')} is made here"),
            Step(shown.call.span, "here both are of one state"),
        ),
        suggestion="compute it from the new state",
    )
