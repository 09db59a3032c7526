"""The rule `batch-time-mix`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from jaxaudit.analyses.axes.meetings import MEETING, Meeting, meetings
from jaxaudit.analyses.dims import Dim
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.labels import Label, in_lines
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.regroup import is_one
from jaxaudit.analyses.shapes import Context, Shapes
from jaxaudit.ir import Op, Program
from jaxaudit.ir.record import record
from jaxaudit.rules.axes._shared.phrases import axis_of, meeting_text, name_of
from jaxaudit.rules.base import Example, Obligation, Rule, Step, proved

_FLAT = ("product", "picked")

_PROGRAM = """
def loss(values, returns):
    steps, envs = values.shape
    flat = values.reshape(steps * envs)
    targets = {targets}
    return ((flat - targets) ** 2).mean()


STEPS, ENVS = 16, 4
loss(jnp.zeros((STEPS, ENVS)), jnp.zeros(({shape})))
"""

_SHUFFLED = """
STEPS, ENVS = 16, 4


def update(key, obs, advantages):
    order = jax.random.permutation(key, STEPS * ENVS)
    rows = obs.reshape(STEPS * ENVS, 3)[order]
    weights = {weights}
    return (rows * weights[order][:, None]).sum()


update(jax.random.key(0), jnp.zeros((STEPS, ENVS, 3)), jnp.zeros((STEPS, ENVS)))
"""


class BatchTimeMix(Rule):
    """Two arrays are flattened in different orders and then used row by row.

    ## What it does
    Remembers of which axes, in which order, a reshape made a flat axis, also through a shuffle and a cut into
    minibatches. Where two flat axes of the same axes meet and the orders differ, rows of different steps and
    environments are combined.

    ## Why is this bad?
    Rollouts come time-major out of `scan` and batch-major out of `vmap`. Flattened, both have `steps * envs` rows;
    nothing is raised, and the advantage of one environment trains the action of another.

    ## Example
        rows = obs.reshape(STEPS * ENVS, -1)  # (STEPS, ENVS, features)
        weights = advantages.swapaxes(0, 1).reshape(STEPS * ENVS)
        rows * weights[:, None]

    ## Use instead
        rows = obs.reshape(STEPS * ENVS, -1)  # (STEPS, ENVS, features)
        weights = advantages.reshape(STEPS * ENVS)
        rows * weights[:, None]

    ## When it cannot tell
    When the sizes are plain numbers, or the flat axis is sorted or sliced in between.
    """

    summary = "Two arrays are flattened in different orders and then used row by row."
    needs = (Shapes,)

    valid = (
        Example(_PROGRAM.format(targets="returns.reshape(-1)", shape="STEPS, ENVS"), "one order"),
        Example(_PROGRAM.format(targets="returns.T.reshape(-1)", shape="ENVS, STEPS"), "transposed first"),
        Example(_SHUFFLED.format(weights="advantages.reshape(-1)"), "shuffled alike"),
    )
    invalid = (
        Example(_PROGRAM.format(targets="returns.reshape(-1)  #!", shape="ENVS, STEPS"), "batch-major targets"),
        Example(_SHUFFLED.format(weights="advantages.T.reshape(-1)  #!"), "transposed before it is flattened"),
        Example(
            "from einops import rearrange\n" + _SHUFFLED.format(weights="rearrange(advantages, 't n -> (n t)')  #!"),
            "in the order of a pattern",
        ),
    )

    def check(self, program: Program, facts: Facts) -> Iterator[Obligation]:
        """List every meeting of two axes that were made of the same ones."""
        shapes = facts.get(Shapes)
        flow = facts.flow
        yield from (_judged(meeting, mixed, flow) for meeting, mixed in _mixed_orders(program, shapes))


def _judged(meeting: Meeting, mixed: _Mixed | None, flow: Flow) -> Obligation:
    if mixed is None:
        return proved(meeting.op.span, "the rows that meet here were flattened in the same order")
    left, right = _order(mixed.left), _order(mixed.right)
    blamed = _blamed(mixed, flow)
    names = f"{name_of(meeting.left.value)} and {name_of(meeting.right.value)}"
    return Obligation(
        (blamed or meeting.op).span,
        message=f"rows in the order `{left}` and rows in the order `{right}` are combined one by one",
        current=f"{names} have as many rows, and row by row they belong to different places",
        expected="both are flattened in the same order",
        steps=(*_flattened(mixed, blamed), Step(meeting.op.span, meeting_text(meeting))),
        suggestion="transpose one of them before it is flattened, or leave the transpose out",
    )


def _flattened(mixed: _Mixed, blamed: Op | None) -> Iterator[Step]:
    """Show where the rows were flattened that the others do not go with."""
    for label in (mixed.left, mixed.right):
        if label.op is not None and label.op is not blamed:
            yield Step(label.op.span, f"the others are flattened here, in the order `{_order(label)}`")


def _order(label: Label) -> str:
    return "*".join(map(axis_of, label.factors))


def _blamed(mixed: _Mixed, flow: Flow) -> Op | None:
    """Return the reshape that stands apart: one right after a transpose, else the later of the two."""
    made = [op for op in mixed.flattened if op is not None]
    before = {op: flow.maker(op.operands[0]) for op in made}
    turned = [op for op, one in before.items() if one is not None and one.name == "array.permute"]
    if len(turned) == 1:
        return turned[0]
    return max(made, key=lambda op: flow.places.order[op], default=None)


@record
class _Mixed:
    """Two flat axes that meet and were made in different orders."""

    meeting: Meeting
    left: Label
    right: Label

    @property
    def flattened(self) -> tuple[Op | None, Op | None]:
        """The reshapes that made the two axes."""
        return self.left.op, self.right.op


def _mixed_orders(program: Program, shapes: Shapes) -> Iterator[tuple[Meeting, _Mixed | None]]:
    """Return every meeting of two flat axes of the same factors; with the mistake where their orders differ."""
    # Exact types alone say nothing of the order in which an axis was made.
    for op in program.named(*MEETING) if shapes.look is None else ():
        for context in shapes.contexts(op):
            for meeting in meetings(op, context) if _may_mix(op, context) else ():
                pairs = product(_flat(meeting.left.dim), _flat(meeting.right.dim))
                orders = [(order, pair) for pair in pairs if (order := _order_of(*(one.factors for one in pair)))]
                crossed = [_Mixed(meeting, *pair) for order, pair in orders if order != sorted(order)]
                if orders:
                    yield meeting, crossed[0] if len(crossed) == len(orders) else None


def _may_mix(op: Op, context: Context) -> bool:
    """Whether two operands have flat axes at all."""
    dims = (context.of(value).dims for value in op.operands)
    return sum(any(dim.labels and _flat(dim) for dim in known or ()) for known in dims) > 1


def _flat(dim: Dim) -> list[Label]:
    """Return how a flat axis was made; it has several such labels once rows have met that were flattened alike."""
    return [label for label in in_lines(dim.labels) if label.kind in _FLAT]


def _order_of(left: tuple[Dim, ...], right: tuple[Dim, ...]) -> list[int] | None:
    """Return where each factor of the one stands in the other; None where that is not clear."""
    if len(left) != len(right):
        return None
    places = [[at for at, other in enumerate(right) if is_one(dim, other)] for dim in left]
    order = [found[0] for found in places if len(found) == 1]
    return order if len(order) == len(left) and len(set(order)) == len(left) else None
