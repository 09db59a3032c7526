"""Which leaves of the differentiated arguments reach the loss, and by what kind of way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.gradients.cancelling import cancel
from jaxaudit.analyses.gradients.chosen import chosen_params
from jaxaudit.analyses.gradients.edges import Edge
from jaxaudit.analyses.gradients.graph import Graph, Node
from jaxaudit.analyses.queries import last
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.ir.functions import ZEROS
from jaxaudit.ir.interfaces import inside_of
from jaxaudit.ir.ops import CALLS, DERIVATIVES, MOVING
from jaxaudit.ir.record import mutable, record
from jaxaudit.ir.trees import Tree
from jaxaudit.spans import Span


def surely_zero(op: Op, made_by: Mapping[Value, Op]) -> set[int] | None:
    """Return the positions of the parameters whose gradient is zero in a trace; None where it cannot be read off."""
    found, whose = op.gradients, op.wrt
    if not found or whose is None:
        return None
    results = op.regions[0].results
    return {whose[at] for at in found if at < len(results) and _is_zero(results[at], made_by)} - {None}


def _is_zero(value: Value, made_by: Mapping[Value, Op]) -> bool:
    given = last(value, lambda one: _source(one, made_by))
    maker = made_by.get(given) if isinstance(given, Value) else None
    if maker is None:
        return isinstance(given, int | float) and given == 0
    if maker.name == "py.const":
        return maker.constant == 0
    return maker.name == "array.create" and maker.function in ZEROS


def _source(given: Argument, made_by: Mapping[Value, Op]) -> Argument:
    """Return what a value is in a call, or has all its elements from."""
    op = made_by.get(given) if isinstance(given, Value) else None
    if op is None:
        return None
    if op.name in MOVING:
        return next(iter(op.arguments.values()), None)
    if op.name not in CALLS:
        return None
    return next((value for _, value in inside_of(op, op.results.index(given))), None)


ANY = "[...]"
"""The step to an item whose place is not known."""

Part = tuple[Value, tuple[str, ...]]
"""The argument, and the steps into it as Python writes them."""


def parts_of(graph: Graph, params: list[Value]) -> dict[Node, Part]:
    """Return the nodes that are an argument or a part of one, and nothing more."""
    parts: dict[Node, Part] = {}
    for param in params:
        node = graph.nodes.get((param, 0))
        if node is not None:
            parts[node] = (param, ())
    for node in graph.order:
        part = _part(node, parts)
        if part is not None:
            parts[node] = part
    return parts


def _part(node: Node, parts: dict[Node, Part]) -> Part | None:
    if node.passes:
        inner = {parts.get(below) for below, _ in node.inputs}
        return inner.pop() if len(inner) == 1 else None
    step = _step(node)
    base = next((parts[below] for below, _ in node.inputs if below in parts), None)
    if not step or base is None:
        return None
    # An item of a slice is one of those that the slice holds.
    return base if step == ANY and any(map(_is_slice, base[1][-1:])) else (base[0], (*base[1], step))


def _step(node: Node) -> str:
    """Write how an op takes something out of a tree; empty when it does something else."""
    op = node.op
    if op is None:
        return node.step
    if op.name == "py.element":
        return ANY
    if op.name == "py.attr":
        return f".{op.label}"
    if op.name == "py.unpack":
        return f"[{op.results.index(node.value)}]"
    index = op.arguments.get("index") if op.name == "py.item" else None
    if isinstance(index, Mapping):
        ends = (index.get("start"), index.get("stop"), index.get("step"))
        whole = all(one is None or isinstance(one, int) for one in ends) and ends[2] is None
        return "[{}:{}]".format(*("" if one is None else one for one in ends[:2])) if whole else ANY
    return f"[{index!r}]" if isinstance(index, str | int) else ANY if isinstance(index, Value) else ""


def _is_slice(step: str) -> bool:
    return step[:1] == "[" and set(step) <= set("[-0123456789:]") and ":" in step


def _overlap(one: str, other: str) -> bool:
    """Whether two steps may lead to the same part: items of unknown places, and slices, may be any items."""
    if one == other:
        return True
    slices = [step[1:-1].split(":") for step in (one, other) if _is_slice(step)]
    ends = [step[1:-1] for step in (one, other) if step[1:-1].lstrip("-").isdigit()]
    if len(slices) == len(ends) == 1:
        (start, stop), at = slices[0], int(ends[0])
        return not ((stop.startswith("-") and int(stop) <= at < 0) or (start.isdigit() and 0 <= at < int(start)))
    return ANY in (one, other) or bool(slices)


def overlapping(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether one of two parts may hold the other."""
    return all(_overlap(*steps) for steps in zip(one, other, strict=False))


def labels_of(op: Op) -> dict[Value, str]:
    """Name the parameters of a differentiated function by where they stand in its arguments."""
    border = op.border
    if border is None:
        return {}
    named = {
        value: label
        for position, tree in enumerate(border.trees)
        for value, label in _labelled(tree, border.name(position))
    }
    pairs = zip(op.regions[0].params, op.operands, strict=False)
    return {param: named[operand] for param, operand in pairs if operand in named}


def _labelled(tree: Tree, label: str) -> Iterator[tuple[Value, str]]:
    if tree.value is not None:
        yield tree.value, label
    for position, child in enumerate(tree.children):
        key = tree.keys[position] if position < len(tree.keys) else None
        step = f"[{position}]" if key is None else f"[{key!r}]" if tree.kind == "dict" else f".{key}"
        yield from _labelled(child, label + step)


ANYTHING = 1
"""The first bit stands for whatever code that was not followed may depend on."""


@record
class Leaf:
    """One leaf of what is differentiated, or as much of an argument as the function takes out of it."""

    param: Value
    path: tuple[str, ...]
    bit: int
    label: str = ""
    """The argument, or the leaf of it that the parameter is, as the function writes it."""

    @property
    def name(self) -> str:
        """The leaf as the function writes it: `params['w']`."""
        return (self.label or "the argument") + "".join(self.path)


@mutable
class Gradient:
    """One derivative: its op, the graph behind its loss, and its leaves."""

    op: Op
    graph: Graph
    roots: list[Node]
    leaves: list[Leaf]
    known: bool
    """False where it is not known which arguments are differentiated."""
    confirmed: int = -1
    """The bits of the leaves whose gradient JAX says is zero; all of them where JAX was not asked."""
    _kills: list[tuple[Node, Node, Edge]] | None = None

    @property
    def function(self) -> str:
        """The name of the differentiated function."""
        return self.op.function

    @property
    def silent(self) -> list[Leaf]:
        """The leaves that surely get no gradient."""
        mask = self.mask
        if mask.open or not self.known:
            return []
        good = mask.live | mask.maybe
        return [one for one in self.leaves if not one.bit & good and one.bit & self.confirmed and not self._beside(one)]

    def _beside(self, leaf: Leaf) -> bool:
        """Whether the tree around a leaf, or a part of it, gets gradient by another way."""
        mask = self.mask
        flowing = (one for one in self.leaves if one.param is leaf.param and one.bit & (mask.live | mask.maybe))
        return any(overlapping(one.path, leaf.path) for one in flowing)

    @property
    def mask(self) -> Masks:
        """How the outputs depend on the leaves, all together."""
        return Masks(*(_union(self.roots, name) for name in ("live", "maybe", "cut", "zero")))

    def kills(self, bit: int) -> Iterator[tuple[Node, Edge]]:
        """Return the places where gradient for a leaf ends: what made the value, and how."""
        if self._kills is None:
            self._kills = [
                (node, below, edge)
                for node in self.graph.order
                for below, edge in node.inputs
                if edge in (Edge.CUT, Edge.ZERO, Edge.CANCELLED)
            ]
        for node, below, edge in self._kills:
            if (below.live | below.maybe) & bit:
                yield node, edge

    def span_of(self, node: Node) -> Span:
        """Return the place that a node was made at."""
        return node.op.span if node.op is not None else node.value.span


@record
class Masks:
    """How something depends on leaves: a bit each, in the best of these ways that there is."""

    live: int
    maybe: int
    cut: int
    zero: int

    @property
    def open(self) -> bool:
        """Whether it may depend on anything at all."""
        return bool(self.maybe & ANYTHING)


def _union(nodes: list[Node], name: str) -> int:
    made = 0
    for node in nodes:
        made |= getattr(node, name)
    return made


@remembered
def gradients_of(facts: Facts) -> tuple[Gradient, ...]:
    """Analyse every derivative of a program, once for all rules that ask."""
    return tuple(_analyse(facts, op) for op in facts.program.walk() if op.name in DERIVATIVES and op.regions)


def _analyse(facts: Facts, op: Op) -> Gradient:
    program, region = facts.program, op.regions[0]
    graph = Graph(facts, region)
    roots = graph.build(_outputs(program, op))
    leaves = _leaves(program, graph, chosen_params(facts.flow, op), labels_of(op))
    cancel(graph)
    _spread(graph)
    zeros = surely_zero(op, graph.places.maker) if program.front_end == "jaxpr" and op.name == "grad" else None
    confirmed = -1
    if zeros is not None:
        silent = {region.params[at] for at in zeros}
        confirmed = sum(leaf.bit for leaf in leaves if leaf.param in silent)
    return Gradient(op, graph, roots, leaves, bool(op.differentiated), confirmed)


def _outputs(program: Program, op: Op) -> tuple[Value, ...]:
    if program.front_end == "jaxpr":
        given = op.outputs
        return given if isinstance(given, tuple) else ()
    results = op.regions[0].results
    return results[:1] if op.name == "grad" else results


def _leaves(program: Program, graph: Graph, chosen: list[Value], labels: dict[Value, str]) -> list[Leaf]:
    """Return every leaf a bit, and put it on the nodes where the function takes the leaf."""
    parts = parts_of(graph, chosen) if program.front_end != "jaxpr" else {}
    leaves: dict[Part, Leaf] = {}

    def leaf(part: Part) -> Leaf:
        if part not in leaves:
            leaves[part] = Leaf(*part, 2 << len(leaves), labels.get(part[0]) or part[0].name)
        return leaves[part]

    for param in chosen:
        if (param, 0) not in graph.nodes:
            leaf((param, ()))
        elif program.front_end == "jaxpr":
            graph.nodes[param, 0].live = leaf((param, ())).bit
    used = {part for node in graph.order if node not in parts for below, _ in node.inputs if (part := parts.get(below))}
    for node, part in parts.items():
        if part in used:
            node.live = leaf(part).bit
    return list(leaves.values())


def _spread(graph: Graph) -> None:
    """Carry the bits from the leaves to the loss, again where loops lead back."""
    for node in graph.order:
        if node.opaque:
            node.maybe |= ANYTHING
    changed = True
    while changed:
        changed = False
        for node in graph.order:
            if not node.inputs:
                continue
            before = (node.live, node.maybe, node.cut, node.zero)
            looped = _absorb(node)
            changed |= looped and before != (node.live, node.maybe, node.cut, node.zero)


def _absorb(node: Node) -> bool:
    """Take over what the inputs depend on; True when one of them comes later, so that another round may add more."""
    looped = False
    for below, edge in node.inputs:
        looped |= below.order >= node.order
        if edge is Edge.LIVE:
            node.live |= below.live
            node.maybe |= below.maybe
            node.cut |= below.cut
        elif edge is Edge.MAYBE:
            node.maybe |= below.live | below.maybe
            node.cut |= below.cut
        elif edge is Edge.CUT:
            node.cut |= below.live | (below.maybe & ~ANYTHING) | below.cut
        else:
            node.zero |= below.live | (below.maybe & ~ANYTHING)
            node.cut |= below.cut
        node.zero |= below.zero
    return looped
