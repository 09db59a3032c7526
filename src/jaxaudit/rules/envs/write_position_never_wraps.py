"""The rule `write-position-never-wraps`."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.dims import same
from jaxaudit.analyses.extents import met, size_of
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.lineage.endings import Renewal, renewals
from jaxaudit.analyses.lineage.origins import part_of
from jaxaudit.analyses.lineage.products import Product, Sums
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.functions import SMALLER
from jaxaudit.ir.values import index_parts
from jaxaudit.rules.base import Example, Obligation, Rule, Step, named, proved, unknown

_ADDED = """
def add(data, position, size, item):
    def put(carry, item):
        data, position, size = carry
        data = data.at[position].set(item)
        return (data, {position}, {size}), None{mark}

    return jax.lax.scan(put, (data, position, size), item)[0]
"""


class WritePositionNeverWraps(Rule):
    """The position that a buffer is written at runs past its end, though more is written than fits.

    ## What it does
    Looks at arrays that are written at a position which the same state holds and moves on by a number in each step.
    Where the state also counts entries up to the size of the array (`minimum(size + 1, capacity)`), more than fits is
    expected to be written, and the position must start again at the front.

    ## Why is this bad?
    JAX drops writes behind the end of an array without a word. Once the buffer is full nothing new gets in: the agent
    learns from its first steps for ever.

    ## Example
        data.at[position].set(item), position + 1, jnp.minimum(size + 1, capacity)

    ## Use instead
        data.at[position].set(item), (position + 1) % capacity, jnp.minimum(size + 1, capacity)

    ## When it cannot tell
    Where nothing counts entries up to the size of the array, it may never be full.
    """

    summary = "A ring buffer is written behind its end once it is full."
    needs = (Shapes,)

    valid = (
        Example(
            _ADDED.format(
                position="(position + 1) % data.shape[0]", size="jnp.minimum(size + 1, data.shape[0])", mark=""
            ),
            "it wraps",
        ),
        Example(
            _ADDED.format(position="position + 1", size="jnp.minimum(size + 1, data.shape[0])", mark="").replace(
                "at[position]", "at[position % data.shape[0]]"
            ),
            "where it is written it wraps",
        ),
        Example(_ADDED.format(position="position + 1", size="size + 1", mark=""), "it may never be full"),
        Example(
            _ADDED.format(
                position="jnp.where(position + 1 == data.shape[0], 0, position + 1)",
                size="jnp.minimum(size + 1, data.shape[0])",
                mark="",
            ),
            "by a choice",
        ),
    )
    invalid = (
        Example(
            _ADDED.format(position="position + 1", size="jnp.minimum(size + 1, data.shape[0])", mark="")
            .replace(
                "data = data.at[position].set(item)\n",
                "data = data.at[position].set(item)\n        position = position + 1  #!\n",
            )
            .replace("(data, position + 1,", "(data, position,"),
            "it goes on and on",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every array that is written at a position which its state holds."""
        parts = [(one, part_of(facts.flow, one.old, {}, in_turn=True)) for one in renewals(facts)]
        for op in program.named("array.scatter"):
            index, base = index_parts(op.arguments.get("index")), op.value("base")
            if base is None or not index or not isinstance(index[0], Value):
                continue
            place = part_of(facts.flow, index[0], {}, in_turn=True)
            yield from (_judged(op, base, one, facts) for one, part in parts if part == place)


def _judged(op: Op, base: Value, one: Renewal, facts: Facts) -> Obligation:
    sums, made = Sums.of(facts.flow, {}), facts.flow.maker(one.new)
    moved = sums.products(one.new)
    steps = [part.coefficient for part in moved if not part.factors]
    plain = len(moved) == 2 and Product(1.0, (one.old,)) in moved and bool(steps) and steps[0] > 0
    if made is None or not plain:
        return proved(op.span, f"{named(one.old, 'the position')} does not only grow")
    limit = next((two for two in facts.program.mapping(*SMALLER) if _is_counted(two, op, base, facts)), None)
    if limit is None:
        return unknown(op.span, "whether more is written than fits is not known")
    return _finding(op, made, one, limit)


def _is_counted(made: Op, op: Op, base: Value, facts: Facts) -> bool:
    """Whether something is counted up to the size of the array that is written."""
    home = facts.flow.places.function_of
    count = made.value("x", "y")
    counted = None if count is None else facts.flow.maker(count)
    if home(made) is not home(op) or counted is None or counted.function != "add":
        return False
    size = size_of(met(facts.get(Shapes), op, base), 0)
    numbers = [met(facts.get(Shapes), made, given).number for given in made.arguments.values() if given is not None]
    return size is not None and any(number is not None and same(number, size) for number in numbers)


def _finding(op: Op, made: Op, one: Renewal, limit: Op) -> Obligation:
    name = named(one.old, "the position")
    return Obligation(
        made.span,
        message=f"{name} only grows: once the buffer is full, JAX drops what is written at it",
        current=f"the number of entries stops at the size of the array, and {name} goes on behind its end",
        expected=f"{name} starts again at the front: the oldest entry is replaced",
        steps=(
            Step(op.span, f"the array is written at {name} here"),
            Step(limit.span, "entries are counted up to the size of the array here"),
        ),
        suggestion="take the remainder: `(position + 1) % capacity`",
    )
