"""What an op does to the gradient of each of its operands: passes it on, cuts it, or makes it zero."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import Enum

from jaxaudit.ir import Op, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.functions import (
    DISCRETE_DRAWS,
    ELEMENTS_IN_ORDER,
    FIXED,
    FLAT,
    PYTHON_SMOOTH,
    TREE_STRUCTURE,
    is_discrete,
)
from jaxaudit.ir.ops import NOTES, UNFOLLOWED


class Edge(Enum):
    """How a result depends on an operand."""

    LIVE = "live"
    """The derivative need not be zero."""
    CUT = "cut"
    """By `stop_gradient`."""
    ZERO = "zero"
    """The result moves in steps (an index, a comparison, a rounded number), so the derivative is zero."""
    CANCELLED = "cancelled"
    """The result has it as a term twice, once with a minus."""
    MAYBE = "maybe"
    """By a function nothing is known of."""


Edges = Iterator[tuple[Value, Edge]]

_GATHERED = ("a", "arr", "x", "array", "operand", "base", "input", "src")
"""The roles of what elements are taken out of; the others are indices and conditions."""
_INDEPENDENT = NOTES.union(
    """array.shape py.const py.global py.random py.clock py.format py.print py.read py.rebind py.test
    key.seed key.split key.fold_in key.clone key.wrap key.stream""".split()
)
"""Ops whose results do not depend on what is differentiated."""


def edges(op: Op) -> Edges:
    """Return each operand of an op without regions, and how the results depend on it."""
    if op.name in _INDEPENDENT:
        return iter(())
    return _TABLE.get(op.name, _live)(op)


def is_opaque(op: Op) -> bool:
    """Whether a result may depend on anything: code that was not followed may hold more than it is given."""
    return op.name in UNFOLLOWED or op.name == "callback"


def _all(kind: Edge) -> Callable[[Op], Edges]:
    return lambda op: ((value, kind) for value in op.operands)


_live = _all(Edge.LIVE)
_maybe = _all(Edge.MAYBE)
_zero = _all(Edge.ZERO)


def _by_role(live: Callable[[str], bool]) -> Callable[[Op], Edges]:
    """Pass on what stands in some roles; the rest are indices, conditions and random numbers."""

    def split(op: Op) -> Edges:
        for role, argument in op.arguments.items():
            kind = Edge.LIVE if live(role) else Edge.ZERO
            yield from ((value, kind) for value in values_in(argument))

    return split


def _select(op: Op) -> Edges:
    if not op.has("condition", "condlist"):
        return _live(op)
    if len(op.arguments) == 1:
        return _zero(op)
    return _by_role(lambda role: role not in ("condition", "condlist"))(op)


def _convert(op: Op) -> Edges:
    function = op.function
    stepped = is_discrete(op.arguments.get("dtype")) or (function != "astype" and is_discrete(function))
    return _zero(op) if stepped else _live(op)


def _create(op: Op) -> Edges:
    if op.function in FIXED:
        return iter(())
    return _zero(op) if is_discrete(op.arguments.get("dtype")) else _live(op)


def _expand(op: Op) -> Edges:
    if op.function == "one_hot":
        return _zero(op)
    return _by_role(lambda role: role not in ("repeats", "reps", "shape", "num_classes"))(op)


def _reduce(op: Op) -> Edges:
    if op.function in FLAT:
        return _zero(op)
    # An axis is known when JAX traces: where something differentiated is given for one, the function is another.
    kinds = {"where": Edge.ZERO, "axis": Edge.MAYBE}
    given = ((kinds.get(role, Edge.LIVE), argument) for role, argument in op.arguments.items())
    return ((value, kind) for kind, argument in given for value in values_in(argument))


def _draw(op: Op) -> Edges:
    kind = Edge.ZERO if op.function in DISCRETE_DRAWS else Edge.MAYBE
    own = op.qualified.startswith("jax.random.")
    for role, argument in op.arguments.items():
        if role not in ("key", "rng", "seed", "shape"):
            live = Edge.LIVE if own and kind is Edge.MAYBE else kind
            yield from ((value, live) for value in values_in(argument))


def _within(op: Op) -> Edges:
    """Pass the value on; the parameters that the run was given may be in it, though its code does not name them."""
    for role, argument in op.arguments.items():
        yield from ((value, Edge.LIVE if role == "value" else Edge.MAYBE) for value in values_in(argument))


def _gather(op: Op) -> Edges:
    """Pass on what elements are taken out of, and the coordinates that are interpolated between."""
    smooth = (*_GATHERED, "coordinates") if op.arguments.get("order") != 0 else _GATHERED
    return _by_role(lambda role: role in smooth)(op)


_TABLE: Mapping[str, Callable[[Op], Edges]] = {
    "grad.stop": _all(Edge.CUT),
    "py.unknown": _maybe,
    "py.call_unknown": _maybe,
    "py.call_library": lambda op: _live(op) if op.loss or op.qualified in PYTHON_SMOOTH else _maybe(op),
    "py.operator": lambda op: _live(op) if op.operator in ("and", "or") else _zero(op),
    "py.to_python": _maybe,
    "py.item": _by_role(lambda role: role != "index"),
    "py.element": _by_role(lambda role: role != "index"),
    "py.set_item": _by_role(lambda role: role != "index"),
    "key.draw": _draw,
    "key.within": _within,
    "array.create": _create,
    "array.convert": _convert,
    "array.map": lambda op: _zero(op) if op.function in FLAT else _live(op),
    "array.reduce": _reduce,
    "array.select": _select,
    "array.expand": _expand,
    "array.gather": _gather,
    "array.scatter": _by_role(lambda role: role != "index"),
    "array.at": _by_role(lambda role: role != "index"),
    "array.order": lambda op: _live(op) if op.function in ELEMENTS_IN_ORDER else _zero(op),
    "array.numpy": _maybe,
    "tree.other": lambda op: iter(()) if op.function in TREE_STRUCTURE else _live(op),
    "collective": lambda op: iter(()) if op.function in ("axis_index", "axis_size") else _live(op),
}
"""Ops that are missing pass everything on."""
