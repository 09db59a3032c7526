"""Lineage: which value is a newer version of which.

`x.at[i].set(v)` is a new version of `x`, `apply_updates(params, updates)` of `params`, the second result of an
optimizer's `update` of its state. A call passes lineage on: what a function returns in the variable that one of its
parameters came in is a newer version of the argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import Answers, depends
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.ops import BODIES
from jaxaudit.libraries.lookup import UPDATES, like, playing

_UPDATING = ("array.scatter", "py.replace")


@dataclass(frozen=True, slots=True)
class Version:
    """A value that is a newer version of others."""

    old: frozenset[Value]
    op: Op
    """What made it."""
    plain: bool
    """True when the op is an update by its nature; False when a function of the audited code hands it back changed."""


Ask = Callable[[Value], Version | None]


OPTIMIZER_STEPS = playing("optimizer.step")
"""The `update` of optimizers, by the names of their functions."""


def is_optimizer_step(op: Op) -> bool:
    """Whether an op is the `update` of an optimizer, which gives updates and a new state."""
    return op.qualified in OPTIMIZER_STEPS


def is_update(op: Op) -> bool:
    """Whether an op makes a newer version of a value by its nature."""
    return op.name in _UPDATING or op.qualified in UPDATES


def updates_in(program: Program) -> Iterator[Op]:
    """Return every op that makes a newer version of a value by its nature."""
    return chain(program.named(*_UPDATING), program.calling(*UPDATES))


def versions(flow: Flow, value: Value) -> Version | None:
    """Return what a value is a newer version of; None when that is not known."""
    kept = flow.table(versions)
    if not kept:
        kept[None] = Answers[Value, Version | None](lambda one, ask: _version(flow, one, ask), otherwise=None)
    return kept[None](value)


def _version(flow: Flow, value: Value, ask: Ask) -> Version | None:
    op = flow.maker(value)
    if op is None:
        return None
    if op.name == "array.scatter":
        return _from(op, "base") or _from(op, "operand")
    if op.name == "grad.stop":
        return _from(op, "x")
    if op.name == "array.select":
        return _masked(op)
    if op.name == "py.unpack":
        return _part(flow, op, op.results.index(value))
    if op.name == "py.item":
        index = op.arguments.get("index")
        return _collection(flow, op, index) if isinstance(index, str) else _part(flow, op, index)
    if op.name == "tree.leaf":
        return _leaf(op, ask)
    if op.name == "tree.map" and op.operands and _blends(flow, op):
        return Version(frozenset((op.operands[0], *_first_tree(op))), op, plain=False)
    made = like(op.qualified)
    if made is not None and made.newer:
        return _from(op, made.param)
    if op.name in BODIES and op.regions:
        return _handed_back(flow, op, op.results.index(value), ask)
    return None


def _from(op: Op, argument: str) -> Version | None:
    old = frozenset(values_in(op.arguments.get(argument)))
    return Version(old, op, plain=True) if old else None


def _leaf(op: Op, ask: Ask) -> Version | None:
    """Follow a leaf of a tree that is a newer version of another tree to the leaf in its place there."""
    tree = op.arguments.get("tree")
    whole = ask(tree) if isinstance(tree, Value) else None
    return None if whole is None else Version(frozenset(values_in(op.arguments.get("like"))), whole.op, whole.plain)


def _masked(op: Op) -> Version | None:
    """Take `where(mask, x, y)` for a newer version of what it chooses from, and `clip(x, low, high)` of `x`."""
    old = frozenset(values_in(op.argument("x", "arr"))) | frozenset(values_in(op.arguments.get("y")))
    return Version(old, op, plain=True) if old and op.argument("condition", "arr") is not None else None


def _blends(flow: Flow, op: Op) -> bool:
    """Whether a mapped function gives its first leaf with something added, taken away or mixed in."""
    region = op.regions[0]
    made = flow.maker(region.results[0]) if len(region.results) == 1 else None
    if made is None or not region.params or made.name not in ("array.map", "array.select"):
        return False
    return any(value is region.params[0] or _scaled(flow, value, region.params[0]) for value in made.operands)


def _first_tree(op: Op) -> Iterator[Value]:
    """Return the leaves of the first tree that is mapped, where they are known one by one."""
    border = op.border
    pending = list(border.trees[:1]) if border is not None else []
    while pending:
        tree = pending.pop()
        pending.extend(tree.children)
        if tree.value is not None:
            yield tree.value


def averaged(flow: Flow, result: Value, params: Sequence[Value]) -> Value | None:
    """Return the parameter that a result is a running average of: `decay * mean + (1 - decay) * x`."""
    made = flow.maker(result)
    if made is None or made.name != "array.map" or made.qualified not in ("add", "subtract"):
        return None
    scaled = [param for param in params for value in made.operands if _decays(flow, value, param)]
    return scaled[0] if len(set(scaled)) == 1 and len(made.operands) == 2 else None


def _decays(flow: Flow, value: Value, param: Value) -> bool:
    """Whether a value is a parameter times a constant below one: `0.9 * mean`."""
    made = flow.maker(value)
    if made is None or made.qualified != "multiply" or param not in made.operands:
        return False
    return any(isinstance(one, float) and 0 < one < 1 for one in made.arguments.values())


def _scaled(flow: Flow, value: Value, leaf: Value) -> bool:
    made = flow.maker(value)
    return made is not None and made.name == "array.map" and leaf in made.operands


def _collection(flow: Flow, op: Op, key: str) -> Version | None:
    """Follow `updates["batch_stats"]` to the collection that a module's `apply` was given."""
    part = _maker_of_base(flow, op)
    made = None if part is None else _maker_of_base(flow, part)
    if part is None or made is None or part.name not in ("py.unpack", "py.item") or not made.arguments.get("mutable"):
        return None
    given = made.arguments.get("variables")
    old = given.get(key) if isinstance(given, Mapping) else None
    return Version(frozenset((old,)), made, plain=True) if isinstance(old, Value) else None


def _maker_of_base(flow: Flow, op: Op) -> Op | None:
    base = op.arguments.get("base")
    return flow.maker(base) if isinstance(base, Value) else None


def _part(flow: Flow, op: Op, position: object) -> Version | None:
    made = _maker_of_base(flow, op)
    if made is None or not isinstance(position, int):
        return None
    part = like(made.qualified, position)
    return _from(made, part.param) if part is not None and part.newer else None


def _handed_back(flow: Flow, op: Op, position: int, ask: Ask) -> Version | None:
    region = op.regions[0]
    if position >= len(region.results) or len(region.params) != len(op.operands):
        return None
    result = region.results[position]
    outside = dict(zip(region.params, op.operands, strict=True))
    if result in outside:
        return None
    inner = ask(result)
    if inner is not None:
        # What is not a parameter may come from the functions around.
        return Version(frozenset(outside.get(old, old) for old in inner.old), op, inner.plain)
    blended = averaged(flow, result, region.params)
    if blended is not None:
        return Version(frozenset((outside[blended],)), op, plain=False)
    same = [param for param in region.params if param.name and param.name == result.name]
    if len(same) == 1 and depends(flow, result, same):
        return Version(frozenset((outside[same[0]],)), op, plain=False)
    return None
