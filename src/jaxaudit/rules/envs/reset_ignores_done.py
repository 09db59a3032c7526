"""The rule `reset-ignores-done`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jaxaudit.analyses.dims import Dim, same
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.origins import contexts
from jaxaudit.analyses.lineage.products import Sums
from jaxaudit.analyses.queries import made_of, operands_of, through_ops, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import QUANTIFIERS
from jaxaudit.ir.interfaces import given_as
from jaxaudit.ir.ops import MOVING
from jaxaudit.ir.record import record
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, named, proved

_PROGRAM = """
def step(key, length):
    pos = 1.0 + jax.random.normal(key, (8,))
    done = jnp.abs(pos) > 2.0
    fresh = jnp.zeros((8,))
    {reset}
    return pos, jnp.where(done, 0.0, length + 1.0)
"""


class ResetIgnoresDone(Rule):
    """Whether any element of a batch is done decides for all of them.

    ## What it does
    Finds choices between a fresh state and the present one (`lax.cond`, `jnp.where`) whose condition is `any` or `all`
    of a mask with one entry for each element of the batch, where the state has that axis too.

    ## Why is this bad?
    The first environment that ends its episode resets all others in the middle of theirs (`any`), or goes on after its
    end until the last one is there (`all`). Shapes fit, nothing is raised; episodes are just shorter or longer than
    they should be.

    ## Example
        state = jax.lax.cond(jnp.any(done), lambda: fresh, lambda: state)

    ## Use instead
        state = jax.tree.map(lambda new, old: jnp.where(done, new, old), fresh, state)  # done shaped like the leaf

    ## When it cannot tell
    When nothing else in the program takes the mask element by element, it is a warning: all elements may be meant.
    """

    summary = "One finished element of a batch resets all of them."
    needs = (Shapes,)

    valid = (
        Example(_PROGRAM.format(reset="pos = jnp.where(done, fresh, pos)"), "each element by itself"),
        Example(
            _PROGRAM.format(
                reset="pos = jax.lax.cond(jnp.any(done), lambda: jnp.where(done, fresh, pos), lambda: pos)"
            ),
            "only skips work that nobody needs",
        ),
        Example(
            """
def update(params, grads):
    bad = jnp.isnan(grads)
    return jax.lax.cond(jnp.any(bad), lambda: params, lambda: params - 0.1 * grads)
""",
            "one bad entry spoils a whole step",
        ),
    )
    invalid = (
        Example(
            _PROGRAM.format(reset="pos = jax.lax.cond(jnp.any(done), lambda: fresh, lambda: pos)  #!"), "by `cond`"
        ),
        Example(_PROGRAM.format(reset="pos = jnp.where(done.any(), fresh, pos)  #!"), "by `where`"),
        Example(
            """
def step(key):
    pos = 1.0 + jax.random.normal(key, (8,))
    done = jnp.abs(pos) > 2.0
    return jnp.where(jnp.any(done), jnp.zeros((8,)), pos)  #?
""",
            "nothing else says what the mask is for: a warning",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every choice between whole batches that a mask of the batch makes."""
        shapes, flow = facts.get(Shapes), facts.flow
        for op in program.named("cond", "array.select"):
            for context in contexts(flow, op):
                choice = _choice(op, Sums(flow, context), shapes)
                if choice is not None:
                    yield _judged(choice, program)


@record
class _Choice:
    """A whole batch that is kept or replaced by what one number says about a mask."""

    op: Op
    reduced: Op
    mask: Value
    fresh: tuple[Value, ...]
    kept: tuple[Value, ...]
    sums: Sums


def _choice(op: Op, sums: Sums, shapes: Shapes) -> _Choice | None:
    condition = op.operands[0] if op.name == "cond" and op.operands else op.value("condition", "pred")
    reduced = None if condition is None else sums.maker(condition)
    if reduced is None or reduced.name != "array.reduce" or reduced.function not in QUANTIFIERS:
        return None
    if not reduced.operands or reduced.arguments.get("axis") is not None:
        return None
    mask, arms = reduced.operands[0], [_leaves(arm, sums.flow) for arm in _arms(op)]
    size = shapes.of(mask).dims
    if len(arms) != 2 or not size or not any(_spans(one, size[0], shapes) for one in arms[0]):
        return None
    fresh, kept = (tuple(map(sums.source, arm)) for arm in arms)
    # The mask judges what is kept: a state that may have come to its end.
    judged = _sources(sums, [mask])
    kept = tuple(one for one in kept if one in judged)
    return _Choice(op, reduced, sums.source(mask), fresh, kept, sums) if kept else None


def _arms(op: Op) -> list[tuple[Value, ...]]:
    if op.name == "cond":
        # The regions are those of true and false, in this order.
        return [tuple(region.results) for region in op.regions]
    given = (op.value("x", "on_true"), op.value("y", "on_false"))
    return [(one,) for one in given if one is not None]


def _leaves(arm: tuple[Value, ...], flow: Flow) -> tuple[Value, ...]:
    """Return what the parameters of a function that is mapped over trees stand for: their leaves."""
    through = through_ops("py.container")
    trees = {one for value in arm if (one := _tree(value, flow)) is not None}
    found = set(walk(trees, lambda one: operands_of(flow, one, through)))
    ends = (one for one in found if (made := flow.maker(one)) is None or made.name != "py.container")
    return (*arm, *sorted(ends, key=lambda one: one.id))


def _tree(param: Value, flow: Flow) -> Value | None:
    entry = flow.entered(param)
    return None if entry is None or entry.op.name != "tree.map" else next(given_as(*entry, param), None)


def _spans(value: Value, size: Dim, shapes: Shapes) -> bool:
    dims = shapes.of(value).dims
    return bool(dims) and same(dims[0], size)


def _sources(sums: Sums, values: Iterable[Value]) -> set[Value]:
    """Return what some values were computed from; sizes do not count."""

    def before(value: Value) -> Iterator[Value]:
        op = sums.flow.maker(value)
        counts = op is not None and op.name not in ("array.shape", "array.create")
        return map(sums.source, op.operands if op is not None and counts else ())

    return set(walk(map(sums.source, values), before))


def _judged(one: _Choice, program: Program) -> Obligation:
    span = one.op.span
    fresh = _sources(one.sums, one.fresh)
    if one.mask in fresh:
        return proved(span, "what replaces the batch is chosen element by element")
    if not fresh.isdisjoint(one.kept):
        return proved(span, "what replaces the batch is computed from it as a whole")
    known = _chosen_by_element(one, program)
    name = named(one.mask, "the mask")
    which = "one element that is done" if one.reduced.function == "any" else "only the last element that is done"
    return Obligation(
        span,
        severity=Severity.ERROR if known is not None else Severity.WARNING,
        message=f"`{one.reduced.function}` of {name} decides for the whole batch",
        current=f"{which} replaces the state of all elements",
        expected="each element is replaced by what its own entry of the mask says",
        steps=(
            Step(one.reduced.span, "the mask of the batch becomes one truth value"),
            *((Step(known.span, "elsewhere each element has its own entry"),) if known is not None else ()),
        ),
        suggestion="choose element by element: `jnp.where(mask, new, old)` for each leaf of the state",
    )


def _chosen_by_element(one: _Choice, program: Program) -> Op | None:
    """Return a choice by the same mask, or by one that it is made of, that takes every element by itself."""
    earlier, flow = _sources(one.sums, [one.mask]), one.sums.flow
    for op in program.named("array.select"):
        condition = op.value("condition", "pred")
        if condition is not None and made_of(flow, one.sums.source(condition), through_ops(*MOVING)) in earlier:
            return op
    return None
