"""Trees that have to be alike: what a loop is started with and what its body hands on, and what branches give."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.axes.additional import widened
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.kinds import is_array
from jaxaudit.analyses.lineage.origins import origin
from jaxaudit.analyses.lineage.types import keeps_type
from jaxaudit.analyses.queries import depends, last
from jaxaudit.analyses.shapes import Context, Shapes
from jaxaudit.analyses.shapes.broadcast import Match, compare
from jaxaudit.analyses.shapes.facts import ShapeFact
from jaxaudit.analyses.shapes.result import Fit
from jaxaudit.ir import Op, Value
from jaxaudit.ir.basis import Basis
from jaxaudit.ir.interfaces import Loop
from jaxaudit.ir.ops import CARRYING, ELEMENTWISE
from jaxaudit.ir.record import record, replace
from jaxaudit.ir.trees import CONTAINERS, Tree
from jaxaudit.rules.base import Obligation, Step, named
from jaxaudit.rules.trees import Misfit, array_for_container, describe, difference
from jaxaudit.spans import Span


def other_structure(op: Op, flow: Flow) -> Obligation | None:
    """Return the difference between the tree that a loop starts with and the one that its body hands on."""
    if op.name == "scan" and (made := _no_pair(op, flow)) is not None:
        return Obligation(
            op.span,
            message="the body of this `scan` gives one array, and no pair of carry and output",
            current="JAX refuses this loop: it raises `TypeError`",
            expected="the body gives the next carry, and what is stacked",
            steps=(Step(made, "the body gives this"),),
            suggestion="return a pair, with `None` where nothing is stacked",
            cause=op.results,
        )
    if op.border is None or op.handed is None or not op.border.trees:
        return None
    start, end = op.border.trees[0], op.handed.trees[0]
    found = difference(start, end) or _array_in_or_out(op, start, end, flow)
    return (
        None
        if not found
        else Obligation(
            op.span,
            message=f"the carry changes its structure: {found}",
            current=f"`{op.name}` is started with one structure, and the body hands on another: this raises",
            expected="the body hands on what it was given, part by part",
            steps=(
                Step(op.regions[-1].span, "this body hands on another structure"),
                *found.steps("the loop starts with this", "the body hands this on"),
                *_odd_parts(start, end, flow),
            ),
            suggestion="return the carry first, with all its parts in their order",
            cause=op.results,
            basis=Basis.SAID if _is_only_said(start, flow) or _is_only_said(end, flow) else Basis.COMPUTED,
        )
    )


def _no_pair(op: Op, flow: Flow) -> Span | None:
    """Return where the body of a scan gives an array that is taken for a pair of carry and output."""
    body = op.regions[-1]
    halves = [one for one in body.ops if one.name == "py.unpack" and one.results == body.results]
    whole = halves[-1].operands[0] if halves else None
    made = None if whole is None else flow.maker(whole)
    computed = made is not None and made.name == "array.map" and made.is_operator
    if whole is None or not (computed or _is_array(whole, flow)):
        return None
    given = [one.span for one in body.ops if one.name == "py.return" and whole in one.operands]
    return given[-1] if given else halves[-1].span


def _is_only_said(tree: Tree, flow: Flow) -> bool:
    """Whether an annotation alone tells the parts of something in a tree: it comes from what was not followed."""
    makers = (flow.maker(value) for value in tree.leaves().values())
    bases = (op.operands[0] for op in makers if op is not None and op.name == "py.attr" and op.operands)
    made = (flow.maker(base) for base in bases)
    return any(op is not None and op.name == "py.call_unknown" for op in made)


def _odd_parts(start: Tree, end: Tree, flow: Flow) -> Iterator[Step]:
    """Return where the first part is made that only one of the two trees has."""
    before, after = start.leaves(), end.leaves()
    sides = ((before, after, "the loop starts with this"), (after, before, "the body hands this on"))
    for own, other, words in sides:
        made = (origin(flow, value, {}).op for path, value in own.items() if path not in other)
        if (op := next((op for op in made if op is not None), None)) is not None:
            yield Step(op.span, f"{words}, and nothing in its place on the other side")


def _array_in_or_out(op: Op, start: Tree, end: Tree, flow: Flow) -> Misfit | None:
    """Return where the carry is a container on one side of the body and one array or object on the other."""
    arrays = {param for param, given, _ in Loop(op).carried if _is_array(given, flow)}

    def is_leaf(tree: Tree) -> bool:
        if tree.kind == "number" or tree.value is None or tree.name:
            # An object of a library's class is no tuple, whatever it holds.
            return tree.kind == "number" or (tree.kind == "value" and bool(tree.name))
        made = flow.maker(tree.value)
        computed = made is not None and made.name == "array.map" and not arrays.isdisjoint(made.operands)
        return computed or _is_array(tree.value, flow)

    found = array_for_container(start, end, is_leaf)
    if found is None:
        return None
    where, (first, second) = f"`{found.path}`" if found.path else "the carry", found.sides
    return replace(found, text=f"{where} is {_words(first)} in and {_words(second)} out")


def _is_array(value: Value, flow: Flow) -> bool:
    made = flow.maker(value)
    return (made is not None and made.name == "py.const") or is_array(flow, value, {})


def _words(tree: Tree) -> str:
    if tree.kind in (*CONTAINERS, "none"):
        return describe(tree)
    return f"a `{tree.name.rpartition('.')[2]}`" if tree.name else "one array"


def other_branch(op: Op, shapes: Shapes) -> Obligation | None:
    """Return the difference between the trees that two branches give back."""
    trees = op.handed.trees if op.handed is not None else ()
    for tree in trees[1:]:
        found = difference(trees[0], tree) or difference(tree, trees[0]) or _array_in_a_branch(trees[0], tree, shapes)
        if found:
            return Obligation(
                op.span,
                message=f"the branches give different structures: {found}",
                current="JAX raises an exception: all branches must give the same structure",
                expected="every branch gives the same containers, part by part",
                steps=tuple(found.steps("one branch gives this", "and another this")),
                suggestion="return the same structure from every branch",
                cause=op.results,
            )
    return None


def _array_in_a_branch(first: Tree, second: Tree, shapes: Shapes) -> Misfit | None:
    """Report that one branch gives a container, or None, where the other gives an array."""

    def is_leaf(tree: Tree) -> bool:
        return tree.kind == "number" or (tree.value is not None and shapes.of(tree.value).dims is not None)

    found = array_for_container(first, second, is_leaf)
    if found is None:
        return None
    whole = found.sides[is_leaf(found.sides[0])]
    return replace(found, text=f"{describe(whole)} in one and one array in another")


@record
class CarriedLeaf:
    """One leaf of a loop's carry in one context."""

    op: Op
    start: Value
    """The parameter of the body."""
    end: Value
    """What the body hands on."""
    match: Match
    is_renewed: bool
    """Whether what the body hands on is made from what it was given; asked only where the types differ."""
    made: tuple[Span, ...] = ()
    """Where the value is made that the loop starts with; asked only where the types differ."""
    changed: tuple[Span, ...] = ()
    """Where the body makes values of the other type; asked only where the types differ."""

    @property
    def name(self) -> str:
        """What people call it."""
        return named(self.start, named(self.end, "a part of the carry"))


def carried_leaves(facts: Facts) -> Iterator[tuple[Op, list[CarriedLeaf]]]:
    """Return every loop with the leaves it carries, in all contexts."""
    shapes = facts.get(Shapes)
    for op in facts.program.named(*sorted(CARRYING)):
        if op.regions:
            contexts = shapes.contexts(op) or (Context(op, {}),)
            yield op, [leaf for context in contexts for leaf in _leaves(Loop(op), context, facts)]


def _leaves(loop: Loop, context: Context, facts: Facts) -> Iterator[CarriedLeaf]:
    shapes, flow = facts.get(Shapes), facts.flow
    for (start, first, _), end in zip(loop.carried, loop.body.results, strict=False):
        match = compare(context.of(start), context.of(end), yielding=False)
        if match.fit is Fit.OPEN and keeps_type(flow, end, start):
            match = Match(Fit.FITS)
        if match.fit is not Fit.CLASHES:
            yield CarriedLeaf(loop.op, start, end, match, is_renewed=False)
            continue
        maker = origin(flow, first, {}).op
        made = () if maker is None or maker.span == start.span else (maker.span,)
        changed = _changes_of_type(end, context.of(start), shapes, flow)
        axis = _axis_made(end, context.of(start).rank, facts)
        changed = changed if axis is None or axis in changed else (*changed, axis)
        yield CarriedLeaf(loop.op, start, end, match, depends(flow, end, (start,)), made, changed)


def _changes_of_type(end: Value, kind: ShapeFact, shapes: Shapes, flow: Flow) -> tuple[Span, ...]:
    """Return where values of another type than a body was given meet those that have it still, the last first."""
    places: dict[Span, None] = {}

    def before(value: Value) -> Value | None:
        op = origin(flow, value, {}).op
        fits = {one: compare(kind, shapes.of(one), yielding=False).fit for one in _computed(op, flow)}
        others = [one for one, fit in fits.items() if fit is Fit.CLASHES]
        if op is not None and op.span != end.span and (Fit.FITS in fits.values() or not others):
            places[op.span] = None
        return others[0] if op is not None and others and op.name in ELEMENTWISE else None

    last(end, before)
    return tuple(places)


def _axis_made(end: Value, rank: int | None, facts: Facts) -> Span | None:
    """Return where the axis is made that a value has beside those that a body was given; None where it has none."""
    own = facts.get(Shapes).of(end).rank
    op = widened(facts, end, rank) if rank is not None and own is not None and own > rank else None
    return None if op is None or op.span == end.span else op.span


def _computed(op: Op | None, flow: Flow) -> Iterator[Value]:
    """Return what an op works on but for numbers, which go with everything."""
    for value in op.operands if op is not None else ():
        made = flow.maker(value)
        if made is None or made.name != "py.const":
            yield value


def type_change(leaf: CarriedLeaf, message: str, expected: str, suggestion: str) -> Obligation:
    """Return the finding that a leaf of a carry changes its type."""
    return Obligation(
        leaf.op.span,
        message=message,
        current=f"JAX refuses this loop: the carry must keep its type, and {leaf.name} does not",
        expected=expected,
        steps=(
            *(Step(span, f"what {leaf.name} starts as is made here") for span in leaf.made),
            Step(leaf.start.span, f"{leaf.name} goes in as {leaf.match.first}"),
            *(Step(span, f"what makes it {leaf.match.second} comes in here") for span in leaf.changed),
            Step(leaf.end.span, f"and is handed on as {leaf.match.second}"),
        ),
        suggestion=suggestion,
    )
