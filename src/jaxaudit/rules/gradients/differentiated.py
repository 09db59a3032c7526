"""Which values gradients flow through: those that depend on what is differentiated and that the loss depends on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from jaxaudit.analyses.flat import FlatValues
from jaxaudit.ir import Op, Program, Region, Value
from jaxaudit.ir.trees import Border, Tree

_TAKES_GRADIENTS = frozenset({"grad", "vjp"})
_OWN_RULE = frozenset({"custom_jvp", "custom_vjp"})
_LOOPS = frozenset({"scan", "fori", "while", "py.loop", "py.while"})
_MOST_VISITS = 3


@dataclass(slots=True)
class Differentiated:
    """The values of a program that gradients flow through."""

    flat: FlatValues
    through: set[Value] = field(default_factory=set)
    where: dict[Value, Op] = field(default_factory=dict)
    """For each of these values the op that takes the gradient."""

    def takes(self, value: Value) -> Op | None:
        """Give the op that takes a gradient through a value; None where none does."""
        return self.where.get(value)


@lru_cache(maxsize=2)
def differentiated(program: Program) -> Differentiated:
    """Follow every gradient of a program, once for all rules that ask."""
    found = Differentiated(FlatValues.of(program))
    for op in program.walk():
        if op.name in _TAKES_GRADIENTS and op.regions:
            _follow(op, found)
    return found


def _follow(op: Op, found: Differentiated) -> None:
    region = op.regions[-1]
    forward = _Forward(found.flat)
    forward.depends.update(_seeds(op, region))
    forward.run(region)
    # A trace holds the backward pass itself, which reads what it needs; the loss may not even be among its results.
    traced = "gradients" in op.attrs
    reached = forward.depends if traced else forward.depends & _needed(region, _losses(op, region))
    for value in reached:
        found.through.add(value)
        found.where.setdefault(value, op)


def _seeds(op: Op, region: Region) -> Iterator[Value]:
    """Give the parameters that are differentiated."""
    chosen = op.attrs.get("gradients")
    if isinstance(chosen, tuple):
        yield from (region.params[i] for i in chosen if isinstance(i, int) and i < len(region.params))
        return
    border, options = op.attrs.get("border"), op.attrs.get("options")
    argnums = options.get("argnums", 0) if isinstance(options, Mapping) else 0
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    if not isinstance(border, Border) or not all(isinstance(one, int) for one in numbers):
        yield from region.params
        return
    trees = [border.trees[one] for one in numbers if -len(border.trees) <= one < len(border.trees)]
    wanted = {value for tree in trees for value in _leaves(tree)}
    yield from (param for param, given in zip(region.params, op.operands, strict=False) if given in wanted)


def _leaves(tree: Tree) -> Iterator[Value]:
    if tree.value is not None:
        yield tree.value
    for child in tree.children:
        yield from _leaves(child)


def _losses(op: Op, region: Region) -> Sequence[Value]:
    options = op.attrs.get("options")
    has_aux = isinstance(options, Mapping) and options.get("has_aux") not in (None, False)
    return region.results[:1] if has_aux else region.results


class _Forward:
    """Marks what depends on the differentiated values, up to where gradients are cut."""

    def __init__(self, flat: FlatValues) -> None:
        self.flat = flat
        self.depends: set[Value] = set()
        self.visits: dict[int, int] = {}

    def run(self, region: Region) -> None:
        for op in region.ops:
            if op.regions and op.name not in _OWN_RULE:
                self.enter(op)
            elif any(value in self.depends for value in op.operands):
                self.depends.update(value for value in op.results if not self.flat.is_flat(value))

    def enter(self, op: Op) -> None:
        for _ in range(2 if op.name in _LOOPS else 1):
            for region in op.regions:
                self.visit(op, region)
        for region in op.regions:
            pairs = zip(op.results, region.results, strict=False)
            self.depends.update(made for made, inner in pairs if inner in self.depends)

    def visit(self, op: Op, region: Region) -> None:
        offset = len(op.operands) - len(region.params)
        for i, param in enumerate(region.params):
            place = i + offset
            if 0 <= place < len(op.operands) and op.operands[place] in self.depends:
                self.depends.add(param)
            if op.name in _LOOPS and i < len(region.results) and region.results[i] in self.depends:
                self.depends.add(param)
        count = self.visits.get(id(region), 0)
        if count < _MOST_VISITS:
            self.visits[id(region)] = count + 1
            self.run(region)


def _needed(region: Region, results: Sequence[Value]) -> set[Value]:
    """Give everything that some results are made of."""
    needed = set(results)
    _backward(region, needed, set())
    return needed


def _backward(region: Region, needed: set[Value], done: set[int]) -> None:
    for op in reversed(region.ops):
        if not any(value in needed for value in op.results) and op.name != "py.return":
            continue
        if op.name != "py.return":
            needed.update(op.operands)
        for inner in op.regions:
            if id(inner) not in done:
                done.add(id(inner))
                needed.update(inner.results)
                _backward(inner, needed, done)
