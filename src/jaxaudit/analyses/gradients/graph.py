"""The forward program of one derivative, seen from its loss: what each value was made from, through all borders.

Only what the loss depends on is visited, and nothing outside the differentiated function. A body that several calls
share is taken once for each call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.gradients.edges import Edge, edges, is_opaque
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.paths import Places
from jaxaudit.analyses.queries import Answers
from jaxaudit.ir import Argument, Op, Program, Region, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.functions import JACOBIANS
from jaxaudit.ir.interfaces import Loop, given_as, inside_of, turn_before
from jaxaudit.ir.ops import BRANCHES, CUSTOM_DERIVATIVES, LOOPS, MOVING
from jaxaudit.ir.record import mutable
from jaxaudit.libraries.lookup import plays
from jaxaudit.spans import Span

Inner = tuple[Region | None, Value, Edge]
"""A value that a result or a parameter comes from: in a region of the op, or (None) beside the op itself."""


def behind_result(op: Op, position: int, *, traced: bool) -> Iterator[Inner]:
    """Return what a result of an op with regions comes from."""
    inner = ((region, value, Edge.LIVE) for region, value in inside_of(op, position))
    if op.name in CUSTOM_DERIVATIVES or op.name in ("transform", "callback"):
        # The rule of a custom derivative says how gradient flows, not the body.
        yield from ((None, value, Edge.MAYBE) for value in op.operands)
    elif op.name in BRANCHES:
        yield from inner
        yield from ((None, predicate, Edge.ZERO) for predicate in op.operands[:1])
    elif op.name in LOOPS:
        yield from inner
        starts = op.operands
        if op.name != "associative_scan":
            starts = tuple(one.start for one in Loop(op).carried if one.position == position)
        yield from ((None, start, Edge.LIVE) for start in starts)
    elif op.name == "tree.map":
        yield from ((None, value, Edge.LIVE) for value in op.operands)
        yield from ((op.regions[0], value, Edge.LIVE) for value in op.regions[0].results)
    elif op.name != "abstract":
        own = position >= len(op.regions[0].results) or (op.transformation in JACOBIANS and not traced)
        # In source, derivatives themselves are no results of any region.
        yield from ((op.regions[0], value, Edge.MAYBE) for value in op.regions[0].results[:1]) if own else inner


def behind_parameter(op: Op, region: Region, param: Value) -> Iterator[Inner]:
    """Return what a parameter of a region stands for; from inside the region (later turns) or outside (None)."""
    yield from ((None, value, Edge.LIVE) for value in given_as(op, region, param))
    yield from ((op.regions[-1], value, Edge.LIVE) for value in turn_before(op, region, param))


_ROLES = ("variables", "params")

Applied = Mapping[tuple[int, Span], tuple[Value, ...]]
"""What `apply` was given, by the region it stands in and its place."""


def reads_parameters(op: Op) -> bool:
    """Whether an op is a layer, or a read of a parameter, of a library whose modules hold none themselves."""
    return op.name == "py.call_library" and plays(op.qualified, "module.reads")


@remembered
def applied_in(facts: Facts) -> Applied:
    """Find every call of `apply`."""
    found: dict[tuple[int, Span], tuple[Value, ...]] = {}
    for region in facts.program.regions():
        for op in region.ops:
            if op.name in ("py.call_library", "key.draw") and plays(op.qualified, "module.apply"):
                given = next((op.arguments[role] for role in _ROLES if role in op.arguments), None)
                found[id(region), op.span] = tuple(values_in(given))
    return found


_MOST = 60_000
"""How many values one loss may depend on before the rest is left open."""


@dataclass(slots=True, eq=False)
class Node:
    """A value in one call of the function it stands in."""

    value: Value
    call: int
    op: Op | None = None
    """What made it; None for parameters and for what comes from outside."""
    inputs: list[tuple[Node, Edge]] = field(default_factory=list)
    passes: bool = False
    """True when it only carries its inputs across a border."""
    step: str = ""
    """How the parameters of one layer are taken out of its input, which holds those of a whole module."""
    opaque: bool = False
    """True when it may depend on anything."""
    order: int = -2
    """The place among all nodes, each after what it is made from; negative until it is known."""
    live: int = 0
    """A bit for each leaf that it depends on by a way that passes gradient on; the others by worse ways alone."""
    maybe: int = 0
    cut: int = 0
    zero: int = 0

    @property
    def function(self) -> str:
        """The canonical id of the function that made it; empty where none did."""
        return "" if self.op is None else self.op.function

    def made_by(self, *names: str) -> bool:
        """Whether an op of one of some names made it."""
        return self.op is not None and self.op.name in names

    def __repr__(self) -> str:
        return f"<{self.value} {self.op.name if self.op else ''}>"


class _Making(NamedTuple):
    """How an op makes a value, whatever call it stands in."""

    opaque: bool
    edges: list[tuple[Value, Edge]]
    reads_parameters: bool


@mutable
class Graph:
    """The nodes behind the outputs of one differentiated function."""

    facts: Facts
    region: Region
    program: Program = field(init=False)
    flow: Flow = field(init=False)
    places: Places = field(init=False)
    nodes: dict[tuple[Value, int], Node] = field(default_factory=dict)
    order: list[Node] = field(default_factory=list)
    """Every node after what it is made from, but for the way back in loops."""
    complete: bool = True
    outputs: Answers[Node, bool] | None = None
    """Whether a sum is one learned value, for those that were asked about (`algebra.py`)."""
    _calls: dict[tuple[int, Op], int] = field(default_factory=dict)
    _above: list[tuple[int, Op] | None] = field(default_factory=lambda: [None])
    _inside: dict[int, bool] = field(default_factory=dict)
    _makings: dict[Value, _Making] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.program, self.flow, self.places = self.facts.program, self.facts.flow, self.facts.places

    def find(self, value: Value, beside: Node) -> Node | None:
        """Return the node of a value that an op reads, from a node which that op made."""
        return self.nodes.get((value, beside.call))

    def build(self, outputs: Iterable[Value]) -> list[Node]:
        """Visit everything that some values of the region depend on."""
        roots = [self._node(value, 0) for value in outputs]
        for root in roots:
            self._visit(root)
        return roots

    def _node(self, value: Value, call: int) -> Node:
        known = self.nodes.get((value, call))
        if known is None:
            known = self.nodes[value, call] = Node(value, call)
        return known

    def _visit(self, root: Node) -> None:
        stack: list[tuple[Node, Iterator[Node]]] = []
        self._enter(root, stack)
        while stack:
            node, rest = stack[-1]
            below = next(rest, None)
            if below is None:
                stack.pop()
                node.order = len(self.order)
                self.order.append(node)
            elif below.order == -2:
                self._enter(below, stack)

    def _enter(self, node: Node, stack: list[tuple[Node, Iterator[Node]]]) -> None:
        if node.order != -2:
            return
        node.order = -1
        if len(self.nodes) < _MOST:
            if not node.step:
                self._expand(node)
        else:
            node.opaque, self.complete = True, False
        stack.append((node, iter([below for below, _ in node.inputs])))

    def _expand(self, node: Node) -> None:
        op = self.places.maker.get(node.value)
        if op is None:
            self._parameter(node)
        elif node.call or self._is_inside(self.places.region_of[op]):
            node.op = op
            if op.regions:
                node.passes = True
                node.opaque = op.name in ("transform", "callback")
                position = self.flow.position(op.results, node.value)
                inner = behind_result(op, position, traced=self.program.front_end == "jaxpr")
                self._cross(node, op, inner, node.call)
            else:
                self._made(node, op)

    def _made(self, node: Node, op: Op) -> None:
        made = self._makings.get(node.value)
        if made is None:
            made = self._makings[node.value] = _Making(is_opaque(op), self._edges(node.value, op), reads_parameters(op))
        node.opaque = made.opaque
        node.inputs.extend([(self._node(value, node.call), edge) for value, edge in made.edges])
        given = [self._node(*one) for one in self._variables(op, node.call)] if made.reads_parameters else ()
        if given:
            own = Node(node.value, node.call, step=self._layer(op))
            own.inputs.extend((one, Edge.LIVE) for one in given)
            node.inputs.append((own, Edge.LIVE))

    def _layer(self, op: Op) -> str:
        """Name the parameters that a layer reads: by themselves, or by the place where the layer is made."""
        name, layer = op.arguments.get("name"), op.arguments.get("self")
        if isinstance(name, str):
            return f"[{name!r}]"
        made = self.places.maker.get(layer, op) if isinstance(layer, Value) else op
        kind = made.qualified.removesuffix(".__call__").rpartition(".")[2]
        return f" ({kind} at {made.span.line}:{made.span.column + 1})"

    def _edges(self, made: Value, op: Op) -> list[tuple[Value, Edge]]:
        kind = self.program.types.get(made)
        stepped = kind is not None and kind.dtype.startswith(("int", "uint", "bool", "key"))
        several = op.name == "array.order" and len(op.results) > 1 and len(op.results) == len(op.operands)
        own = op.operands[op.results.index(made)] if several else None
        unused = self._never_chosen(op)
        return [
            (value, Edge.ZERO if stepped or (own is not None and value is not own) else edge)
            for value, edge in edges(op)
            if value is not unused
        ]

    def _never_chosen(self, op: Op) -> Value | None:
        """Return the arm of a choice that a constant condition rules out."""
        if op.name != "array.select":
            return None
        condition = self._constant(op.argument("condition", "pred"))
        ruled_out = ("y", "on_false") if condition else ("x", "on_true")
        arm = op.argument(*ruled_out) if isinstance(condition, bool | int) else None
        return arm if isinstance(arm, Value) else None

    def _constant(self, given: Argument) -> object:
        """Return the constant that an argument is, through ops that move its elements; the argument otherwise."""
        while isinstance(given, Value) and (maker := self.places.maker.get(given)) is not None:
            if maker.name == "py.const":
                return maker.constant
            if maker.name not in MOVING:
                break
            given = next(iter(maker.arguments.values()), None)
        return given

    def _variables(self, op: Op, call: int) -> Iterator[tuple[Value, int]]:
        """Return the parameters that a layer reads: those of the `apply` whose module it is called in."""
        region = self.places.region_of[op]
        while region is not self.region:
            holder = self.places.holder.get(id(region))
            if region.shared or holder is None:
                above = self._above[call]
                if above is None:
                    return
                call, holder = above
            region = self.places.region_of[holder]
            given = applied_in(self.facts).get((id(region), holder.span))
            if given is not None:
                yield from ((value, call) for value in given)
                return

    def _cross(self, node: Node, op: Op, inner: Iterable[Inner], call: int) -> None:
        for region, value, edge in inner:
            where = call if region is None or not region.shared else self._down(call, op)
            node.inputs.append((self._node(value, where), edge))

    def _parameter(self, node: Node) -> None:
        region = self.places.owner.get(node.value)
        if region is None or region is self.region:
            return
        op, call = self.places.holder.get(id(region)), node.call
        if region.shared or op is None:
            above = self._above[node.call]
            if above is None:
                return
            call, op = above
        elif not (node.call or self._is_inside(region)):
            return
        node.passes = True
        for inside, value, edge in behind_parameter(op, region, node.value):
            node.inputs.append((self._node(value, call if inside is None else node.call), edge))

    def _down(self, call: int, op: Op) -> int:
        """Return the number of the call of a shared body by an op that is itself in some call."""
        known = self._calls.get((call, op))
        if known is None:
            known = self._calls[call, op] = len(self._above)
            self._above.append((call, op))
        return known

    def _is_inside(self, region: Region) -> bool:
        known = self._inside.get(id(region))
        if known is None:
            known = self._inside[id(region)] = self.places.within(region, self.region)
        return known
