"""Arrays that are mirrored by chance: either way round they are to be one and the same kind of thing."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.dims import Dim
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.labels import in_order
from jaxaudit.analyses.lineage import Flow
from jaxaudit.analyses.queries import made_of, nothing, sources, through_ops
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.mapped import place_of
from jaxaudit.ir import Op, Program, Value
from jaxaudit.ir.interfaces import Branch, Turn
from jaxaudit.ir.ops import ELEMENTWISE, MOVING
from jaxaudit.rules.axes._shared.phrases import axis_of, makers, name_of, shape_of
from jaxaudit.rules.base import Obligation, Step, proved, unknown

_CHOSEN_BY = through_ops(*ELEMENTWISE, *MOVING)


def judged_mirrors(program: Program, facts: Facts) -> Iterator[Obligation]:
    """Say of every array that is mirrored by chance whether it is so along an axis that has an order."""
    for op, view, choice in _mirrors(program, facts.flow):
        for context in facts.get(Shapes).contexts(op):
            dims = context.of(view.base).dims
            place = None if dims is None else place_of(view.axis, len(dims))
            if dims is None or place is None:
                yield unknown(op.span, "the shape of what is mirrored is not known")
                continue
            others = (at for at, dim in enumerate(dims) if in_order(dim.labels))
            fitting = max(others, default=None)
            if in_order(dims[place].labels):
                yield proved(op.span, f"it is mirrored along `{axis_of(dims[place])}`, which has an order")
            elif fitting is None:
                yield unknown(op.span, f"whether axis {place} of what is mirrored has an order is not known")
            else:
                yield _mirrored(op, view.base, choice, dims, place, fitting)


def _mirrored(op: Op, array: Value, choice: Op, dims: tuple[Dim, ...], place: int, fitting: int) -> Obligation:
    here, there = axis_of(dims[place]), axis_of(dims[fitting])
    return Obligation(
        op.span,
        message=f"{name_of(array)} is mirrored along axis {place}, `{here}`, whose elements do not follow one another",
        current=f"it is {shape_of(dims)}; its entries of different kinds change places, and no picture is mirrored",
        expected=f"it is mirrored along axis {fitting}, `{there}`, which has an order",
        steps=(Step(choice.span, "by chance it is left as it was"), *makers(dims[place], dims[fitting])),
        suggestion=f"mirror along axis {fitting}, counted in what the function is given",
    )


def _mirrors(program: Program, flow: Flow) -> Iterator[tuple[Op, Turn, Op]]:
    """Return every op that turns an array which is left as it was otherwise, with what chooses by chance."""
    for op in program.named("array.select", "cond"):
        for one, other in _sides(op):
            turn = flow.maker(made_of(flow, one, nothing))
            view = Turn.of(turn)
            same = view is not None and _given(op, view.base, flow) is _given(op, other, flow)
            if turn is not None and view is not None and same and _is_drawn(op.operands[0], flow):
                yield turn, view, op


def _given(op: Op, value: Value, flow: Flow) -> Value:
    """Return what a value is called outside of the branches of an op."""
    found = made_of(flow, value, nothing)
    branch = Branch.of(op)
    if branch is None:
        return found
    given = (branch.operands[arm.params.index(found)] for arm in branch.arms if found in arm.params)
    return made_of(flow, next(given, found), nothing)


def _sides(op: Op) -> Iterator[tuple[Value, Value]]:
    """Return what is chosen on each side and on the other one, both ways round."""
    branch = Branch.of(op)
    pairs = [op.operands[1:]] if branch is None else list(zip(*(arm.results for arm in branch.arms), strict=False))
    for pair in pairs:
        if len(pair) == 2:
            yield pair[0], pair[1]
            yield pair[1], pair[0]


def _is_drawn(choice: Value, flow: Flow) -> bool:
    """Whether random numbers decide."""
    makers = (flow.maker(one) for one in sources(flow, (choice,), _CHOSEN_BY))
    return any(op is not None and op.name == "key.draw" for op in makers)
