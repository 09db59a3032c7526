"""Words that the rules on gradients share."""

from __future__ import annotations

from collections.abc import Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.gradients import Gradient, Leaf, Node, gradients_of
from jaxaudit.analyses.gradients.algebra import strip
from jaxaudit.analyses.gradients.edges import Edge
from jaxaudit.ir import Op
from jaxaudit.ir.functions import JACOBIANS
from jaxaudit.ir.trees import split_path
from jaxaudit.rules.base import Step

_SHOWN = 3


def judged(facts: Facts, *, losses: bool = False) -> list[Gradient]:
    """Return the derivatives by something that was chosen: gradients, Jacobians, and pullbacks of one argument.

    A pullback by several arguments gives what nobody may ask for. With `losses`, only those of what may be a loss.
    """
    return [one for one in gradients_of(facts) if one.op.name == "grad" or _is_chosen(one.op, losses=losses)]


def _is_chosen(op: Op, *, losses: bool) -> bool:
    if op.transformation in JACOBIANS:
        return op.transformation == "hessian" or not losses
    paths, chosen = op.paths, op.differentiated
    if isinstance(paths, tuple) and chosen is not None:
        return len({split_path(str(paths[at]))[0] for at in chosen if at < len(paths)}) == 1
    return op.argument_count == 1


def names(leaves: Sequence[Leaf]) -> str:
    """List leaves for people, the first few by name."""
    shown = ", ".join(f"`{leaf.name}`" for leaf in leaves[:_SHOWN])
    rest = len(leaves) - _SHOWN
    return f"{shown} and {rest} more" if rest > 0 else shown


def taken_at(op: Op) -> tuple[Step, ...]:
    """Return the step that shows where a derivative is made, if it is called elsewhere."""
    made = op.wrapped
    return () if made is None or made.line in (0, op.span.line) else (Step(made, "the derivative is made here"),)


def function_of(gradient: Gradient) -> str:
    """Name the differentiated function."""
    name = gradient.function
    return f"`{name}`" if name and name != "lambda" else "the function"


def deed(node: Node) -> str:
    """Name what an op is, for people: the function in backticks, or what it does."""
    op = node.op
    if op is None:
        return "this"
    if op.name == "py.item" or op.name == "array.gather":
        return "indexing"
    if op.name == "array.convert":
        return "the conversion to integers"
    return f"`{op.function}`" if op.function else "this"


def named(node: Node) -> str:
    """Name a value for people."""
    return f"`{node.value.name}`" if node.value.name else "this value"


def unknown_reason(gradient: Gradient) -> str:
    """Return why nothing is sure about a gradient."""
    if not gradient.known:
        return "it is not known which arguments are differentiated"
    if not gradient.roots:
        return f"what {function_of(gradient)} gives is not known"
    if not gradient.mask.open and gradient.graph.complete:
        return f"no way from what is differentiated to the result of {function_of(gradient)} was found"
    return f"{function_of(gradient)} calls code that was not followed"


def is_undecided(gradient: Gradient) -> bool:
    """Whether nothing can be said about which leaves get gradient."""
    mask = gradient.mask
    unread = not (mask.live or mask.maybe or mask.cut or mask.zero)
    return not gradient.known or not gradient.roots or mask.open or unread or not gradient.graph.complete


def cancels(gradient: Gradient, leaf: Leaf) -> bool:
    """Whether a leaf gets no gradient because it is added and taken away again."""
    return any(edge is Edge.CANCELLED for _, edge in gradient.kills(leaf.bit))


def is_source(gradient: Gradient) -> bool:
    """Whether the program was read and not traced, so that its trees may not be known."""
    return gradient.graph.program.front_end != "jaxpr"


def whole_tree(gradient: Gradient) -> Leaf | None:
    """Return an argument of which it is not known whether it is one array or a tree of many."""
    whole = {leaf.param: leaf for leaf in gradient.leaves if not leaf.path} if is_source(gradient) else {}
    arrays = {
        strip(below).value
        for node in (gradient.graph.order if whole else ())
        if node.op is not None and node.op.name.startswith("array.")
        for below, _ in node.inputs
    }
    return next((leaf for param, leaf in whole.items() if param not in arrays), None)
