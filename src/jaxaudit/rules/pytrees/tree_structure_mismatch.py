"""The rule `tree-structure-mismatch`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.kinds import is_array
from jaxaudit.analyses.lineage.origins import Context, contexts, origin
from jaxaudit.analyses.lineage.skeletons import left_out, one_structure, part_of, skeleton, structure_read
from jaxaudit.analyses.queries import sources
from jaxaudit.analyses.versions import OPTIMIZER_STEPS, is_optimizer_step
from jaxaudit.ir import Exit, Op, Program, Value
from jaxaudit.ir.trees import CONTAINERS, Tree
from jaxaudit.libraries.lookup import playing, plays
from jaxaudit.rules.base import Example, Obligation, Raises, Rule, Step, Verdict, named, proved, unknown
from jaxaudit.rules.pytrees._shared.choices import choices, misplaced
from jaxaudit.rules.pytrees._shared.leaf_lists import (
    absence,
    computes,
    gathered,
    joins_single,
    listed_from,
    mixed_leaves,
    one_tree,
    reordered,
    taken_apart,
    why_alike,
)
from jaxaudit.rules.pytrees._shared.optimizers import (
    APPLIES,
    BLENDS,
    differentiated,
    optimised_trees,
    other_module,
    started_with,
)
from jaxaudit.rules.pytrees._shared.orders import in_order, vectors_in_order
from jaxaudit.rules.trees import Misfit, array_for_container, describe, difference, nodes

_BEGINS = playing("optimizer.init")

_PARTED = """import equinox as eqx


def loss(trainable, frozen, x):
    return jnp.mean(jax.vmap(eqx.combine(trainable, frozen))(x) ** 2)


def step(model, spec, x):
    trainable, frozen = eqx.partition(model, spec)
    grads = eqx.filter_grad(loss)(trainable, frozen, x)
    return {call}{mark}
"""


class TreeStructureMismatch(Rule):
    """Trees of different structure are put together leaf by leaf.

    ## What it does
    Compares the trees that `jax.tree.map` is given, wherever their containers are known, or where one of them is an
    entry of the other, and the trees that an optimizer was started with and is given later. For `jax.tree.unflatten`
    it checks that each leaf comes from the leaves in the same place, not from all leaves of one tree. What is paired
    by position has to stand in one order: leaves are sorted by their keys, the values of a dict are not.

    ## Why is this bad?
    `tree.map` raises when structures differ. A list of leaves in another order than the structure expects raises
    nothing: every array lands in the wrong place.

    ## Example
        target = network.init(key, x)
        online = target["params"]
        jax.tree.map(lambda t, o: 0.99 * t + 0.01 * o, target, online)

    ## Use instead
        target = online = network.init(key, x)["params"]

    ## When it cannot tell
    When a tree comes from outside, or `is_leaf` changes what counts as a leaf.
    """

    summary = "Trees with different structures are mapped or rebuilt together."

    valid = (
        Example("def f(x):\n    return jax.tree.map(lambda a, b: a + b, {'a': x}, {'a': 1})\n", "alike"),
        Example(
            "BOUNDS = {'rates': {'up': (0.0, 1.0)}}\n\ndef f():\n    raw = {'rates': {'up': jnp.zeros(())}}\n"
            "    return jax.tree.map(lambda z, limits: jnp.clip(z, limits[0], limits[1]), raw, BOUNDS)\n",
            "a tuple for each leaf of the first",
        ),
        Example(
            "import optax\n\ndef begin(x):\n    params = {'net': {'w': x, 'b': x}, 'out': {'w': x, 'b': x}}\n"
            "    decay = optax.adamw(1e-3, mask={'net': {'w': True, 'b': False}, 'out': False})\n"
            "    return optax.chain(optax.clip(1.0), decay).init(params)\n",
            "a mask that the parameters begin with",
        ),
        Example(
            "def stack(trees):\n    d = jax.tree.structure(trees[0])\n"
            "    leaves = [jax.tree.leaves(t) for t in trees]\n"
            "    return jax.tree.unflatten(d, [jnp.stack(g) for g in zip(*leaves)])\n",
            "stacked across trees",
        ),
        Example(
            "def total(x, y):\n    one, form = jax.tree.flatten({'w': x, 'b': y})\n"
            "    two = jax.tree.leaves({'w': y, 'b': x})\n"
            "    return jax.tree.unflatten(form, [one[0] * 2, two[1] * 2])\n\n"
            "def totals(x, y):\n    form = jax.tree.structure({'actor': 0, 'critic': 0})\n"
            "    return jax.tree.unflatten(form, [sum(jax.tree.leaves(one)) for one in ((x, y), (y, x))])\n",
            "leaves of two trees, and a number of each",
        ),
        Example(
            "RATES = {'stem': 0.1, 'block': 0.2, 'head': 0.4}\n\ndef f(x, y, z):\n"
            "    leaves, form = jax.tree.flatten({'stem': x, 'block': y, 'head': z})\n"
            "    return form.unflatten([rate * leaf for rate, leaf in zip(jax.tree.leaves(RATES), leaves)])\n",
            "the leaves of both",
        ),
        Example(
            "def f(one, other):\n    if jax.tree.structure(one) == jax.tree.structure(other):\n"
            "        return jax.tree.map(lambda x, y: x * y, one, other)\n"
            "    return jax.tree.map(lambda x: x * other, one)\n\n"
            "f({'a': jnp.ones(3), 'b': jnp.ones(2)}, 2.0)\n",
            "only where they are alike",
        ),
        Example(
            "from jax.flatten_util import ravel_pytree\n\ndef f(x, y):\n"
            "    mean, unravel = ravel_pytree({'rate': x, 'base': y})\n"
            "    widths = jnp.concatenate([x * 2, y * 3])\n    scales, _ = ravel_pytree({'base': y, 'rate': x})\n"
            "    return unravel(mean * scales), widths\n",
            "vectors in one order",
        ),
        Example(_PARTED.format(call="jax.tree.map(lambda g, p: g + p, grads, trainable)", mark=""), "of one part"),
        Example(
            _PARTED.format(call="jax.tree.map(lambda p, g: p if g is None else p - g, model, grads)", mark=""),
            "None is asked for",
        ),
    )
    invalid = (
        Example(
            "import optax\n\ndef fit(params, x):\n    tx = optax.adam(1e-3)\n    state = tx.init([params])\n"
            "    for _ in range(9):\n        grads = jax.grad(lambda p: jnp.sum((p - x) ** 2))(params)\n"
            "        updates, state = tx.update(grads, state, params)  #!\n"
            "        params = optax.apply_updates(params, updates)\n    return params\n",
            "a state for a list that holds the parameters",
        ),
        Example(
            "import optax\n\ndef begin(x):\n    params = {'net': {'w': x, 'b': x}, 'out': {'w': x, 'b': x}}\n"
            "    decay = optax.adamw(1e-3, mask={'w': True, 'b': False})\n"
            "    return optax.chain(optax.clip(1.0), decay).init(params)  #!\n",
            "a mask for another level",
        ),
        Example(
            "import haiku as hk\nimport optax\n\ndef fit(net, key, x, loss, is_head):\n    params = net.init(key, x)\n"
            "    head, rest = hk.data_structures.partition(is_head, params)\n    tx = optax.adam(1e-3)\n"
            "    state = tx.init(params)\n    for _ in range(9):\n        grads = jax.grad(loss)(head, rest)\n"
            "        updates, state = tx.update(grads, state)  #!\n"
            "        head = optax.apply_updates(head, updates)\n    return hk.data_structures.merge(head, rest)\n",
            "a state for all, and gradients of a part",
        ),
        Example("def f(x):\n    return jax.tree.map(lambda a, b: a + b, {'a': x}, {'b': 1})  #!\n", "other keys"),
        Example(
            "BOUNDS = {'rates': {'up': (0.0, 1.0)}}\n\ndef f():\n    raw = {'rates': {'up': jnp.zeros(())}}\n"
            "    return jax.tree.map(lambda limits, z: jnp.clip(z, limits[0], limits[1]), BOUNDS, raw)  #!\n",
            "a tuple where the other has an array",
        ),
        Example(
            "def stack(trees):\n    return jax.tree.map(lambda *leaves: jnp.stack(leaves), trees)  #!\n", "no star"
        ),
        Example(
            "import optax\n\ndef f(net, loss, key, x):\n    variables = net.init(key, x)\n"
            "    tx = optax.adam(1e-3)\n    state = tx.init(variables)\n"
            "    grads = jax.grad(loss)(variables['params'], x)\n    return tx.update(grads, state)  #!\n",
            "the optimizer knows another tree",
        ),
        Example(
            "def f(net, key, x):\n    variables = net.init(key, x)\n"
            "    return jax.tree.map(lambda a, b: a + b, variables, variables['params'])  #!\n",
            "an entry of the other",
        ),
        Example(
            "def stack(trees):\n    d = jax.tree.structure(trees[0])\n"
            "    leaves = [jax.tree.leaves(t) for t in trees]\n"
            "    return jax.tree.unflatten(d, [jnp.stack(g) for g in leaves])  #!\n",
            "stacked inside each tree",
        ),
        Example(
            "full = {'w': jnp.ones(3), 'b': jnp.ones(3)}\n"
            "part = {'w': jnp.ones(3)}\nleaves, _ = jax.tree.flatten(full)\n_, form = jax.tree.flatten(part)\n"
            "half = jax.tree.unflatten(form, [x / 2 for x in leaves])  #!\n",
            "structure and leaves of different trees",
        ),
        Example(
            "def total(x, y):\n    one, form = jax.tree.flatten({'w': x, 'b': y})\n"
            "    two = jax.tree.leaves({'w': y, 'b': x})\n"
            "    return jax.tree.unflatten(form, [sum(one), sum(two)])  #!\n",
            "all leaves of each tree",
        ),
        Example(
            "RATES = {'stem': 0.1, 'block': 0.2, 'head': 0.4}\n\ndef f(x, y, z):\n"
            "    leaves, form = jax.tree.flatten({'stem': x, 'block': y, 'head': z})\n"
            "    rates = list(RATES.values())\n"
            "    return form.unflatten([rate * leaf for rate, leaf in zip(rates, leaves)])  #!\n",
            "the order of a dict and the order of leaves",
        ),
        Example(
            "from jax.flatten_util import ravel_pytree\n\ndef f(x, y):\n"
            "    mean, unravel = ravel_pytree({'rate': x, 'base': y})\n"
            "    widths = jnp.concatenate(list({'rate': x * 2, 'base': y * 3}.values()))\n"
            "    return unravel(mean + 0.1 * widths)  #!\n",
            "vectors in different orders",
        ),
        Example(
            "from jax.flatten_util import ravel_pytree\n\ndef f(x, y, z):\n"
            "    parts = {'rate': x, 'base': y}\n    _, unravel = ravel_pytree(parts)\n"
            "    def cost(vec):\n        return unravel(vec)['rate'].sum()  #!\n"
            "    return jax.grad(cost)(jnp.concatenate([part.ravel() for part in parts.values()]))\n",
            "a vector that is taken apart in another order",
        ),
        Example(
            "def noise(key, params):\n    leaves = jax.tree.leaves(params)\n"
            "    return [jax.random.normal(k, p.shape) for k, p in zip(jax.random.split(key, len(leaves)), leaves)]\n\n"
            "def f(key):\n    params = {'w': jnp.ones((3, 2)), 'b': jnp.ones(2)}\n"
            "    return jax.tree.map(lambda p, e: p + 0.1 * e, params, noise(key, params))  #!\n",
            "a list of leaves and the tree",
        ),
        Example(
            _PARTED.format(call="jax.tree.map(lambda g, p: g + 0.1 * p, grads, model)", mark="  #!"),
            "gradients of a part, and the whole",
        ),
        Example(
            _PARTED.format(call="jax.tree.map(lambda p, g: p - 0.1 * g, model, grads)", mark="  #!"),
            "the whole, and gradients of a part",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every place where trees meet."""
        flow = facts.flow
        for op in program.named("tree.map"):
            yield from _mapped(op, flow)
        for op in program.calling(*OPTIMIZER_STEPS, *APPLIES):
            yield from _optimised(op, flow)
        for op in program.calling(*_BEGINS):
            yield from (_chosen(op, by, chosen) for by, chosen in choices(op, flow))
        for op in program.calling("jax.tree.unflatten"):
            yield from in_order(op, flow) or _rebuilt(op, flow)
        for op in program.named("tree.paired"):
            yield from in_order(op, flow)
        yield from vectors_in_order(facts)
        for op in program.calling(*BLENDS):
            if len(trees := _trees(op)) > 1:
                yield from _paired(op, trees[0], trees[1], flow)


def _trees(op: Op | None) -> tuple[Tree, ...]:
    return () if op is None or op.border is None else op.border.trees


def _mapped(op: Op, flow: Flow) -> Iterator[Obligation]:
    trees = _trees(op)
    if len(trees) == 1 and joins_single(op):
        yield _differ(op, "the function joins one leaf of each tree, but gets one tree: a star is missing")
    for at, other in enumerate(trees[1:], 1):
        yield from _paired(op, trees[0], other, flow, at)


def _paired(op: Op, first: Tree, other: Tree, flow: Flow, position: int = 1) -> Iterator[Obligation]:
    found = "" if op.is_leaf else difference(first, other) or _absence(op, position, first, other, flow)
    met = (_met(op, first, other, flow, context, position) for context in contexts(flow, op))
    for one in [_differ(op, f"the trees differ: {found}")] if found else met:
        asked = one.verdict is Verdict.VIOLATED and _is_compared(flow, op, (first, other))
        yield _open(op, "a condition before it compares the structure of the trees") if asked else one


def _absence(op: Op, position: int, first: Tree, other: Tree, flow: Flow) -> str:
    found = (
        absence(op, position, first, other, lambda value, context=context: is_array(flow, value, context))
        for context in contexts(flow, op)
    )
    return next(filter(None, found), "")


def _met(op: Op, first: Tree, other: Tree, flow: Flow, context: Context, position: int) -> Obligation:
    if (reason := why_alike(flow, first, other, context)) and (not op.is_leaf or first.kind == "value"):
        return proved(op.span, reason)
    if op.is_leaf:
        return _open(op, "`is_leaf` changes what counts as a leaf")
    if array := _array_for_container(flow, first, other, context):
        if any(_is_asked(flow, op, value) for value in array.sides[1].values()):
            return _open(op, "a condition around it asks what the other tree is")
        place = f" at `{array.path}`" if array.path else ""
        return _differ(op, f"the first tree is {describe(array.sides[0])}{place} and another is one array")
    for one, against in ((first, other), (other, first)):
        if _is_no_list(flow, against, context) and one.value is not None and _is_list(flow, one.value, context):
            return _differ(op, f"one tree is a list and another is {describe(against)}")
    if first.value is not None and left_out(flow, first.value, other, context):
        return _differ(op, "the first tree has None where leaves of the other were left out of it")
    if other.value is not None and left_out(flow, other.value, first, context) and computes(op, position):
        return _differ(op, "the function gets None for the leaves that were left out of another tree")
    if first.value is None or other.value is None:
        return _open(op, "the structures of the trees are not known")
    for whole, part in ((first.value, other.value), (other.value, first.value)):
        keys = part_of(flow, part, whole, context)
        if keys:
            made = origin(flow, part, context).op
            steps = () if made is None else (Step(made.span, f"this tree is the entry {keys} of the other"),)
            return _differ(op, f"one tree is the entry `{keys}` of the other, so they differ in structure", steps)
    if all(skeleton(flow, tree, context).op is None for tree in (first.value, other.value)):
        return _open(op, "both trees are arguments that no call in sight gives: their structure is up to the caller")
    return _open(op, "the structures of the trees are not known")


def _array_for_container(flow: Flow, first: Tree, other: Tree, context: Context) -> Misfit | None:
    """Return where the first tree has a container and the other one array: a leaf of the first may be a whole tree."""

    def is_leaf(tree: Tree) -> bool:
        return tree.value is not None and is_array(flow, tree.value, context)

    found = array_for_container(first, other, is_leaf)
    return found if found is not None and found.sides[0].kind in CONTAINERS else None


def _is_list(flow: Flow, value: Value, context: Context) -> bool:
    """Whether a value is a list that the code made or a tree was taken apart into, at least in the first turn."""
    found = origin(flow, value, context)
    made = found.op
    if made is None or taken_apart(flow, found.value) is not None:
        return made is not None
    written = made.name == "py.container" and made.kind in ("sequence", "list")
    return written or (made.name == "py.loop" and made.kind == "comprehension" and len(made.results) == 1)


def _is_no_list(flow: Flow, tree: Tree, context: Context) -> bool:
    """Whether a tree surely is something else than a list: a dict, an object, the parameters of a module."""
    made = None if tree.value is None else skeleton(flow, tree.value, context)
    of_module = made is not None and made.op is not None and plays(made.op.qualified, "module.init")
    return of_module or tree.kind == "dict" or (tree.kind == "object" and tree.registered == "yes")


def _branches(flow: Flow, op: Op) -> Iterator[Op]:
    """Return every `if` around an op, and those that may leave before it."""
    for region, holder in flow.places.up(flow.places.region_of[op]):
        leaving = (one for one in region.ops if any(arm.exit is not Exit.FALL for arm in one.regions))
        yield from (one for one in (*leaving, holder) if one is not None and one.name == "py.branch")


def _is_asked(flow: Flow, op: Op, value: Value) -> bool:
    """Whether a condition before an op is decided by what is computed of a value."""
    asked = (flow.giver(one, branch) for branch in _branches(flow, op) for one in branch.operands)
    return any(maker is not None and value in maker.operands for maker in asked)


def _is_compared(flow: Flow, op: Op, trees: tuple[Tree, Tree]) -> bool:
    """Whether a condition before an op is computed of the structure of one of the trees that meet there."""
    asked = [one for branch in _branches(flow, op) for one in branch.operands]
    found = sources(flow, asked, lambda one: not one.regions) if asked else ()
    makers = (structure_read(flow, value, plainly=False) for value in found)
    return any(tree in trees for made in makers for tree in _trees(made))


def _open(op: Op, reason: str) -> Obligation:
    return Obligation(op.span, Verdict.UNKNOWN, reason, raises=Raises.TRACING)


def _chosen(op: Op, by: Op, chosen: Mapping[str, object]) -> Obligation:
    """Judge a tree that chooses among the parameters which an optimizer is begun for."""
    tree = op.border.trees[0] if op.border is not None and op.border.trees else None
    if tree is None or tree.kind != "dict":
        return _open(op, "the structure of the parameters is not known")
    if found := misplaced(chosen, tree):
        steps = (Step(by.span, "it is put together with a tree that chooses among the parameters here"),)
        return _differ(op, f"what chooses among the parameters has another structure: {found}", steps)
    return proved(op.span, "the parameters begin with the tree that chooses among them")


def _optimised(op: Op, flow: Flow) -> Iterator[Obligation]:
    trees = _trees(op)
    if is_optimizer_step(op):
        # The state between the gradients and the parameters has a structure of its own; parameters may be None.
        trees = (*trees[:1], *(tree for tree in trees[2:3] if tree.kind != "none"))
    if len(trees) > 1 and (found := difference(trees[0], trees[1])):
        yield _differ(op, f"the trees differ: {found}")
        return
    for context in contexts(flow, op):
        start = started_with(flow, op, context)
        if start is not None and trees and (found := difference(trees[0], start[1]) or difference(start[1], trees[0])):
            steps = (Step(start[0].span, "the state of the optimizer is made for this tree"),)
            yield _differ(op, f"the state was made for another tree than that of the gradients: {found}", steps)
            return
        if start is not None and (part := _held(flow, op, start[1], context)) is not None:
            steps = (Step(start[0].span, "the state of the optimizer is made for this tree"),)
            what = f"{describe(start[1])} that holds {named(part, 'the parameters')}"
            yield _differ(op, f"the state was made for {what}, and is used for those alone", steps)
            return
        pair = optimised_trees(flow, op, context)
        if pair is None:
            continue
        keys = part_of(flow, pair[0], pair[1], context) or part_of(flow, pair[1], pair[0], context)
        if keys:
            begun = () if start is None else (Step(start[0].span, "the state of the optimizer is made for this tree"),)
            yield _differ(op, f"one tree here is the entry `{keys}` of the tree that the other belongs to", begun)
        elif other := other_module(flow, *pair, context):
            yield _differ(op, other)
        elif one_structure(flow, skeleton(flow, pair[0], context), skeleton(flow, pair[1], context)):
            yield proved(op.span, "both trees belong to the same parameters")


def _held(flow: Flow, op: Op, tree: Tree, context: Context) -> Value | None:
    """Return the parameters of an optimizer's step, where its state was made for something that holds them."""
    known = (differentiated(flow, op.value("updates"), context), op.value("params"))
    inside = [one.value for one in nodes(tree) if one.value is not None] if tree.kind in CONTAINERS else []
    for params in known if inside else ():
        whole = None if params is None else skeleton(flow, params, context)
        if whole is not None and any(one_structure(flow, whole, skeleton(flow, one, context)) for one in inside):
            return params
    return None


def _rebuilt(op: Op, flow: Flow) -> Iterator[Obligation]:
    leaves, treedef = op.arguments.get("leaves"), op.arguments.get("treedef")
    made = structure_read(flow, treedef) if isinstance(treedef, Value) else None
    mixed = mixed_leaves(flow, leaves) if isinstance(leaves, Value) else None
    lists = gathered(flow, leaves) if isinstance(leaves, tuple) else []
    if made is not None and any(one_tree(flow, made, one, {}) for one in lists):
        mixed = lists[0].span
    if mixed is not None:
        steps = (Step(mixed, "each item here is the list of all leaves of one tree"),)
        yield _differ(op, "each new leaf is made of all leaves of one tree, not of one leaf of all trees", steps)
    elif isinstance(leaves, Value) and (moved := reordered(flow, leaves)) is not None:
        steps = (Step(moved.span, "this puts the leaves into another order"),)
        yield _differ(op, "the leaves have another order than when they were flattened", steps)
    elif made is not None and isinstance(leaves, Value) and (lists := listed_from(flow, leaves)):
        yield from (_put_back(op, flow, made, lists, context) for context in contexts(flow, op))
    else:
        yield unknown(op.span, "the order of the leaves is not known")


def _put_back(op: Op, flow: Flow, made: Op, lists: list[Op], context: Context) -> Obligation:
    """Compare the tree that a structure was read off with the trees that the leaves were taken from."""
    if any(one_tree(flow, made, one, context) for one in lists):
        return proved(op.span, "the leaves are in the order in which they were flattened")
    trees = [tree for one in (made, *lists) for tree in _trees(one)[:1]]
    found = [difference(trees[0], tree) for tree in trees[1:]] if len(trees) == len(lists) + 1 else []
    if found and all(found):
        steps = (
            Step(made.span, "the structure is of this tree"),
            Step(lists[0].span, "and the leaves are of this one"),
        )
        return _differ(op, f"structure and leaves are of different trees: {found[0]}", steps)
    return unknown(op.span, "whether structure and leaves are of one tree is not known")


def _differ(op: Op, message: str, steps: tuple[Step, ...] = ()) -> Obligation:
    rebuilds = op.qualified == "jax.tree.unflatten"
    return Obligation(
        op.span,
        message=message,
        current="the leaves land in the wrong places" if rebuilds else "mapping over them together raises",
        raises=Raises.NOTHING if rebuilds else Raises.TRACING,
        expected="leaves in the order of the structure" if rebuilds else "all trees have the structure of the first",
        steps=steps,
        suggestion="group the leaves across trees with `zip(*leaves)`, or use `jax.tree.map(lambda *xs: ..., *trees)`"
        if rebuilds
        else "take the same part of both trees",
    )
