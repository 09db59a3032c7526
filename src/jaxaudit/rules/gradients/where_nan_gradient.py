"""The rule `where-nan-gradient`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.gradients.algebra import flowing, slice_of
from jaxaudit.analyses.gradients.reach import gradients_of
from jaxaudit.analyses.lineage.index import Flow
from jaxaudit.analyses.queries import ahead, behind, walk
from jaxaudit.analyses.ranges import Ranges, range_text
from jaxaudit.analyses.ranges.validity import Use, slopes_wanted
from jaxaudit.ir import Argument, Op, Program, Value
from jaxaudit.ir.functions import COMPARISONS, ROOTS
from jaxaudit.ir.ops import INLINE, PASSED_ON
from jaxaudit.rules.base import Obligation, Rule, Severity, Step, Verdict, proved, unknown

Through = Mapping[Value, Op | None]
"""The values that gradients flow through, each with the op that takes one; None where only callers may."""


class WhereNanGradient(Rule):
    """A gradient is NaN at points that a `where` masks out, or where a root is taken of zero.

    ## What it does
    Looks at each `where` that gradients flow through. When an arm computes something whose derivative is infinite or
    NaN at just the points that the condition leaves out, the gradient there is zero times infinity: NaN. Also looks
    at square roots and norms of what is surely zero for some elements, such as the diagonal of pairwise differences.

    ## Why is this bad?
    The value is right, so nothing shows in the forward pass. The first gradient through such a point makes every
    parameter NaN.

    ## Example
        length = jnp.where(squared > 0, jnp.sqrt(squared), 0.0)

    ## Use instead
        safe = jnp.where(squared > 0, squared, 1.0)
        length = jnp.where(squared > 0, jnp.sqrt(safe), 0.0)

    ## When it cannot tell
    When the condition says nothing about the argument of the function. Where nothing in sight takes the gradient, but
    callers may, it is a warning.
    """

    summary = "The gradient is NaN at points that a `where` masks out: the masked function has no derivative there."
    needs = (Ranges,)

    valid = """
    ## the argument is replaced too
    def length(x):
        squared = (x * x).sum(-1)
        safe = jnp.where(squared > 0, squared, 1.0)
        return jnp.where(squared > 0, jnp.sqrt(safe), 0.0).sum()

    slope = jax.grad(length)
    print(slope(jnp.ones((3, 2))))

    ## a harmless arm, a guarded one, and no gradient
    def loss(x):
        kept = jnp.where(x > 0, x * x, 0.0)
        scaled = jnp.where(x > 1, jnp.log(jnp.maximum(x, 1e-3)), 0.0)
        return (kept + scaled).sum()

    print(jax.grad(loss)(jnp.ones(3)))

    def shown(x):
        return jnp.where(x > 0, jnp.log(x), 0.0)

    print(shown(jnp.ones(3)))

    ## a bound that is not about the divisor
    def cutoff(x, bound):
        return jnp.where(jnp.abs(x) < bound, 1.0 - jnp.abs(x) / bound, 0.0)
    """
    invalid = """
    ## the root of what is masked
    def length(x):
        squared = (x * x).sum(-1)
        return jnp.where(squared > 0, jnp.sqrt(squared), 0.0).sum()  #!

    print(jax.grad(length)(jnp.zeros((3, 2))))

    ## the quotient of what is masked
    def loss(params, x):
        rate = x @ params
        return jnp.where(rate > 0, x[:, 0] / rate, 0.0).mean()  #!

    value, slope = jax.value_and_grad(loss)(jnp.ones(2), jnp.ones((3, 2)))

    ## the distance of a point to itself
    def energy(positions):
        differences = positions[:, None, :] - positions[None, :, :]
        distances = jnp.linalg.norm(differences, axis=-1)  #!
        return jnp.exp(-distances).sum()

    forces = jax.grad(energy)(jnp.ones((4, 3)))

    ## whoever differentiates is not in sight: warnings
    def energy(distance, exponent, width):
        overlap = jnp.where(distance < 1.0, (1.0 - distance) ** exponent, 0.0)  #?
        return overlap * jnp.sqrt(jnp.maximum(1.0 - width, 0.0))  #?
    """

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every masked function and every root that gradients flow through, here or for callers out of sight."""
        ranges, flow = facts.get(Ranges), facts.flow
        taken, possible = _taken_through(facts), dict.fromkeys(_open_to(facts))
        for op in program.calls():
            if _may_matter(op) and not op.backward and op.results:
                ways = taken if op.results[0] in taken else possible if op.results[0] in possible else None
                yield from _judge(op, ranges, ways, flow) if ways is not None else ()


def _may_matter(op: Op) -> bool:
    return op.name == "array.select" or op.function in ROOTS


def _judge(op: Op, ranges: Ranges, gradients: Through, flow: Flow) -> Iterator[Obligation]:
    if flow.program.types and not _is_transposed(op, flow):
        return
    if op.name == "array.select" and op.function in ("where", "select", "select_n"):
        yield from _arms(op, ranges, gradients, flow)
    elif op.function in ROOTS and op.api in ("", "sqrt", "norm"):
        yield from _root(op, ranges, gradients)


def _arms(op: Op, ranges: Ranges, gradients: Through, flow: Flow) -> Iterator[Obligation]:
    condition = op.argument("condition", "pred")
    found: list[Obligation] = []
    strange = False
    for names, holds in ((("x", "on_true"), True), (("y", "on_false"), False)):
        for inner in _arm_ops(op.argument(*names), gradients, flow):
            strange |= not inner.name.startswith("array.")
            for use in slopes_wanted(inner):
                # A condition that compares something with the argument says nothing of the argument itself.
                asked = None if _is_bound(use.argument, condition, ranges, flow) else condition
                found += _masked(op, asked, use, ranges, gradients, holds=holds)
    if strange and not any(one.verdict is Verdict.VIOLATED for one in found):
        found.append(unknown(op.span, "not all that its arms are made of is known"))
    yield from found or [proved(op.span, "what it masks has a finite derivative everywhere")]


def _is_transposed(op: Op, flow: Flow) -> bool:
    """Whether the backward pass of a trace comes back through an op: it masks again, or divides by the root."""
    if op.name == "array.select":
        condition = op.arguments.get("condition")
        readers = flow.readers.get(condition, ()) if isinstance(condition, Value) else ()
        return sum(reader.name == "array.select" for reader in readers) > 1
    return any(reader.function == "divide" and not reader.api for reader in flow.readers.get(op.results[0], ()))


def _arm_ops(arm: Argument, gradients: Through, flow: Flow) -> Iterator[Op]:
    """Return the elementwise ops that an arm is made of, and those that its elements come out of."""

    def below(value: Value) -> Iterable[Value]:
        maker = flow.maker(value) if value in gradients else None
        return maker.operands if maker is not None and (_is_elementwise(maker) or maker.name in PASSED_ON) else ()

    for value in walk([arm] if isinstance(arm, Value) else [], below):
        maker = flow.maker(value)
        if maker is not None and value in gradients:
            yield maker


def _is_elementwise(op: Op) -> bool:
    return op.name == "array.map" or (op.name == "array.linalg" and op.function == "norm")


def _is_bound(value: Value, condition: Argument, ranges: Ranges, flow: Flow) -> bool:
    """Whether a condition compares something with a value, rather than asking what the value is."""
    asked = flow.maker(condition) if isinstance(condition, Value) else None
    others = [one for one in asked.operands if one is not value] if asked is not None else []
    return asked is not None and value in asked.operands and any(ranges.of(one).constant is None for one in others)


def _masked(
    select: Op, condition: Argument, use: Use, ranges: Ranges, gradients: Through, *, holds: bool
) -> Iterator[Obligation]:
    """Judge a function in an arm; without a condition nothing is known of where the arm is taken."""
    known = ranges.of(use.argument)
    if not any(value in gradients for value in use.op.operands) or known.constant is not None:
        return
    guarded = known if condition is None else ranges.under(select, condition, use.argument, holds=holds)
    keeps_out = use.domain.guarded
    if use.domain.safe(known):
        yield proved(select.span, f"{_name(use.argument)} is {range_text(known) or 'fine'} at the masked points too")
    elif keeps_out is not None and keeps_out(guarded) and not keeps_out(known):
        yield _finding(select, use, gradients)
    else:
        wanted = f"whether {_name(use.argument)} is {use.domain.wants} wherever {use.function} is taken is not known"
        yield unknown(select.span, wanted)


def _name(value: Value) -> str:
    return f"`{value.name}`" if value.name else "the argument"


def _finding(select: Op, use: Use, gradients: Through) -> Obligation:
    taken = gradients.get(select.results[0])
    name = use.argument.name or "x"
    steps = [Step(use.op.span, f"{use.function} has a finite derivative only where its argument is {use.domain.wants}")]
    steps += [Step(taken.span, "the gradient is taken here")] if taken is not None else []
    return Obligation(
        select.span,
        severity=Severity.WARNING if taken is None else Severity.ERROR,
        message=f"the gradient of {use.function} is NaN at the points that this `where` masks out",
        current="the masked arm gets a gradient of 0, which its infinite derivative turns into 0 * inf = NaN",
        expected="an argument that is harmless at the masked points",
        steps=tuple(steps),
        suggestion=f"mask the argument first: `safe = jnp.where(condition, {name}, 1.0)`, then use `safe` in the arm",
    )


def _root(op: Op, ranges: Ranges, gradients: Through) -> Iterator[Obligation]:
    for use in slopes_wanted(op):
        known = ranges.of(use.argument)
        if use.domain.safe(known):
            reason = f"{_name(use.argument)} is {range_text(known)}, so the derivative of {use.function} is finite"
            yield proved(op.span, reason)
        elif isinstance(op.argument("ord"), Value):
            yield unknown(op.span, f"whether {use.function} takes a root is not known: its order is computed")
        elif known.zero is not None and known.zero.ordinary and not known.zero.blocks:
            yield _root_of_zero(op, use, known.zero.reason, gradients)
        else:
            yield unknown(op.span, f"whether {_name(use.argument)} is ever 0 is not known")


def _root_of_zero(op: Op, use: Use, reason: str, gradients: Through) -> Obligation:
    taken = gradients.get(op.results[0])
    return Obligation(
        op.span,
        severity=Severity.WARNING if taken is None else Severity.ERROR,
        message=f"the gradient of {use.function} is NaN where its argument is 0: {reason}",
        current="the derivative at 0 is infinite, and times the zero that comes with it gives NaN",
        expected="an argument that is never exactly 0",
        steps=(Step(taken.span, "the gradient is taken here"),) if taken is not None else (),
        suggestion="add a small number under the root, or mask the zeros before it",
    )


@remembered
def _taken_through(facts: Facts) -> Mapping[Value, Op]:
    """Return every value that a gradient flows through, and the op that takes the gradient."""
    found: dict[Value, Op] = {}
    for gradient in gradients_of(facts):
        for root in gradient.roots:
            for node in slice_of(root):
                if flowing(node):
                    found.setdefault(node.value, gradient.op)
    return found


@remembered
def _open_to(facts: Facts) -> Set[Value]:
    """Return the values that callers who are not in sight may take gradients through.

    They are computed from what a root is given, and what it gives is computed from them.
    """
    flow, roots = facts.flow, facts.program.roots
    given = (param for root in roots for param in root.region.params)
    made = set(walk(given, lambda one: ahead(flow, one, _passes)))
    bodies = {id(root.region) for root in roots}
    ends = (
        value
        for op in facts.program.named("py.return")
        if _body(op, facts) in bodies
        for value in op.operands
        if value in made
    )
    return made & set(walk(ends, lambda one: behind(flow, one, _passes)))


def _body(op: Op, facts: Facts) -> int:
    """Return the function that an op stands in, in branches and loops at most."""
    around = facts.places.up(facts.places.region_of[op])
    return next(id(region) for region, holder in around if holder is None or holder.name not in INLINE)


def _passes(op: Op) -> bool:
    differentiable = op.name.startswith("array.") and op.function not in COMPARISONS
    return differentiable or (op.name in PASSED_ON and op.name != "grad.stop")
