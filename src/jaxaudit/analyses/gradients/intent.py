"""What a program shows about its targets: that they are meant as data, and not to be trained.

The full gradient of a Bellman error is a method of its own, so an unstopped target alone says nothing. A target
network, or a `stop_gradient` in the same file, says that its author trains predictions towards fixed targets.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.gradients.algebra import learned
from jaxaudit.analyses.gradients.graph import Node
from jaxaudit.analyses.gradients.reach import Gradient
from jaxaudit.analyses.lineage.origins import Origin, contexts, origin
from jaxaudit.ir import Op
from jaxaudit.ir.ops import CONTRACTIONS
from jaxaudit.ir.trees import Tree, split_path
from jaxaudit.libraries.lookup import plays
from jaxaudit.spans import Span

_FEWEST = 2
"""How many leaves two trees must share before one is taken for a copy of the other."""
_CLOSE = 1e-6


def shown_intent(gradient: Gradient, path: str) -> tuple[str, Span] | None:
    """Return what in a file shows that the targets of a loss count as data, and where; None when nothing does."""
    facts = gradient.graph.facts
    apart = kept_apart(gradient)
    if apart is not None:
        return apart
    stop = _stops(facts).get(path)
    if stop is not None:
        return "`stop_gradient` is used on other values of this file", stop
    average = _averages(facts).get(path)
    return None if average is None else ("a slow copy of the parameters is kept", average)


def kept_apart(gradient: Gradient) -> tuple[str, Span] | None:
    """Return what shows that a loss has parameters for its targets; None when nothing does."""
    if _has_twin(gradient) or _has_copy(gradient):
        return "the function is also given other parameters of the same structure", gradient.op.regions[0].span
    other = _called_with_others(gradient)
    if other is not None:
        return "the same network is also called with parameters that are not trained", gradient.span_of(other)
    return None


def _has_twin(gradient: Gradient) -> bool:
    """Whether an argument beside the differentiated ones has the same tree as one of them."""
    op = gradient.op
    paths, border = op.paths, op.border
    chosen = op.differentiated
    if isinstance(paths, tuple) and chosen is not None:
        trained = _grouped(path for at, path in enumerate(paths) if at in chosen)
        others = _grouped(path for at, path in enumerate(paths) if at not in chosen)
        return any(tree in others.values() for tree in trained.values() if len(tree) >= _FEWEST)
    if border is None:
        return False
    wanted = {leaf.param for leaf in gradient.leaves}
    inside = dict(zip(op.operands, op.regions[0].params, strict=False))
    kinds: dict[bool, set[str]] = {True: set(), False: set()}
    for tree in border.trees:
        if _has_names(tree) and len(list(tree.values())) >= _FEWEST:
            kinds[any(inside.get(value) in wanted for value in tree.values())].add(str(tree))
    return bool(kinds[True] & kinds[False])


def _has_copy(gradient: Gradient) -> bool:
    """Whether another argument starts as the very value that is trained."""
    op, flow = gradient.op, gradient.graph.flow
    wanted = {leaf.param for leaf in gradient.leaves}
    pairs = list(zip(op.regions[0].params, op.operands, strict=False))
    for context in contexts(flow, op):
        found = [(param in wanted, origin(flow, given, context)) for param, given in pairs]
        trained = {one.value for chosen, one in found if chosen and _is_made(one)}
        if any(one.value in trained for chosen, one in found if not chosen):
            return True
    return False


def _is_made(found: Origin) -> bool:
    """Whether a value is computed: constants and unknown things may well be met twice."""
    return found.op is not None and found.op.name not in ("py.const", "py.unknown", "py.global")


def _grouped(paths: Iterator[object]) -> dict[str, tuple[str, ...]]:
    """Return the leaves of each argument, without its name."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for path in paths:
        name, rest = split_path(str(path))
        found[name].append(rest)
    return {name: tuple(leaves) for name, leaves in found.items()}


def _has_names(tree: Tree) -> bool:
    """Whether a tree says what its leaves are: pairs and triples alone look all alike."""
    return bool(tree.keys) or any(_has_names(child) for child in tree.children)


def _called_with_others(gradient: Gradient) -> Node | None:
    """Return a product that is learned in one call of its function, and in another is not."""
    products = [one for one in gradient.graph.order if one.op is not None and one.op.name in CONTRACTIONS]
    trained = {one.op for one in products if learned(one)}
    return next((one for one in products if one.op in trained and not learned(one) and not one.opaque), None)


@remembered
def _stops(facts: Facts) -> dict[str, Span]:
    """Return the first `stop_gradient` of every file that the user wrote."""
    found: dict[str, Span] = {}
    for op in facts.program.named("grad.stop"):
        if not op.api and not op.library:
            found.setdefault(op.span.path, op.span)
    return found


@remembered
def _averages(facts: Facts) -> dict[str, Span]:
    """Return the first moving average or copy of parameters of every file."""
    found: dict[str, Span] = {}
    for op in facts.program.walk():
        if plays(op.qualified, "average") or (op.name == "tree.map" and _mixes(op)) or _averages_two(op, facts):
            found.setdefault(op.span.path, op.span)
    return found


def _averages_two(op: Op, facts: Facts) -> bool:
    """Whether an op gives `0.99 * x + 0.01 * y`, as one on every leaf of two trees does."""
    if op.name != "array.map" or op.function != "add" or len(op.operands) != _FEWEST:
        return False
    sides = [made for value in op.operands if (made := facts.flow.maker(value)) is not None]
    scaled = [one for one in sides if one.function == "multiply" and len(one.operands) == 1]
    weights = [one for made in scaled for one in made.arguments.values() if isinstance(one, float)]
    return len(weights) == _FEWEST and abs(sum(weights) - 1) < _CLOSE


def _mixes(op: Op) -> bool:
    """Whether a function on two trees gives `a * x + b * y`."""
    region = op.regions[0]
    made = {value: one for one in region.walk() for value in one.results}
    last = made.get(region.results[0]) if len(region.params) == _FEWEST and region.results else None
    if last is None or last.function != "add":
        return False
    sides = [made.get(value) for value in last.operands]
    scaled = [one for one in sides if one is not None and one.function == "multiply"]
    reads = [next((value for value in one.operands if value in region.params), None) for one in scaled]
    return len(scaled) == _FEWEST and set(reads) == set(region.params)
