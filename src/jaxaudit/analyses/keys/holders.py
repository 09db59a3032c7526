"""How the parameters and results of regions line up with the operands and results of the op that holds them."""

from __future__ import annotations

from jaxaudit.analyses.domain import Read
from jaxaudit.analyses.keys.terms import END, SHORTEST, Steps, Term, Terms
from jaxaudit.ir import Op, Region, Value
from jaxaudit.ir.interfaces import Loop, Mapped, given_to
from jaxaudit.ir.ops import BODIES, MAPPED


def stacked(op: Op, region: Region) -> list[tuple[Value, Value]]:
    """List what a scan or map collects: the value that each turn gives, and the array of all of them outside."""
    if op.name == "scan":
        return Loop(op).stacked
    return Mapped(op).stacked if op.name in MAPPED else []


def bindings(op: Op, region: Region) -> dict[Value, Value]:
    """Return the operand of each parameter that holds exactly that operand whenever the region runs.

    Not so in a shared region (it has many operands), for what is mapped, and for what a loop carries.
    """
    if (mapped := Mapped.of(op)) is not None:
        return dict(mapped.shared)
    return dict(given_to(op, region)) if op.name == "cond" or (op.name in BODIES and not region.shared) else {}


def outside_of(terms: Terms, op: Op, region: Region, read: Read[Term]) -> dict[Value, Term]:
    """Return what each parameter of a region stands for outside: in a loop, what it is in the first turn."""
    if op.name in BODIES:
        return {param: read(value) for param, value in given_to(op, region)} if region.shared else {}
    view = Loop.of(op) or Mapped.of(op)
    if view is None:
        return {}
    outside: dict[Value, Term] = {param: terms.each(read(whole)) for param, whole in view.elements}
    if isinstance(view, Loop):
        outside.update((one.param, read(one.start)) for one in view.carried_in(region))
        if view.counter is not None and region is view.body:
            outside[view.counter] = _counter(terms, op, read)
    return outside


def _counter(terms: Terms, op: Op, read: Read[Term]) -> Term:
    """Return which rows a counter goes through: up to the known number of turns, else to the end of what is indexed."""
    start, stop = terms.number(0), terms.number(END)
    if op.name == "fori":
        start, stop = (_bound(terms, op, name, i, read) for i, name in enumerate(("lower", "upper")))
    elif op.most_trips is not None:
        stop = terms.number(op.most_trips)
    elif _ends_elsewhere(op):
        stop = terms.number(SHORTEST)
    return terms.make(Steps, start, stop, terms.number(1))


def _ends_elsewhere(op: Op) -> bool:
    """Whether a loop goes through several things at once, or counts those of another thing than it indexes."""
    region = op.regions[0]
    counter = region.params[0]
    counted = [one for one in region.ops if one.argument("index") is counter]
    gone = [one.argument("iterable") for one in counted if one.name == "py.element"]
    indexed = {one.argument("base") for one in counted if one.name == "py.item"}
    return len(gone) > 1 or any(isinstance(one, Value) and indexed and one not in indexed for one in gone)


def _bound(terms: Terms, op: Op, name: str, position: int, read: Read[Term]) -> Term:
    given = op.arguments.get(name, op.operands[position] if position < len(op.operands) else None)
    if isinstance(given, Value):
        return read(given)
    return terms.number(given) if isinstance(given, int) else terms.number(END)
