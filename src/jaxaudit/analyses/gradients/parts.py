"""What a function takes out of an argument that is one value to the front end: `params['w']`, `state.params`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.gradients.graph import Graph, Node
from jaxaudit.ir import Op, Value
from jaxaudit.ir.trees import Tree

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
    return (base[0], (*base[1], step)) if step and base is not None else None


def _step(node: Node) -> str:
    """Write how an op takes something out of a tree; empty when it does something else."""
    op = node.op
    if op is None:
        return ""
    if op.name == "py.attr":
        return f".{op.label}"
    if op.name == "py.unpack":
        return f"[{op.results.index(node.value)}]"
    index = op.arguments.get("index")
    return f"[{index!r}]" if op.name == "py.item" and isinstance(index, str | int) else ""


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
