"""The rule `axis-conflict`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from jaxaudit.analyses.axes.roots import roots
from jaxaudit.analyses.axes.slots import Slot
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import last, walk
from jaxaudit.analyses.shapes import Context, Shapes
from jaxaudit.analyses.shapes.facts import as_number
from jaxaudit.analyses.shapes.facts import named as with_name
from jaxaudit.analyses.shapes.result import Fit
from jaxaudit.ir import Exit, Op, Program, Value
from jaxaudit.ir.functions import OF_LISTS
from jaxaudit.rules.axes._shared.joined_parts import Piece, piece_joined_with_whole
from jaxaudit.rules.axes._shared.slices_met import Cut, is_array, slices_met
from jaxaudit.rules.base import Obligation, Raises, Rule, Severity, Step, named, proved, unknown

_DEEDS = {
    "array.map": "cannot be broadcast together",
    "array.select": "cannot be broadcast together",
    "array.dot": "cannot be multiplied",
    "array.join": "cannot be joined",
}


class AxisConflict(Rule):
    """Arrays meet whose sizes cannot go together.

    ## What it does
    Compares the sizes of the axes that meet wherever arrays are combined: arithmetic, matrix products, `einsum`,
    `concatenate` and `stack`, `reshape`, reductions over an axis that is not there. Sizes may be symbols:
    `x[1:] + x` is a conflict for every `x`. An op counts as an obligation where the shape of one operand is known.

    ## Why is this bad?
    JAX raises `TypeError` or `ValueError`, but only once this line is traced: perhaps after an hour of compiling, or
    in the branch that nobody has run yet.

    ## Example
        jnp.ones((8, 3)) @ jnp.ones((8, 4))

    ## Use instead
        jnp.ones((8, 3)).T @ jnp.ones((8, 4))

    ## When it cannot tell
    When a rank or size is not known, or when two unknown sizes meet.
    """

    summary = "Arrays meet whose sizes cannot go together, which raises an error."
    needs = (Shapes,)

    valid = """
    ## symbolic sizes
    def f(x):
        rows, columns = x.shape
        return x + jnp.zeros((rows, columns)), x @ jnp.ones((columns, 3)), x.reshape(rows * columns)

    ## slices of one length
    def f(edges, x, weights):
        inside = (edges[:-1] <= x) & (x < edges[1:]) & (edges[0] < x) & (x < edges[-1])
        return inside, edges[:, None] - edges[None, :] + x, x[:, 1:] - x[:, :-1] * weights[1:]

    ## joined with its own rows
    def f(x):
        y = jnp.concatenate([jnp.zeros_like(x[:1]), x]), jnp.concatenate([x[:, :1], x], axis=1)
        return y, jnp.stack([x[:1], x[-1:]]), jnp.concatenate([x[:2], x[:, :1].T], axis=1)

    ## nothing known to clash
    def f(x, y):
        return x[1:] - x[:-1], jnp.concatenate([x, y]), x.reshape(-1, 3), x[:, 0] * x[:, 1]

    ## a body that gives no pair is no matter of sizes
    def run(x, rates):
        return jax.lax.scan(lambda x, rate: rate * x, x, rates)

    run(jnp.ones(3), jnp.ones(4))

    ## lists have operators too
    def f(x):
        return x[1:] + x
    """
    invalid = """
    ## known sizes
    def f():
        x = jnp.ones((8, 3))
        y = x + jnp.ones((4, 3))  #!
        z = x @ jnp.ones((8, 4))  #!
        return y, z, jnp.stack([x, x.T]), x.reshape(5, 5), x.sum(axis=2)  #!

    ## whatever the size
    def f(x):
        rows, columns = x.shape
        return x[1:] + x  #!

    ## whatever the rank
    def f(x):
        return jnp.exp(x[1:]) - x  #!

    ## taken apart
    def f(x):
        a, b = jnp.zeros(3)  #!
        total = jnp.sum(x)
        c, d = total  #!
        return a + b + c + d, [row for row in total]  #!

    def train(loss_fn, params, batch):
        ((outputs, state), loss), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, batch)  #!
        return grads, loss, outputs, state

    ## joined with fewer of its own rows
    def f(x):
        first = jnp.zeros_like(x[:1])
        y = jnp.stack([first, x])  #!
        z = jnp.concatenate([x, x[:, 1:]], axis=0)  #!
        return y, z, jnp.concatenate([first, x > 0], axis=1)  #!

    ## slices, with something of unknown shape
    def f(edges, x, weights, ends):
        inside = (edges <= x) & (x < edges[1:])  #!
        apart = jnp.logical_and(ends < x, x >= ends[1:])  #?
        return inside, apart, jnp.where(x > edges[..., 1:], edges[..., 1:] - edges, weights)  #!

    ## a size that is not there
    def f(state, weights):
        assert state.tokens.ndim == 4
        pooled = state.tokens.mean(axis=(1, 2))
        return pooled.shape[-2], pooled.shape[2], weights  #!

    ## joined with its mean
    def f(x):
        return jnp.concatenate([x, x.mean(axis=-1)], axis=-1)  #!

    ## a number that is sliced
    def f(x, n):
        count = len(x)
        return jnp.tile(jnp.arange(3), count[:n])  #!

    ## transposed for one axis more
    def heads(x, n):
        x = x.reshape(*x.shape[:-1], n, -1)
        return jnp.transpose(x, (0, 2, 1, 3))  #!

    y = jax.vmap(heads, in_axes=(0, None))(jnp.ones((8, 12, 16)), 4)

    ## an axis that is not there
    def f(q, k):
        scores = jnp.einsum("qd,kd->qk", q, k)
        return jax.nn.softmax(scores, axis=2)  #!
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every op in which sizes meet."""
        shapes = facts.get(Shapes)
        found = dict(_by_relation(program, facts.flow, shapes))
        others = found.keys() | set(_pairs_of_scans(program))
        judged = ((op, fits) for op in program.walk() if op not in others and (fits := shapes.fits(op)))
        yield from (_judge(op, fits, shapes, facts) for op, fits in judged)
        yield from found.values()
        yield from _sizes_read(program, facts.flow, shapes)
        yield from (_number_indexed(op) for op in program.named("py.item") if _is_size(op.base, facts.flow))


def _pairs_of_scans(program: Program) -> Iterator[Op]:
    """Return what takes the results of bodies of scans apart: `carry-type-changes` says what is no pair."""
    for scan in program.named("scan"):
        body = scan.regions[-1]
        yield from (op for op in body.ops if op.name == "py.unpack" and op.results == body.results)


def _by_relation(program: Program, flow: Flow, shapes: Shapes) -> Iterator[tuple[Op, Obligation]]:
    """Return the ops whose operands do not go together by what they are of one another, whatever their shapes."""
    if program.front_end == "jaxpr":
        return
    for op in program.named("array.join", "array.numpy"):
        if (piece := piece_joined_with_whole(op, flow)) is not None:
            yield op, _joined_with_whole(op, piece)
    for op, first, second in slices_met(program, flow):
        fits = shapes.fits(op)
        sure = is_array(first.base, flow) or shapes.of(first.base).is_array
        listed = not sure and op.is_operator and op.function in OF_LISTS
        if Fit.CLASHES not in fits and not (listed or op.guarded or op.questioned or _asks_about(flow, op)):
            yield op, _met_unevenly(op, first, second, sure=sure)


def _met_unevenly(op: Op, first: Cut, second: Cut, *, sure: bool) -> Obligation:
    return Obligation(
        op.span,
        severity=Severity.ERROR if sure else Severity.WARNING,
        message=f"slices of {named(first.base, 'an array')} of different lengths meet, whatever meets them here",
        current="JAX raises an error as soon as this line is traced",
        raises=Raises.TRACING,
        expected="slices that meet leave out as many rows",
        steps=tuple(Step(one.span, "one of them") for one in (first, second) if one.parts),
        suggestion="cut the same number of rows off both",
        cause=op.results,
    )


def _joined_with_whole(op: Op, piece: Piece) -> Obligation:
    whole, along = named(piece.whole, "an array"), "" if op.function == "stack" else " along this axis"
    return Obligation(
        op.span,
        message=f"{whole} and a piece of its axis {piece.axis} cannot be joined{along}: all other axes must be equal",
        current="this raises an error, unless the array is no longer than its piece",
        raises=Raises.TRACING,
        expected=f"the piece is put in front of the array, or behind it, along axis {piece.axis}",
        steps=(Step(piece.part.span, "the piece is cut off here"),),
        suggestion=f"use `concatenate` with `axis={piece.axis}`",
        cause=op.results,
    )


def _sizes_read(program: Program, flow: Flow, shapes: Shapes) -> Iterator[Obligation]:
    """Judge every `x.shape[i]` of an array whose number of axes is known."""
    for op in program.named("py.item") if program.front_end == "source" else ():
        made = None if op.base is None else flow.maker(op.base)
        sizes, place = shapes.of(op.operands[0]).items, op.argument("index")
        if made is None or made.name != "array.shape" or sizes is None or not isinstance(place, int):
            continue
        if -len(sizes) <= place < len(sizes):
            yield proved(op.span, f"the array has {len(sizes)} axes")
        elif not op.guarded:
            yield _no_such_size(op, made, place, len(sizes))


def _no_such_size(op: Op, made: Op, place: int, count: int) -> Obligation:
    name = "an array" if made.base is None else named(made.base, "an array")
    return Obligation(
        op.span,
        message=f"the size of axis {place} is asked for, and {name} has {count} axes",
        current="Python raises `IndexError` as soon as this line runs",
        raises=Raises.TRACING,
        expected="the array has this axis",
        suggestion="check which axes were reduced, indexed or squeezed before",
        cause=op.operands,
    )


def _is_size(value: Value | None, flow: Flow) -> bool:
    """Whether a value is a number whatever it is the size of: `len(x)`; `image.size` may be a tuple."""
    made = None if value is None else flow.maker(value)
    return made is not None and made.name == "array.shape" and made.function == "len"


def _words(value: Value | None) -> str:
    return f"`{value.name}`" if value is not None and value.name else "a size"


def _number_indexed(op: Op) -> Obligation:
    return Obligation(
        op.span,
        message=f"{_words(op.base)} is one number, which has nothing to index",
        current="Python raises `TypeError` as soon as this line runs",
        raises=Raises.TRACING,
        expected="an array, a list or a tuple is indexed",
        suggestion="check where the bracket belongs",
    )


def _judge(op: Op, fits: Sequence[Fit], shapes: Shapes, facts: Facts) -> Obligation:
    flow = facts.flow
    if Fit.CLASHES in fits and (_asks_about(flow, op) or _asks_sizes(flow, op, shapes)):
        return unknown(op.span, "the `if` around it asks about these arrays, and what it asks is not known")
    if Fit.CLASHES in fits and _swaps_two(op) and not _is_made_by_jax(op, flow):
        return unknown(op.span, "`transpose` of two axes is a method of PyTorch, and whose array this is is not known")
    if Fit.CLASHES in fits:
        return _conflict(op, next(context for context in shapes.contexts(op) if context.fit is Fit.CLASHES), facts)
    if Fit.OPEN in fits:
        return unknown(op.span, "not all sizes that meet here are known")
    return proved(op.span, "the sizes that meet here are equal or 1")


def _swaps_two(op: Op) -> bool:
    """Whether it is `x.transpose(1, 2)`."""
    axes = op.argument("axes")
    return op.name == "array.permute" and op.qualified == "transpose" and isinstance(axes, tuple) and len(axes) == 2


def _is_made_by_jax(op: Op, flow: Flow) -> bool:
    """Whether a function of JAX made an array that methods have rearranged since."""

    def before(one: Op) -> Op | None:
        given = one.base
        made = None if given is None or (one is not op and one.qualified.startswith("jax.")) else flow.maker(given)
        return made if made is not None and made.name.startswith("array.") else None

    maker = last(op, before)
    return maker is not op and maker.qualified.startswith("jax.")


def _asks_sizes(flow: Flow, op: Op, shapes: Shapes) -> bool:
    """Whether an `if` around an op compares one of the sizes that meet in it, so that it is no longer any size."""
    dims = (dim for one in shapes.contexts(op) for fact in one.facts.values() for dim in fact.dims or ())
    sizes = {atom for dim in dims for atom in dim.atoms()}
    for branch in _deciding(flow, op) if sizes else ():
        made = flow.maker(branch.operands[0]) if branch.operands else None
        if made is None:
            continue
        for value in made.operands:
            facts = [shapes.of(value), *(one.of(value) for one in shapes.contexts(made))]
            numbers = (as_number(with_name(fact, value)) for fact in facts)
            if any(not sizes.isdisjoint(number.atoms()) for number in numbers if number is not None):
                return True
    return False


def _sizes_made(op: Op, facts: Facts) -> Iterator[Step]:
    """Return where axes were made whose sizes none of the other operands has, where they were computed."""
    shapes, ask = facts.get(Shapes), roots(facts)
    sizes = {value: [dim.constant for dim in shapes.of(value).dims or ()] for value in dict.fromkeys(op.operands)}
    for value, own in sizes.items():
        others = {size for other, known in sizes.items() if other is not value for size in known}
        for place, size in enumerate(own):
            made = (facts.flow.own_maker(one.value) for one in ask(Slot(value, place)))
            makers = (
                one for one in made if one is not None and one.operands and not one.regions and one.name != "key.draw"
            )
            if size is not None and len(sizes) > 1 and size not in others:
                yield from (Step(one.span, f"the axis of size {size} is made here") for one in makers)


def _conflict(op: Op, context: Context, facts: Facts) -> Obligation:
    deed = _DEEDS.get(op.name)
    message = f"{context.clash} {deed}" if deed and " axes" not in context.clash else context.clash
    return Obligation(
        op.span,
        message=message,
        current="JAX raises an error as soon as this line is traced",
        raises=Raises.TRACING,
        expected="the sizes that meet are equal, or one of them is 1",
        steps=tuple(dict.fromkeys(_sizes_made(op, facts))),
        suggestion="check which axis is which: a transpose, an index `[:, None]` or another size may be missing",
        way=context.way,
        cause=op.results,
    )


def _asks_about(flow: Flow, op: Op) -> bool:
    """Whether an `if` around an op, or one before it that may leave, depends on something that the op reads."""
    read = {*op.operands, *_gone_through(flow, op)}
    return any(_meets(flow, branch, read) for branch in _deciding(flow, op))


def _gone_through(flow: Flow, op: Op) -> Iterator[Value]:
    """Return the lists and arrays that loops take an op's operands from."""
    for value in op.operands:
        maker = flow.maker(value)
        if maker is not None and maker.name == "py.element":
            yield from maker.operands[:1]


def _deciding(flow: Flow, op: Op) -> Iterator[Op]:
    """Return the branches that decide whether an op runs."""
    region = flow.places.region_of.get(op)
    inner = op
    for around, holder in () if region is None else flow.places.up(region):
        before = takewhile(lambda one, inner=inner: one is not inner, around.ops)
        yield from (one for one in before if one.name == "py.branch" and _may_leave(one))
        if holder is None:
            return
        if holder.name == "py.branch":
            yield holder
        inner = holder


def _may_leave(branch: Op) -> bool:
    return any(region.exit is not Exit.FALL for region in branch.regions)


def _meets(flow: Flow, branch: Op, read: set[Value]) -> bool:
    """Whether a condition is made of one of some values."""

    def made_of(value: Value) -> tuple[Value, ...]:
        maker = flow.maker(value)
        return () if maker is None else maker.operands

    return any(value in read for value in walk(branch.operands[:1], made_of))
