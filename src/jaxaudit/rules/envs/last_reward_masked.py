"""The rule `last-reward-masked`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage.moments import moment
from jaxaudit.analyses.lineage.origins import contexts
from jaxaudit.analyses.lineage.products import Product, Sums
from jaxaudit.analyses.lineage.returns import flags
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import ADDITIONS
from jaxaudit.ir.interfaces import Recurrence
from jaxaudit.ir.record import record, replace
from jaxaudit.ir.values import index_parts, is_whole
from jaxaudit.rules.base import Example, Obligation, Rule, Step, named, proved

_TARGET = """
def target(rewards, dones, later, gamma):
    alive = jnp.cumprod({factors}, axis=0)
    {before}
    total = {total}{mark}
    return total + {last} * later
"""


class LastRewardMasked(Rule):
    """The reward of the step that ends an episode is masked, as if it came after the end.

    ## What it does
    Looks at sums of rewards that are weighed by a cumulative product of `1 - done`, to which a value is added that the
    last entry of that product stops. The product up to and with a step tells whether the episode goes on *after* it: it
    is right for what follows. What the step itself gives counts if the episode goes on *before* it: the product without
    its own flag.

    ## Why is this bad?
    The reward that an episode ends with, often the only one there is, never counts. Shapes fit and nothing is raised.

    ## Example
        alive = jnp.cumprod(1 - dones)
        target = (alive * rewards).sum() + alive[-1] * value

    ## Use instead
        alive = jnp.cumprod(1 - dones)
        before = jnp.concatenate([jnp.ones(1), alive[:-1]])
        target = (before * rewards).sum() + alive[-1] * value

    ## When it cannot tell
    Where nothing follows the last step, flags and rewards may belong to different steps, and there is nothing to judge.
    """

    summary = "A reward is masked by the end of its own step."

    valid = (
        Example(
            _TARGET.format(
                factors="1.0 - dones",
                before="before = jnp.concatenate([jnp.ones_like(alive[:1]), alive[:-1]])",
                total="(before * rewards).sum(axis=0)",
                last="gamma * alive[-1]",
                mark="",
            ),
            "those before",
        ),
        Example(
            _TARGET.format(
                factors="jnp.concatenate([jnp.ones_like(dones[:1]), 1.0 - dones[:-1]])",
                before="going = alive[-1] * (1.0 - dones[-1])",
                total="(alive * rewards).sum(axis=0)",
                last="going",
                mark="",
            ),
            "shifted first",
        ),
        Example(
            _TARGET.format(
                factors="1.0 - dones",
                before="",
                total="(alive * rewards).sum(axis=0)",
                last="alive[-1] * (1.0 - gamma)",
                mark="",
            ),
            "stopped by another flag too",
        ),
        Example(
            "def total(rewards, started):\n    alive = jnp.cumprod(1.0 - started, axis=0)\n"
            "    return (alive * rewards).sum(axis=0)\n",
            "nothing follows",
        ),
        Example(
            _TARGET.format(
                factors="gamma * rewards", before="", total="(alive * dones).sum(axis=0)", last="alive[-1]", mark=""
            ),
            "weights that end nothing",
        ),
    )
    invalid = (
        Example(
            _TARGET.format(
                factors="1.0 - dones", before="", total="(alive * rewards).sum(axis=0)", last="alive[-1]", mark="  #!"
            ),
            "a sum",
        ),
        Example(
            _TARGET.format(
                factors="gamma * (1.0 - dones)",
                before="",
                total="jnp.sum(rewards * alive, axis=0)",
                last="alive[-1]",
                mark="  #!",
            ),
            "with the discount",
        ),
        Example(
            """
def targets(rewards, dones, later, discount, rows):
    alive = jnp.cumprod(~dones[rows], axis=1)
    total = jnp.einsum("k,tkn,tkn->tn", discount, alive, rewards[rows])  #!
    return total + 0.99 ** 3 * alive[:, -1] * later
""",
            "windows",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every sum over steps that a cumulative product of flags weighs, beside what it stops."""
        flow = facts.flow
        products = {op.results[0]: op for op in program.named("array.scan") if op.function == "cumprod"}
        for op in program.mapping("add") if products else ():
            for context in contexts(flow, op):
                yield from _judged(op, Sums.of(flow, context), products)


@record
class _Weighed:
    """A sum over steps that a cumulative product weighs."""

    op: Op
    weight: Value
    shift: int
    """By how many steps the product is shifted against what it weighs."""
    others: tuple[Value, ...]


def _judged(op: Op, sums: Sums, products: dict[Value, Op]) -> Iterator[Obligation]:
    parts = sums.products(op.results[0])
    ends = {weight: (part, at) for part in parts for at in part.factors if (weight := _last(at, sums)) in products}
    for part in parts if ends else ():
        for factor in part.factors:
            found = _weighed(factor, sums, products)
            if found is not None and found.weight in ends:
                yield from _compared(found, *ends[found.weight], products[found.weight], sums)


def _last(value: Value, sums: Sums) -> Value | None:
    """Return the array whose last entry, along some axis, a value is."""
    made = sums.maker(value)
    parts = index_parts(made.arguments.get("index")) if made is not None and made.name == "py.item" else ()
    taken = [one for one in parts if not is_whole(one)]
    return sums.source(made.operands[0]) if made is not None and taken == [-1] else None


def _weighed(value: Value, sums: Sums, products: dict[Value, Op]) -> _Weighed | None:
    made = sums.maker(value)
    if made is None:
        return None
    if made.name == "array.dot":
        factors = tuple(map(sums.source, made.operands))
    elif made.name == "array.reduce" and made.function in ADDITIONS and made.operands:
        inner = sums.products(made.operands[0])
        factors = inner[0].factors if len(inner) == 1 else ()
    else:
        return None
    steps = {one: moment(sums.flow, one, sums.context) for one in factors}
    weights = [one for one in factors if steps[one].value in products]
    others = tuple(one for one in factors if one not in weights)
    if len(weights) != 1 or not others:
        return None
    return _Weighed(made, steps[weights[0]].value, steps[weights[0]].shift, others)


def _compared(found: _Weighed, end: Product, at: Value, product: Op, sums: Sums) -> Iterator[Obligation]:
    flow, context = sums.flow, sums.context
    view = Recurrence.of(product)
    own = [one for one in flags(flow, Product(1.0, product.operands[:1]), context) if one.ends]
    rest = replace(end, factors=tuple(one for one in end.factors if one is not at))
    if not own or view is None or view.reverse is not False or _is_stopped(rest, sums):
        return
    steps = [moment(flow, one, context) for one in found.others]
    counted = [one for one in steps if one.counted == own[0].moment.counted]
    shifts, at_flag = {one.shift for one in counted}, own[0].moment.shift + found.shift
    if shifts and at_flag < min(shifts):
        yield proved(found.op.span, "each reward counts if the episode goes on before its step")
    elif shifts == {at_flag}:
        yield _finding(found, product, own[0].moment.value, at)


def _is_stopped(part: Product, sums: Sums) -> bool:
    return any(one.ends for one in flags(sums.flow, part, sums.context))


def _finding(found: _Weighed, product: Op, flag: Value, at: Value) -> Obligation:
    name = named(flag, "the flag")
    return Obligation(
        found.op.span,
        message=f"{name} of a step stops the reward of that very step: the last one of an episode never counts",
        current="rewards are weighed by a product that has the flag of their own step in it",
        expected="a reward counts if no step before its own ended the episode",
        steps=(
            Step(product.span, f"the product goes up to each step, and has {name} of that step in it"),
            Step(at.span, "its last entry stops what follows the last step, and weighs the last reward too"),
        ),
        suggestion="weigh rewards by the product of the steps before: ones in front of `product[:-1]`",
    )
