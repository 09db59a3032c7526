"""What is said of sums that are divided by a number of elements: it has to be that of those added up."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.axes.normalised import plain
from jaxaudit.analyses.axes.slots import Slot, onward
from jaxaudit.analyses.dims import Dim, product, same
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.labels import one_axis, related
from jaxaudit.analyses.queries import walk
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.literals import axes_in, literal
from jaxaudit.analyses.shapes.mapped import place_of
from jaxaudit.ir import Argument, Op, Value
from jaxaudit.ir.functions import ADDITIONS, AVERAGES
from jaxaudit.ir.record import record
from jaxaudit.rules.axes._shared.phrases import axis_of, name_of, shape_of
from jaxaudit.rules.base import Obligation, Severity, Step, proved, unknown

_NORMALISING = {"divide": ADDITIONS, "subtract": frozenset(("logsumexp",))}
"""By which function which reductions are made means: of logarithms, that of a size is subtracted."""


@record
class _Counted:
    """A sum in one context, and the number that it is divided by."""

    op: Op
    total: Op
    count: Dim
    dims: tuple[Dim, ...]
    over: tuple[int, ...]
    """The axes that are summed over."""

    @property
    def fits(self) -> bool:
        """Whether as many elements are counted as are added up, or those along one of the axes."""
        summed = [self.dims[at] for at in self.over]
        return any(_is_one(self.count, dim) for dim in summed) or (
            not self.kept and any(same(self.count, dim) for dim in (product(summed), *summed))
        )

    @property
    def kept(self) -> list[int]:
        """The axes that the count is the size of, though they are not summed over."""
        others = [at for at in range(len(self.dims)) if at not in self.over]
        return [at for at in others if _is_one(self.count, self.dims[at])]


def _is_one(count: Dim, dim: Dim) -> bool:
    """Whether a number is the size of an axis by its name or symbol, and not merely as large."""
    known = count.constant is None or related(count.labels, dim.labels) or one_axis(count.labels, dim.labels)
    return same(count, dim) and known


def judged_counts(facts: Facts) -> Iterator[Obligation]:
    """Say of every sum over named axes that is divided by a size whether that is how much was added up."""
    for one in _counted_sums(facts):
        if one.fits:
            yield proved(one.op.span, "what is divided by is how many elements were added up")
        elif one.kept:
            yield from _of_other_axis(facts, one, one.kept[0])


def _of_other_axis(facts: Facts, one: _Counted, kept: int) -> Iterator[Obligation]:
    followed = [*_reductions(facts, one, kept)]
    if any(op is None or op.function in ADDITIONS | {"logsumexp"} or op.name == "array.dot" for op in followed):
        yield unknown(one.op.span, "the axis that is counted is, or may be, summed over elsewhere")
        return
    counted, summed = axis_of(one.dims[kept]), "*".join(axis_of(one.dims[at]) for at in one.over)
    averaged = [op for op in followed if op is not None and op.function in AVERAGES]
    steps = [Step(one.total.span, f"summed over `{summed}` here, and `{counted}` stays")]
    steps += [Step(op.span, f"`{counted}` is averaged over here, so that its size counts twice") for op in averaged[:1]]
    yield Obligation(
        one.total.span,
        severity=Severity.ERROR if averaged else Severity.WARNING,
        message=f"a sum over `{summed}` is divided by `{counted}`, the size of an axis that it leaves alone",
        current=f"{name_of(one.total.operands[0])} is {shape_of(one.dims)}; the size of `{summed}` counts nowhere",
        expected=f"a sum over `{counted}`, or one that is divided by the size of `{summed}`",
        steps=(*steps, Step(one.op.span, f"divided by the size of `{counted}` here")),
        suggestion=f"sum over axis {kept}, or divide by the size of axis {', '.join(map(str, one.over))}",
    )


def _reductions(facts: Facts, one: _Counted, kept: int) -> Iterator[Op | None]:
    """Return what takes an axis away that a quotient still has, and None for what may do so."""
    starts = [made for by, made in onward(facts, Slot(one.total.operands[0], kept)) if by is one.total]
    before = walk(starts, lambda it: (made for _, made in onward(facts, it)))
    quotient = [it for it in before if it.value is one.op.result]
    if not quotient:
        yield None
    for it in walk(quotient, lambda it: (made for _, made in onward(facts, it))):
        rank = facts.get(Shapes).of(it.value).rank
        if rank is None:
            yield None
        for op in facts.flow.readers.get(it.value, ()):
            axes = axes_in(op.argument("axis")) if op.argument("axis") is not None else (it.place,)
            taken = op.name == "array.reduce" and axes is not None and rank is not None and it.place is not None
            if op.name == "array.dot" or (taken and it.place in (place_of(at or 0, rank) for at in axes or ())):
                yield op


def _counted_sums(facts: Facts) -> Iterator[_Counted]:
    flow = facts.flow
    for op in facts.program.mapping(*_NORMALISING):
        top, bottom = op.value("x"), op.argument("y")
        total = None if top is None else flow.maker(plain(top, flow))
        wanted = total is not None and total.name == "array.reduce" and total.function in _NORMALISING[op.function]
        if total is None or not wanted or not total.operands or total.argument("axis") is None:
            continue
        axes, count = axes_in(total.argument("axis")), _count(facts, op, bottom)
        dims = facts.get(Shapes).of(total.operands[0]).dims
        places = [place_of(at, len(dims or ())) for at in axes or ()]
        if count is not None and dims is not None and places and None not in places:
            yield _Counted(op, total, count, dims, tuple(at for at in places if at is not None))


def _count(facts: Facts, op: Op, given: Argument) -> Dim | None:
    """Return the size that an op divides by, or whose logarithm it subtracts; None where it is none."""
    if op.function == "subtract":
        made = facts.flow.maker(given) if isinstance(given, Value) else None
        if made is None or made.function != "log":
            return None
        given = next(iter(made.arguments.values()), None)
    return literal(plain(given, facts.flow) if isinstance(given, Value) else given, facts.get(Shapes).of).number
