"""Whether a value has the type of another by the way it was made, whatever that type is.

`x.at[i].set(v)` has the shape and dtype of `x`, a row of `split(key)` that of `key`, and what a loop of JAX carries
keeps its type, since JAX demands it. A copy of a record has its type if every field that it replaces has. So a carry
can be sound though nothing is known of its type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import walk
from jaxaudit.ir import Argument, Op, Symbol, Value
from jaxaudit.ir.functions import CUMULATIVE, OVER_DEVICES, REORDERED
from jaxaudit.ir.interfaces import Branch, Loop, given_as
from jaxaudit.ir.ops import CALLS
from jaxaudit.libraries.lookup import like, playing

_BRANCHES = 4
_LIKE_FIRST = ("grad.stop", "key.fold_in", "key.clone", "device.place")
_COPIES = (*playing("train_state.step", "train_state.replace"), ".replace", "._replace", ".apply_gradients")

Way = tuple[str, ...]
Node = tuple[Value, Way]
"""A value, and the way in it to the part that is meant."""


def keeps_type(flow: Flow, end: Value, start: Value) -> bool:
    """Whether a value surely has the type of another one that it was made from."""
    return (start, ()) in _kin(flow, (end, ()), _BRANCHES)


def one_type(flow: Flow, first: Value, second: Value) -> bool:
    """Whether two values surely have one type, since both have that of a third."""
    return not _kin(flow, (first, ()), _BRANCHES).isdisjoint(_kin(flow, (second, ()), _BRANCHES))


def _kin(flow: Flow, node: Node, depth: int) -> frozenset[Node]:
    """Return everything that a value has the type of, itself included."""
    known: dict[tuple[Node, int], frozenset[Node]] = flow.table(_kin)
    if (node, depth) not in known:
        calls: dict[int, Op] = {}
        known[node, depth] = frozenset(walk((node,), lambda one: _alike(flow, one, calls, depth)))
    return known[node, depth]


def _alike(flow: Flow, node: Node, calls: dict[int, Op], depth: int) -> Iterator[Node]:
    """Return the values that one has the type of, one step back."""
    value, way = node
    op = flow.own_maker(value)
    if op is None:
        outside = _outside(flow, value, calls)
        if outside is not None:
            yield outside, way
        return
    if op.name == "vmap":
        yield from _mapped(flow, op, value, way, depth)
    elif op.name in CALLS and op.regions:
        yield from ((inside, way) for inside in _inside(flow, op, value, calls))
    elif op.name in ("py.branch", "cond"):
        yield from _chosen(flow, op, value, way, depth)
    elif op.qualified in _COPIES:
        yield from _copied(flow, op, way, depth)
    elif op.name == "py.attr":
        yield from ((base, (f".{op.label}", *way)) for base in _values(op.arguments.get("base")))
    elif op.name in ("py.unpack", "py.item"):
        yield from _part(flow, op, value, way)
    else:
        yield from ((one, way) for one in _operands(op, value))


def _operands(op: Op, value: Value) -> list[Value]:
    """Return the operands that a result has the type of."""
    function = op.qualified
    found: Sequence[Argument] = ()
    if op.name == "array.scatter":
        found = [op.arguments.get("base", op.arguments.get("operand"))]
    elif op.name == "array.select" and function in ("jax.lax.select", "jax.lax.select_n"):
        found = [one for name, one in op.arguments.items() if name not in ("pred", "which", "condition")]
    elif op.name in _LIKE_FIRST or op.function in REORDERED | CUMULATIVE | OVER_DEVICES:
        found = op.operands[:1]
    elif op.name in ("tree.leaf", "key.within"):
        found = [op.arguments.get("like", op.arguments.get("value"))]
    elif (made := like(function)) is not None and made.dtypes and not op.has("dtype", "shape"):
        found = [op.arguments.get(made.param)]
    elif op.name in ("scan", "fori", "while"):
        at = op.results.index(value)
        found = [one.start for one in Loop(op).carried if one.position == at]
    return [one for one in found if isinstance(one, Value)]


def _part(flow: Flow, op: Op, value: Value, way: Way) -> Iterator[Node]:
    """Return what an item is like: a row of split keys, what an optimizer gives, and else the item of what it is of."""
    base = op.arguments.get("base")
    index = op.results.index(value) if op.name == "py.unpack" else op.arguments.get("index")
    made = flow.maker(base) if isinstance(base, Value) else None
    if not isinstance(base, Value) or op.star is not None or isinstance(index, Symbol):
        return
    if made is not None and made.name == "key.split" and isinstance(index, int):
        yield from ((key, way) for key in made.operands[:1])
    elif made is not None and isinstance(index, int) and (kept := like(made.qualified, index)) is not None:
        yield from ((one, way) for one in _values(made.arguments.get(kept.param)) if kept.dtypes)
    elif isinstance(index, int | str):
        yield base, (f"[{index!r}]", *way)


def _copied(flow: Flow, op: Op, way: Way, depth: int) -> Iterator[Node]:
    """Follow a copy of a record: a field that it replaces is the new one, all others are those of the record."""
    given: Mapping[str, object] = op.arguments if op.named is None else op.named
    changed = {name: one for name, one in given.items() if name not in ("self", "grads")}
    before = _values(op.arguments.get("self")) or list(op.operands[:1])
    field = way[0].removeprefix(".") if way else ""
    if not before:
        return
    if field in changed:
        yield from ((one, way[1:]) for one in _values(changed[field]))
    elif field or (depth > 0 and all(_fits(flow, one, before[0], name, depth) for name, one in changed.items())):
        yield before[0], way


def _fits(flow: Flow, new: object, record: Value, name: str, depth: int) -> bool:
    """Whether what replaces a field has the type of the field."""
    return isinstance(new, Value) and (record, (f".{name}",)) in _kin(flow, (new, ()), depth - 1)


def _chosen(flow: Flow, op: Op, value: Value, way: Way, depth: int) -> Iterator[Node]:
    """Return what the results of all branches are like."""
    at = op.results.index(value)
    ways = Branch(op).arms
    if not ways or depth == 0 or any(at >= len(region.results) for region in ways):
        return
    found = [_kin(flow, (region.results[at], way), depth - 1) for region in ways]
    # JAX wants one type of all branches of a `cond`, so each tells it.
    yield from frozenset().union(*found) if op.name == "cond" else found[0].intersection(*found[1:])


def _inside(flow: Flow, op: Op, value: Value, calls: dict[int, Op]) -> Iterator[Value]:
    """Return the value inside a function that its call gives."""
    region, at = op.regions[0], flow.position(op.results, value)
    if at < len(region.results) and calls.setdefault(id(region), op) is op:
        yield region.results[at]


def _mapped(flow: Flow, op: Op, value: Value, way: Way, depth: int) -> Iterator[Node]:
    """Follow a result of a mapped function to what is mapped along the same axis: then both have the axis more."""
    region, at, axes = op.regions[0], flow.position(op.results, value), op.in_axes
    if depth == 0 or at >= len(region.results) or axes is None or op.option("out_axes") is not None:
        return
    inside = _kin(flow, (region.results[at], way), depth - 1)
    for param, given, axis in zip(region.params, op.operands, axes, strict=False):
        if axis == 0 and axis is not False:
            yield from ((given, inner) for one, inner in inside if one is param)


def _outside(flow: Flow, value: Value, calls: dict[int, Op]) -> Value | None:
    """Return what a parameter stands for outside of the function."""
    region = flow.places.owner.get(value)
    op = None if region is None else calls.get(id(region)) or flow.places.holder.get(id(region))
    if region is None or op is None or (op.name != "cond" and op.name not in CALLS):
        return None
    return next(given_as(op, region, value), None)


def _values(argument: object) -> list[Value]:
    return [argument] if isinstance(argument, Value) else []
