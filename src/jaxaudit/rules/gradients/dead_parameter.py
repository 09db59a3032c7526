"""The rule `dead-parameter`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.gradients import Gradient, Leaf
from jaxaudit.analyses.gradients.graph import reads_parameters
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import entered, left, walk
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.functions import STEPPING
from jaxaudit.ir.ops import BODIES, CONTRACTIONS, DERIVATIVES, LOOPS, NOTES
from jaxaudit.libraries.lookup import playing, takes_trees
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, proved, unknown
from jaxaudit.rules.gradients._shared.phrases import (
    function_of,
    is_undecided,
    judged,
    names,
    taken_at,
    unknown_reason,
    whole_tree,
)

_NET = """
def loss(params, x, y):
    h = jnp.tanh(x @ params["w1"])
    return jnp.mean((h @ params["{second}"] - y) ** 2)

def step(x, y):
    params = {{"w1": jnp.ones((8, 8)), "w2": jnp.ones((8, 8))}}
    return jax.grad(loss)(params, x, y){mark}
"""


class DeadParameter(Rule):
    """A differentiated parameter has no way to the loss.

    ## What it does
    Looks, for every leaf of the differentiated arguments, for a way to the loss on which gradient flows. A leaf that
    the loss does not depend on at all gets a gradient of zero.

    ## Why is this bad?
    The parameter is initialised, stored and handed to the optimizer, and never learns. Often another one is read in its
    place: the first layer's weights a second time, a bias that is never added.

    ## Example
        h = jnp.tanh(x @ params["w1"])
        return h @ params["w1"]  # w2 is never read

    ## Use instead
        h = jnp.tanh(x @ params["w1"])
        return h @ params["w2"]

    A leaf that something else reads may be frozen or trained elsewhere: that is a warning.

    ## When it cannot tell
    When the function calls code that was not followed, or the leaves of its arguments are not known.
    """

    summary = "A differentiated parameter does not reach the loss at all."
    needs = ()

    valid = (
        Example(_NET.format(second="w2", mark=""), "every leaf reaches the loss"),
        Example(
            """
            def loss(params, x, y):
                h = jax.lax.stop_gradient(jnp.tanh(x @ params["encoder"]))
                return jnp.mean((h @ params["head"] - y) ** 2)

            def step(x, y):
                params = {"encoder": jnp.ones((8, 8)), "head": jnp.ones((8, 8))}
                return jax.grad(loss)(params, x, y)
            """,
            "an encoder that is frozen on purpose",
        ),
        Example(
            """
            import equinox as eqx, jax, jax.numpy as jnp

            class Net(eqx.Module):
                width: int
                weight: jax.Array

                def __init__(self, width):
                    self.width = width
                    self.weight = jnp.ones((width,))

                def __call__(self, x):
                    return jnp.zeros((self.width,)) + self.weight * x

            def train(x, steps):
                model = Net(4)
                for _ in range(steps):
                    loss, grads = eqx.filter_value_and_grad(lambda model: jnp.mean(model(x) ** 2))(model)
                    model = eqx.apply_updates(model, grads)
                return model
            """,
            "a size that a module holds",
        ),
    )
    invalid = (Example(_NET.format(second="w1", mark="  #!"), "the second layer is never read"),)

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every gradient."""
        gradients = judged(facts)
        trained = _trained(gradients)
        yield from (one for gradient in gradients for one in _judge(gradient, facts.flow, trained))


def _trained(gradients: list[Gradient]) -> set[str]:
    """Return where in its tree each leaf stands that some gradient reaches, whatever the tree is called there."""
    found: set[str] = set()
    for gradient in gradients:
        mask = gradient.mask
        found.update(inner_path(leaf) for leaf in gradient.leaves if leaf.bit & (mask.live | mask.maybe))
    return found


def _is_array(gradient: Gradient, leaf: Leaf) -> bool:
    """Whether a leaf is surely an array: what an object of a class holds need not be, and a size is none."""
    held = gradient.op.held
    at = gradient.op.regions[0].params.index(leaf.param)
    return not ((held and at < len(held) and held[at]) or _is_size(gradient, leaf))


def _is_size(gradient: Gradient, leaf: Leaf) -> bool:
    """Whether the function makes arrays of a shape that a leaf says."""
    made = (op for op in gradient.op.regions[0].walk() if "shape" in op.arguments)
    return any(leaf.param in values_in(op.arguments["shape"]) for op in made)


def _judge(gradient: Gradient, flow: Flow, trained: set[str]) -> Iterator[Obligation]:
    span = gradient.op.span
    if gradient.op.name == "vjp" and gradient.op.rule:
        yield unknown(span, "a derivative rule gives what is asked of it, also of what its function does not read")
        return
    if is_undecided(gradient):
        yield unknown(span, unknown_reason(gradient))
        return
    mask = gradient.mask
    reached = mask.live | mask.maybe | mask.cut | mask.zero
    live = [leaf for leaf in gradient.leaves if leaf.bit & (mask.live | mask.maybe)]
    silent = [leaf for leaf in gradient.silent if not leaf.bit & reached and _is_array(gradient, leaf)]
    dead = [leaf for leaf in silent if inner_path(leaf) not in trained]
    if dead and live and _is_differentiated_again(gradient, dead, flow):
        yield unknown(span, f"{names(dead)} may be added to what is differentiated again, where constants fall out")
    elif dead and live:
        yield _finding(gradient, dead, live, flow)
    elif (tree := whole_tree(gradient)) is not None:
        yield unknown(span, f"the leaves of `{tree.name}` are not known")
    elif (unused := _left_out(gradient)) is not None:
        run = f"`{unused.qualified.removesuffix('.__call__').rpartition('.')[2]}` on line {unused.span.line}"
        yield unknown(span, f"{run} does not reach the loss, and whether its parameters are trained is not known")
    else:
        yield proved(span, _reason(gradient, live))


def _left_out(gradient: Gradient) -> Op | None:
    """Return a layer that the function runs, and whose result the loss is not made of."""
    used = {value for value, _ in gradient.graph.nodes}
    layers = (op for op in gradient.op.regions[0].walk() if reads_parameters(op))
    return next((op for op in layers if used.isdisjoint(op.results)), None)


def _is_differentiated_again(gradient: Gradient, dead: list[Leaf], flow: Flow) -> bool:
    """Whether the loss is made of derivatives that a trace shows without the value: an energy, a potential, a score."""
    inner = any(op.name in DERIVATIVES for op in gradient.op.regions[0].walk())
    traced = gradient.confirmed != -1
    return inner and traced and not any(is_read(flow, gradient.op, leaf) for leaf in dead)


def _reason(gradient: Gradient, live: list[Leaf]) -> str:
    mask, every = gradient.mask, gradient.leaves
    cut = [leaf for leaf in every if leaf.bit & mask.cut and not leaf.bit & (mask.live | mask.maybe)]
    trees = dict.fromkeys(leaf.name[: len(leaf.name) - len(inner_path(leaf))] or leaf.name for leaf in every)
    whole = f"{len(live)} of {len(every)}" if len(live) < len(every) else f"all {len(live)}"
    taken = "leaves that it takes from" if any(leaf.path for leaf in every) else "leaves of"
    around = " and ".join(f"`{tree}`" for tree in list(trees)[:2]) if len(trees) < 3 else "its arguments"
    leaves = names(live) if len(live) == len(every) == 1 else f"{whole} {taken} {around}"
    stopped = f"; {names(cut)} only through `stop_gradient`" if cut else ""
    return f"the gradient of {function_of(gradient)} reaches {leaves}{stopped}"


def _finding(gradient: Gradient, dead: list[Leaf], live: list[Leaf], flow: Flow) -> Obligation:
    unread = [
        leaf
        for leaf in dead
        if _has_live_sibling(leaf, live)
        and not (is_read(flow, gradient.op, leaf) or is_read_elsewhere(flow, gradient.op, leaf))
    ]
    sure = bool(unread)
    leaves = unread or dead
    return Obligation(
        gradient.op.span,
        severity=Severity.ERROR if sure else Severity.WARNING,
        message=f"{names(leaves)} {'do' if len(leaves) > 1 else 'does'} not reach the loss: the gradient is zero",
        current=f"what {function_of(gradient)} gives does not depend on it, so nothing is learned there",
        expected="every parameter that is trained takes part in the loss",
        steps=(*taken_at(gradient.op), Step(gradient.op.regions[0].span, f"{function_of(gradient)} is here")),
        suggestion="use the parameter, or take it out of what is differentiated",
    )


def _has_live_sibling(leaf: Leaf, live: list[Leaf]) -> bool:
    """Whether something else in the same inner tree is trained: then this leaf was meant to be."""
    cut = max(leaf.name.rfind("["), leaf.name.rfind("."))
    around = leaf.name[:cut] if cut > 0 else ""
    return bool(around) and any(other.name.startswith(around) for other in live)


_NETWORK = CONTRACTIONS | {
    "array.gather",
    "array.normalise",
    "py.call_unknown",
    "py.call_library",
    "grad",
    "scan",
    "vmap",
}
_TRAINING = frozenset(playing("optimizer.init", "optimizer.step", "optimizer.apply"))
"""What trains a parameter, and reads it for nothing else."""
_LOOKS = NOTES | {"py.return", "py.print", "py.format", "py.to_python", "py.rebind"}


def inner_path(leaf: Leaf) -> str:
    """Return where in its tree a leaf stands: `['w']` of `params['w']`."""
    start = min((at for at in map(leaf.name.find, "[.") if at > 0), default=0)
    return leaf.name[start:]


def operand_of(op: Op, leaf: Leaf) -> Value:
    """Return what a leaf is outside the differentiated function."""
    return op.operands[op.regions[0].params.index(leaf.param)]


def is_read(flow: Flow, op: Op, leaf: Leaf) -> bool:
    """Whether anything reads the leaf but this gradient and the optimizer's arithmetic."""

    def inside(value: Value) -> Iterator[Value]:
        calls = (one for one in flow.readers.get(value, ()) if one is not op and one.name in ("py.call", "jit"))
        return (param for one in calls for param in entered(one, value))

    names = walk((operand_of(op, leaf),), inside)
    found = (reader for one in names for reader in flow.readers.get(one, ()) if reader is not op)
    return any(reader.name in _NETWORK and reader.qualified not in _TRAINING for reader in found)


def is_read_elsewhere(flow: Flow, op: Op, leaf: Leaf) -> bool:
    """Whether another function reads the leaf or a newer version of it, such as one that only evaluates."""
    path, operand = inner_path(leaf), operand_of(op, leaf)
    if flow.program.front_end == "jaxpr":
        roots = [root.region for root in flow.program.roots if operand not in root.region.params]
        if any(value.name.endswith(path) and value in flow.readers for root in roots for value in root.params):
            return True
    elif any(one.name in ("py.item", "py.attr") and path.endswith(_step(one)) for one in flow.program.walk()):
        return True
    return _is_read_later(flow, op, operand)


def _step(op: Op) -> str:
    """Write how an op takes something out of a tree."""
    return f".{op.label}" if op.name == "py.attr" else f"[{op.arguments.get('index')!r}]"


def _is_read_later(flow: Flow, op: Op, operand: Value) -> bool:
    """Follow a leaf through updates, calls and loops to anything that computes with it."""

    def onwards(value: Value) -> Iterator[Value]:
        yield from (one for reader in readers(value) for one in _versions(flow, reader, value))
        yield from left(flow, value)

    def readers(value: Value) -> Iterator[Op]:
        return (one for one in flow.readers.get(value, ()) if one is not op and one.name not in _LOOKS)

    return any(
        next(_versions(flow, reader, value), None) is None
        for value in walk((operand,), onwards)
        for reader in readers(value)
    )


def _versions(flow: Flow, op: Op, value: Value) -> Iterator[Value]:
    """Return what an op that only hands on or updates a value makes of it, or calls it inside."""
    if op.name == "tree.map":
        yield from op.results
    elif op.name == "py.container":
        yield from _contained(flow, op, op.operands.index(value))
    elif op.name in LOOPS or op.name in BODIES:
        yield from entered(op, value)
    elif op.name in ("array.convert", "array.select") or (op.name == "array.map" and op.function in STEPPING):
        yield from op.results
    elif op.name == "py.join" or (op.name == "py.call_library" and takes_trees(op.qualified)):
        yield from op.results


def _contained(flow: Flow, op: Op, at: int) -> Iterator[Value]:
    """Return the newer version of one leaf of a tree that a function is mapped over, else the tree as a whole."""
    for reader in flow.readers.get(op.result, ()):
        made = reader.results[len(reader.regions[0].results) :] if reader.name == "tree.map" else ()
        yield made[at] if len(made) == len(op.operands) else op.result
