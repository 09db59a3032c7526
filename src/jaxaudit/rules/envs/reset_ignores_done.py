"""The rule `reset-ignores-done`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from jaxaudit.analyses.dims import Dim, same
from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.lineage.endings import readings, renewals
from jaxaudit.analyses.lineage.moments import same_step
from jaxaudit.analyses.lineage.origins import contexts
from jaxaudit.analyses.lineage.products import Sums
from jaxaudit.analyses.queries import behind, operands_of, through_ops, walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Exit, Op, Program, Value
from jaxaudit.ir.functions import ADDITIONS, AVERAGES, COMPARISONS, EXTREMES, QUANTIFIERS
from jaxaudit.ir.interfaces import complement, given_as
from jaxaudit.ir.ops import MOVING
from jaxaudit.ir.record import record
from jaxaudit.rules.base import Example, Obligation, Rule, Severity, Step, named, proved

_COLLAPSING = QUANTIFIERS | EXTREMES | ADDITIONS | AVERAGES

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
    Finds choices between a fresh state and the present one (`lax.cond`, `jnp.where`, `if`), and products that keep or
    clear a state, whose condition is one number for a whole mask (`any`, `all`, `max`, a sum, its first entry) that has
    an entry for each element of the batch, where the state has that axis too.

    ## Why is this bad?
    The first environment that ends its episode resets all others in the middle of theirs (`any`), or goes on after its
    end until the last one is there (`all`). Shapes fit, nothing is raised; episodes are just shorter or longer than
    they should be.

    ## Example
        state = jax.lax.cond(jnp.any(done), lambda: fresh, lambda: state)

    ## Use instead
        state = jax.tree.map(lambda new, old: jnp.where(done, new, old), fresh, state)  # done shaped like the leaf

    ## When it cannot tell
    When no state is reset element by element by the same mask, it is a warning: all elements may be meant.
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
        for op in (*program.named("cond", "array.select", "py.branch"), *program.mapping("multiply")):
            for condition, arms in _decisions(op):
                # Most conditions are no single number for many flags, wherever they are read.
                for context in contexts(flow, op) if _may_be_collapsed(condition, flow) else ():
                    sums = Sums.of(flow, context)
                    reduced, mask = _collapsed(condition, sums, shapes)
                    if reduced is not None and mask is not None:
                        yield from _judged(_Choice(op, reduced, mask, arms, sums), facts)


@record
class _Choice:
    """A whole batch that is kept or replaced by what one number says about a mask."""

    op: Op
    reduced: Op
    mask: Value
    arms: Sequence[tuple[Value, ...]]
    """What is given where the condition holds, and where it does not; one alone where a product clears it."""
    sums: Sums


def _decisions(op: Op) -> Iterator[tuple[Value, Sequence[tuple[Value, ...]]]]:
    """Return what decides in an op, and between what."""
    if op.name == "array.map":
        for at, value in enumerate(op.operands if len(op.operands) == 2 else ()):
            yield value, [(op.operands[1 - at],)]
    elif op.name == "array.select":
        condition = op.value("condition", "pred")
        given = (op.value("x", "on_true"), op.value("y", "on_false"))
        if condition is not None:
            yield condition, [() if one is None else (one,) for one in given]
    elif op.operands and len(op.regions) == 2 and all(region.exit is Exit.FALL for region in op.regions):
        for pair in zip(*(region.results for region in op.regions), strict=False):
            # The regions are those of true and false, in this order.
            yield op.operands[0], [(one,) for one in pair]


def _may_be_collapsed(value: Value, flow: Flow) -> bool:
    """Whether a value may be one number for many flags: it is no parameter of an array that somebody draws."""
    op = flow.maker(value)
    return op is None or op.name in ("array.map", "array.reduce", "array.convert", "py.item", "py.call", "array.expand")


def _collapsed(value: Value, sums: Sums, shapes: Shapes) -> tuple[Op | None, Value | None]:
    """Return what makes one number of a mask, and the mask, where a value says whether there is one."""
    while True:
        value = sums.source(value)
        op = sums.flow.maker(value)
        if op is None:
            return None, None
        compared = op.function in COMPARISONS and len(op.operands) == 1
        inner = op.operands[0] if compared else complement(op)
        if inner is not None:
            value = inner
            continue
        indexed = op.name == "py.item" and isinstance(op.arguments.get("index"), int)
        if not op.operands or not (indexed or (op.name == "array.reduce" and op.function in _COLLAPSING)):
            return None, None
        mask = sums.source(op.operands[0])
        seen = shapes.of(mask)
        whole = op.arguments.get("axis") is None or seen.rank == 1
        return (op, mask) if whole and seen.dims and seen.dtype == "bool" else (None, None)


def _leaves(arm: Iterable[Value], flow: Flow) -> tuple[Value, ...]:
    """Return what the parameters of a function that is mapped over trees stand for: their leaves."""
    through, arm = through_ops("py.container"), tuple(arm)
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


def _judged(one: _Choice, facts: Facts) -> Iterator[Obligation]:
    shapes, flow, span = facts.get(Shapes), facts.flow, one.op.span
    size = shapes.of(one.mask).dims
    arms = [[*map(one.sums.source, _leaves(arm, flow))] for arm in one.arms]
    if not size or not any(_spans(value, size[0], shapes) for arm in arms for value in arm):
        return
    known = _chosen_by_element(one, facts)
    made = [_sources(one.sums, arm) for arm in arms]
    judged = _sources(one.sums, [one.mask])
    kept = {value for arm in arms for value in arm if value in judged}
    goes_on = [at for at, arm in enumerate(arms) if kept.intersection(arm) or (known and _is_state(one.op, arm, facts))]
    if len(goes_on) == 1 and len(arms) == 2 and one.mask in made[1 - goes_on[0]]:
        yield proved(span, "what replaces the batch is chosen element by element")
    elif len(goes_on) > 1 or any(not kept.isdisjoint(found) for at, found in enumerate(made) if at not in goes_on):
        yield proved(span, "what replaces the batch is computed from it as a whole")
    elif goes_on and (known is not None or len(arms) == 2):
        yield _finding(one, known)


def _is_state(op: Op, arm: Sequence[Value], facts: Facts) -> bool:
    """Whether an op makes the next version of a state from the version that it is given."""
    made = set(same_step(facts.flow, arm))
    return any(old in made and not after.isdisjoint(op.results) for old, after in _steps(facts))


@remembered
def _steps(facts: Facts) -> Sequence[tuple[Value, set[Value]]]:
    """Return the parts of every state, each with what its next version is computed from in the step."""
    return [(one.old, set(same_step(facts.flow, (one.new,)))) for one in renewals(facts)]


def _finding(one: _Choice, known: Op | None) -> Obligation:
    name, function = named(one.mask, "the mask"), one.reduced.function
    what = f"`{function}` of {name}" if one.reduced.name == "array.reduce" else f"one entry of {name}"
    which = "only the last element that is done" if function in ("all", "min") else "one element that is done"
    return Obligation(
        one.op.span,
        severity=Severity.ERROR if known is not None else Severity.WARNING,
        message=f"{what} decides for the whole batch",
        current=f"{which} replaces the state of all elements",
        expected="each element is replaced by what its own entry of the mask says",
        steps=(
            Step(one.reduced.span, "the mask of the batch becomes one truth value"),
            *((Step(known.span, "elsewhere each element has its own entry"),) if known is not None else ()),
        ),
        suggestion="choose element by element: `jnp.where(mask, new, old)` for each leaf of the state",
    )


def _chosen_by_element(one: _Choice, facts: Facts) -> Op | None:
    """Return where the same flags let a state go on or end, each element by itself."""
    flow, sums = facts.flow, one.sums
    through = through_ops(*(MOVING - {"py.item", "py.element"}))
    names = set(walk((one.mask,), lambda value: behind(flow, value, through)))
    for two in readings(facts):
        if two.flag.moment.value in names and two.what in ("reset", "cleared") and two.op is not one.op:
            return two.op
    for op in facts.program.named("array.select"):
        condition = op.value("condition", "pred")
        if condition is not None and not names.isdisjoint(walk((condition,), lambda it: behind(flow, it, through))):
            arms = (op.argument("x", "on_true"), op.argument("y", "on_false"))
            if any(_is_added_up(arm, sums) for arm in arms if isinstance(arm, Value)) and not all(
                isinstance(arm, Value) for arm in arms
            ):
                return op
    return None


def _is_added_up(value: Value, sums: Sums) -> bool:
    """Whether a value is what a function was given, and something more."""
    parts = sums.products(value)
    plain = [part.factors[0] for part in parts if part.coefficient == 1.0 and len(part.factors) == 1]
    return len(parts) > 1 and any(sums.maker(one) is None for one in plain)
