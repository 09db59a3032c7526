"""How the parameters and results of regions line up with the operands and results of the op that holds them."""

from __future__ import annotations

from jaxaudit.analyses.domain import Read
from jaxaudit.analyses.keys.terms import END, SHORTEST, Each, Steps, Term, Terms
from jaxaudit.ir import Op, Region, Value
from jaxaudit.ir.ops import BODIES, LOOPS, MAPPED

_COUNTED = {"py.loop": 1, "py.while": 1, "fori": 1}
"""Loops whose regions have a counter as first parameter."""


def is_mapped(op: Op, position: int) -> bool | None:
    """Whether an operand of a mapped op is mapped; None when that is not known."""
    if op.name in ("map", "tree.map"):
        return True
    axes = op.attrs.get("in_axes")
    if not isinstance(axes, tuple) or position >= len(axes):
        return None
    return None if axes[position] == "?" else axes[position] is not None


def carried(op: Op, region: Region) -> list[tuple[Value, Value, int]]:
    """List a loop's carried values: region parameter, initial operand, position among the region's results."""
    params, operands = region.params, op.operands
    if op.name == "scan":
        count = op.attrs.get("carry")
        count = count if isinstance(count, int) else 0
        params, operands = params[:count], operands[:count]
    elif op.name == "fori":
        # The bounds stand first, unless they are constants.
        params = params[1:]
        operands = operands[len(operands) - len(params) :]
    elif op.name in _COUNTED:
        params = params[1:]
    elif op.name == "associative_scan":
        return []
    return [(param, start, i) for i, (param, start) in enumerate(zip(params, operands, strict=False))]


def stacked(op: Op, region: Region) -> list[tuple[Value, Value]]:
    """List what a scan or map collects: the value that each turn gives, and the array of all of them outside."""
    if (op.name not in MAPPED and op.name != "scan") or len(region.results) != len(op.results):
        return []
    first = len(carried(op, region)) if op.name == "scan" else 0
    axes = op.attrs.get("mapped_out", op.attrs.get("out_axes"))
    shared = {i for i, axis in enumerate(axes) if axis is None} if isinstance(axes, tuple) else set()
    pairs = enumerate(zip(region.results, op.results, strict=True))
    return [pair for position, pair in pairs if position >= first and position not in shared]


def is_condition(op: Op, region: Region) -> bool:
    """Whether a region only decides whether a loop goes on."""
    return op.name == "while" and len(op.regions) > 1 and region is op.regions[0]


def bindings(op: Op, region: Region) -> dict[Value, Value]:
    """Return the operand of each parameter that holds exactly that operand whenever the region runs.

    Not so in a shared region (it has many operands), for what is mapped, and for what a loop carries.
    """
    operands = op.operands[1:] if op.name == "cond" else op.operands
    pairs = zip(region.params, operands, strict=False)
    if op.name in MAPPED:
        return {param: value for i, (param, value) in enumerate(pairs) if is_mapped(op, i) is False}
    if op.name == "cond" or (op.name in BODIES and not region.shared):
        return dict(pairs)
    return {}


def outside_of(terms: Terms, op: Op, region: Region, read: Read[Term]) -> dict[Value, Term]:
    """Say what each parameter of a region stands for outside: in a loop, what it is in the first turn."""
    pairs = zip(region.params, op.operands, strict=False)
    if op.name in BODIES:
        return {param: read(value) for param, value in pairs} if region.shared else {}
    if op.name in MAPPED:
        return {
            param: terms.make(Each, read(value))
            for i, (param, value) in enumerate(pairs)
            if is_mapped(op, i) is not False
        }
    return _outside_loop(terms, op, region, read) if op.name in LOOPS else {}


def _outside_loop(terms: Terms, op: Op, region: Region, read: Read[Term]) -> dict[Value, Term]:
    outside = {param: read(start) for param, start, _ in carried(op, region)}
    rest = [param for param in region.params if param not in outside]
    if op.name == "scan":
        elements = op.operands[len(outside) :]
        outside.update((param, terms.make(Each, read(xs))) for param, xs in zip(rest, elements, strict=False))
    elif op.name == "associative_scan":
        outside.update((param, terms.make(Each, read(xs))) for param, xs in zip(rest, op.operands * 2, strict=False))
    elif rest and op.name in _COUNTED:
        outside[rest[0]] = _counter(terms, op, read)
    return outside


def _counter(terms: Terms, op: Op, read: Read[Term]) -> Term:
    """Say which rows a counter goes through: up to the known number of turns, else to the end of what is indexed."""
    start, stop = terms.number(0), terms.number(END)
    trips = op.attrs.get("trips")
    if op.name == "fori":
        start, stop = (_bound(terms, op, name, i, read) for i, name in enumerate(("lower", "upper")))
    elif isinstance(trips, int):
        stop = terms.number(trips)
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
