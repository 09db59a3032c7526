"""State that may not move on: old versions read after newer ones, gradients applied elsewhere, carries left alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from jaxaudit.analyses.succession import Way, goes_on
from jaxaudit.analyses.versions import Ground, Versions
from jaxaudit.ir import Value
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import CARRYING
from jaxaudit.reports.leads.base import Fact, Look, listed
from jaxaudit.rules.gradients._shared.optimizers import applied, behind, by_hand, origins, own_results, parts
from jaxaudit.spans import Span

_HOW = {Way.READ: "read", Way.STORED: "stored", Way.CARRIED: "carried on", Way.RETURNED: "returned"}


def old_version_read(look: Look) -> Iterator[Fact]:
    """List the lines where values are still read once their successors exist, and those are not."""
    flow, versions = look.facts.flow, look.facts.find(Versions)
    if versions is None:
        return
    found: dict[tuple[Span, int, Way], dict[str, None]] = defaultdict(dict)
    for value, version in versions.all():
        made, read = versions.maker(value), {op.span.line for op in flow.readers.get(value, ())}
        for old in version.in_order if version.ground >= Ground.STRUCTURE else ():
            for way, at in goes_on(flow, old, made):
                # Whoever reads both at once compares or mixes them.
                if old.name and way in _HOW and _is_apart(look, made.span, at) and at.line not in read:
                    found[at, made.span.line, way].setdefault(f"`{old.name}`")
    for (at, line, way), names in found.items():
        text = f"{listed(list(names))}: {_HOW[way]} here as before line {line}, which made the successor"
        yield Fact(at, text, 8 if way is not Way.READ else 5)


def _is_apart(look: Look, made: Span, at: Span) -> bool:
    """Whether two places are on different lines of one function."""
    return made.line != at.line and made.path == at.path and look.function_at(made) == look.function_at(at)


def gradient_elsewhere(look: Look) -> Iterator[Fact]:
    """List the gradients that are taken at one value and applied to what may be another one."""
    flow = look.facts.flow
    for call in (*applied(look.facts.program, flow), *by_hand(look.facts.program, flow)):
        changed = origins(flow, call.params, in_turn=True)
        for source, at in behind(flow, call.gradients):
            places, position = source.differentiated or (), at - own_results(source)
            if not 0 <= position < len(places) or not changed:
                continue
            taken = source.operands[places[position]]
            if origins(flow, taken, in_turn=True).isdisjoint(changed):
                at, to = _names([taken]), _names(parts(flow, call.params))
                if at and to:
                    text = f"a gradient taken at {at} (line {source.span.line}) is applied to {to} here"
                    yield Fact(call.op.span, text, 8)


def _names(values: Iterable[Value]) -> str:
    return listed(list(dict.fromkeys(f"`{one.name}`" for one in values if one.name)))


def carry_left_alone(look: Look) -> Iterator[Fact]:
    """List what a loop of JAX carries and no turn changes."""
    for op in look.facts.program.named(*sorted(CARRYING)):
        successors = Loop(op).successors
        same = [param for param, following in successors if param is following]
        if _names(same) and len(same) < len(successors):
            yield Fact(op.span, f"no turn of this loop changes {_names(same)}, which it carries", 3)
