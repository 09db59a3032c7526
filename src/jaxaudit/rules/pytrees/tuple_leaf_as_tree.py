"""The rule `tuple-leaf-as-tree`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.queries import entered, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.builder import values_in
from jaxaudit.ir.ops import REMARKS
from jaxaudit.ir.record import replace
from jaxaudit.ir.trees import CONTAINERS, Tree
from jaxaudit.rules.base import Example, Obligation, Raises, Rule, Severity, Step, Verdict, proved, unknown


class TupleLeafAsTree(Rule):
    """A tuple that is meant as one leaf is taken apart.

    ## What it does
    Finds `jax.tree.map` over a tree whose entries are tuples of numbers, with a function that uses its argument as
    the shape of an array, and no `is_leaf`. The same for a tree of pairs `(mean, scale)` and a function that takes
    `pair[0]` and `pair[1]`, and for named tuples whose fields it reads.

    ## Why is this bad?
    A tuple is a tree. The function is called with 3 and then with 4, not with `(3, 4)`: it makes two vectors where
    one matrix was meant, and raises nothing.

    ## Example
        shapes = {"w": (3, 4), "b": (4,)}
        params = jax.tree.map(jnp.zeros, shapes)

    ## Use instead
        params = jax.tree.map(jnp.zeros, shapes, is_leaf=lambda x: isinstance(x, tuple))

    ## When it cannot tell
    When the tree comes from outside. A plain tuple of sizes is taken at its word. Where all arrays of the pairs may
    have as many rows as there are in a pair, it is a warning.
    """

    summary = "A shape or a pair in a tree is taken apart because a tuple is no leaf."
    needs = (Shapes,)

    valid = (
        Example(
            "def f():\n    shapes = {'w': (3, 4), 'b': (4,)}\n"
            "    return jax.tree.map(jnp.zeros, shapes, is_leaf=lambda x: isinstance(x, tuple))\n",
            "told so",
        ),
        Example("def f():\n    return jax.tree.map(jnp.zeros, (3, 4))\n", "sizes"),
        Example(
            "def f(w, b):\n    pairs = {'w': (w, jnp.ones(3)), 'b': (b, jnp.ones(4))}\n"
            "    return jax.tree.map(lambda p: p[0] + p[1], pairs, is_leaf=lambda x: isinstance(x, tuple))\n",
            "pairs that are leaves",
        ),
        Example(
            "def f(params):\n    both = jax.tree.map(lambda p: (p.mean(0), p.std(0)), params)\n"
            "    return jax.tree.map(lambda p, one: p - one[0] * one[1], params, both)\n",
            "pairs beside the leaves of the first tree",
        ),
        Example(
            "def f():\n    pairs = {'a': (jnp.ones((2, 3)), jnp.ones((2, 5)))}\n"
            "    return jax.tree.map(lambda p: p[0] - p[1], pairs)\n",
            "two rows of each",
        ),
    )
    invalid = (
        Example(
            "def take(pair):\n    return pair[0]\n\ndef f(params):\n"
            "    both = jax.tree.map(lambda p: (p.mean(0), p.std(0)), params)\n"
            "    means = jax.tree.map(take, both)  #!\n    return means, jax.tree.map(lambda one: one[1], both)  #!\n",
            "pairs that a mapping made",
        ),
        Example(
            "def f(params, grads):\n"
            "    both = jax.tree.map(lambda p, g: {'new': p - g, 'step': g}, params, grads)\n"
            "    return jax.tree.map(lambda one: one['new'], both)  #!\n",
            "dicts that a mapping made",
        ),
        Example(
            "LIMITS = {'a': (0.0, 1.0), 'b': {'c': (0.5, 2.0)}}\n\ndef width(limits):\n"
            "    low, high = limits\n    return high - low\n\ndef f():\n    return jax.tree.map(width, LIMITS)  #!\n",
            "numbers that cannot be unpacked",
        ),
        Example(
            "def f():\n    pairs = {'w': (jnp.ones((3, 4)), jnp.ones((3, 4))), 'b': (jnp.ones(4), jnp.ones(4))}\n"
            "    return jax.tree.map(lambda p: p[0] + jnp.exp(p[1]), pairs)  #!\n",
            "pairs",
        ),
        Example(
            "from typing import NamedTuple\n\nclass Stats(NamedTuple):\n    centre: jax.Array\n    width: jax.Array\n\n"
            "def f(x):\n    stats = {'a': Stats(jnp.zeros(3), jnp.ones(3))}\n"
            "    return jax.tree.map(lambda s: (x - s.centre) / s.width, stats)  #!\n",
            "fields",
        ),
        Example(
            "def f():\n    shapes = {'w': (3, 4), 'b': (4,)}\n    return jax.tree.map(jnp.zeros, shapes)  #!\n",
            "shapes",
        ),
        Example(
            "def f(key):\n    shapes = {'w': (3, 4)}\n"
            "    return jax.tree.map(lambda s: jax.random.normal(key, s), shapes)  #!\n",
            "drawn",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every mapped function that takes its leaf for a shape."""
        for op in program.named("tree.map"):
            yield from _judge(op)
            yield from _judge_parts(op, facts)


def _judge(op: Op) -> Iterator[Obligation]:
    border, region = op.border, op.regions[0]
    if border is None or len(border.trees) != 1 or op.paths:
        return
    use = next((inner for inner in region.ops if _is_shape(inner, region.params[0])), None)
    if use is None:
        return
    tree = border.trees[0]
    if op.is_leaf:
        yield proved(op.span, "`is_leaf` decides what counts as a leaf")
    elif tree.kind in CONTAINERS and any(child.holds_shape for child in tree.children):
        yield _taken_apart(op, use)
    elif tree.kind in CONTAINERS:
        yield proved(op.span, "no entry of the tree is a tuple of numbers")
    else:
        yield unknown(op.span, "what the tree holds is not known")


def _judge_parts(op: Op, facts: Facts) -> Iterator[Obligation]:
    """Judge a function that takes its leaf apart, as if it were given a tuple."""
    flow, held = facts.flow, _containers(op, facts.flow)
    uses = _uses(op, flow)
    if held is None or not held or not uses:
        return
    parts = [part for use, leaf in uses for part in _taken(use, leaf)]
    numbers = [one for one in held if one.kind in _POSITIONS and any(child.kind == "number" for child in one.children)]
    if any(not isinstance(part, str) or part in one.keys for part in parts for one in numbers):
        yield replace(_parts(op, uses[0][0], "each number alone, and cannot take it apart"), raises=Raises.TRACING)
        return
    whole = op.border.trees[0].value if op.border is not None else None
    others = (one for one in (flow.readers.get(whole, ()) if whole is not None else ()) if one.name == "tree.map")
    beside = [part for one in others if not one.is_leaf for use, leaf in _uses(one, flow) for part in _taken(use, leaf)]
    taken = {part for part in (*parts, *beside) if isinstance(part, int)}
    apart = bool(parts) and all(isinstance(part, int) for part in parts) and len(parts) >= len(uses)
    if apart and len(taken) > 1 and all(taken == set(range(len(one.children))) for one in held):
        yield from _by_position(op, uses[0][0], held, len(taken), facts, sure=whole is not None)
    named = {part for part in parts if isinstance(part, str)}
    if named and all(named <= set(one.keys) for one in held):
        yield replace(
            _parts(op, uses[0][0], "each part alone, which has no parts of these names"), raises=Raises.TRACING
        )


def _by_position(
    op: Op, use: Op, held: Sequence[Tree], count: int, facts: Facts, *, sure: bool
) -> Iterator[Obligation]:
    """Judge a function that takes all positions of what it is given, where that are the arrays in tuples."""
    sizes = [facts.get(Shapes).of(value).dims for one in held for value in one.values()]
    rows = [dims[0].constant if dims else None for dims in sizes]
    found = _parts(op, use, "each array alone, and takes rows of it")
    if any(size not in (None, count) for size in rows) or () in sizes or (sure and None in rows):
        yield found
    elif None in rows:
        reason = "whether the arrays of the pairs have that many rows is not known"
        yield replace(found, severity=Severity.WARNING, verdict=Verdict.UNKNOWN, reason=reason)


_POSITIONS = ("tuple", "list", "namedtuple")


def _containers(op: Op, flow: Flow) -> list[Tree]:
    """Return the containers below the top of a mapped tree that hold its leaves: those that a mapping put there too."""
    tree = None if op.border is None or op.is_leaf or not op.border.trees else op.border.trees[0]
    if tree is None:
        return []
    if tree.kind in CONTAINERS:
        # A tuple at the top is what is mapped over; those further in may be meant as one.
        held = list(_innermost(tree))
        return [] if held == [tree] else held
    made = None if tree.value is None else origin(flow, tree.value, {}).op
    given = made.returned if made is not None and made.name == "tree.map" else None
    return [] if given is None or given.kind not in CONTAINERS else list(_innermost(given))


def _uses(op: Op, flow: Flow) -> list[tuple[Op, Value]]:
    """Return what reads the leaf that a mapped function gets, in the function and those that it hands it to."""
    region = op.regions[0] if op.regions else None
    at = op.paths if isinstance(op.paths, int) else 0
    if region is None or at >= len(region.params):
        return []
    names = walk((region.params[at],), lambda one: [inner for use in _calls(flow, one) for inner in entered(use, one)])
    found = [(use, name) for name in names for use in flow.readers.get(name, ())]
    return [(use, name) for use, name in found if use.name not in REMARKS and use.name != "py.call"]


def _calls(flow: Flow, value: Value) -> list[Op]:
    return [use for use in flow.readers.get(value, ()) if use.name == "py.call"]


def _taken(use: Op, leaf: Value) -> tuple[object, ...]:
    """Return the positions or names at which a use takes a leaf apart, None for all; nothing where it does not."""
    index = use.arguments.get("index")
    match use.name:
        case "py.item" if use.arguments.get("base") is leaf and isinstance(index, int | str):
            return (index,)
        case "py.attr" if use.label:
            return (use.label,)
        case "py.unpack" if use.star is None and use.target_count:
            return tuple(range(use.target_count))
        case "py.element" if use.arguments.get("iterable") is leaf:
            return (None,)
    spread = leaf in values_in(use.arguments.get("*"))
    return (None,) if spread or (use.name == "array.shape" and use.function == "len") else ()


def _innermost(tree: Tree) -> Iterator[Tree]:
    """Return the containers that hold leaves."""
    inner = [child for child in tree.children if child.kind in CONTAINERS]
    if len(inner) < len(tree.children):
        yield tree
    yield from (one for child in inner for one in _innermost(child))


def _parts(op: Op, use: Op, given: str) -> Obligation:
    return Obligation(
        op.span,
        message="`tree.map` takes the tuples in this tree apart: a tuple is no leaf",
        current=f"the function is called with {given}",
        expected="the function is called once for each tuple",
        steps=(Step(use.span, "the leaf is taken apart here"),),
        suggestion="add `is_leaf=lambda x: isinstance(x, tuple)`",
    )


def _is_shape(op: Op, leaf: Value) -> bool:
    return op.name in ("array.create", "key.draw", "array.expand") and op.arguments.get("shape") is leaf


def _taken_apart(op: Op, use: Op) -> Obligation:
    return Obligation(
        op.span,
        message="`tree.map` takes the shapes in this tree apart: a tuple is no leaf",
        current="the function is called once for each number of a shape, and makes a vector of each",
        expected="the function is called once for each shape",
        steps=(Step(use.span, "the leaf is used as a shape here"),),
        suggestion="add `is_leaf=lambda x: isinstance(x, tuple)`",
    )
