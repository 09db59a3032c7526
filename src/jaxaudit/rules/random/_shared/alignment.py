"""One key for several arrays, so that the same places are picked in each of them: a sign that sharing is meant.

Shuffling features and labels alike, taking the same members out of every leaf of a tree, cropping every camera at the
same corner: the numbers that are drawn are places, and what they are places in differs from item to item.
"""

from __future__ import annotations

from collections.abc import Mapping

from jaxaudit.analyses.explain import callee_of
from jaxaudit.analyses.keys import Use
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import reached
from jaxaudit.ir import Op, Value

_WHOLE = frozenset({"randint", "permutation", "shuffle", "choice"})
_DATA = {"permutation": "x", "shuffle": "x", "choice": "a"}
_PICKS = frozenset({"array.gather", "array.scatter", "array.at", "array.move", "py.item"})


def keeps_aligned(flow: Flow, around: Op, use: Use) -> bool:
    """Whether a key picks the same places in every item of a tree, list or dict."""
    draw = use.origin.spot
    name = callee_of(draw)
    if draw.name != "key.draw" or name not in _WHOLE or not _over_items(flow, around, use):
        return False
    return isinstance(draw.arguments.get(_DATA.get(name, "")), Value) or picks(flow, draw)


def _over_items(flow: Flow, around: Op, use: Use) -> bool:
    """Whether each turn of a loop has another array to pick from."""
    if around.name == "tree.map":
        return True
    elements = [op for op in around.regions[0].ops if op.name == "py.element"] if around.name == "py.loop" else []
    counts = all(isinstance(op.arguments.get("iterable"), Mapping) for op in elements)
    if not elements or use.inner is None or not counts:
        return bool(elements)
    changing = reached(flow, (*around.regions[0].params, *(made for op in elements for made in op.results)))
    return not changing.isdisjoint(use.spot.operands)


def picks(flow: Flow, draw: Op) -> bool:
    """Whether what is drawn is an index into something, directly or after a little arithmetic."""
    values = list(draw.results)
    for _ in range(3):
        readers = [op for value in values for op in flow.readers.get(value, ())]
        if any(op.name in _PICKS for op in readers):
            return True
        values = [made for op in readers if op.name.startswith("array.") for made in op.results]
    return False
