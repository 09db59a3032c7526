"""What ops make of arrays whose rank is not known: they are tried on paper with two ranks, and what both show holds.

An op counts axes from the front or from the back. Where there are many, those that it names are told from the others in
one try. Another with as few axes as it takes shows whether front and back get in each other's way: a result that is not
of the same form depends on the rank, and is not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from jaxaudit.analyses.dims import Atom
from jaxaudit.analyses.shapes.broadcast import shape_text
from jaxaudit.analyses.shapes.facts import NOTHING, ShapeFact, outline_of
from jaxaudit.analyses.shapes.outlines import MANY, agrees, form_of, outlines_in, with_rank
from jaxaudit.analyses.shapes.result import Fit
from jaxaudit.analyses.shapes.transfer.look import Look, Transfer
from jaxaudit.ir import REST, Argument, Op, Value
from jaxaudit.ir.functions import COMPARISONS, MATRIX_PRODUCTS
from jaxaudit.ir.ops import ELEMENTWISE

_PAIRED = ELEMENTWISE | {"array.dot", "array.join"}
"""Ops of which every operand is an array."""
OPS = _PAIRED | frozenset(
    """py.item array.reduce array.order array.linalg array.scan array.reshape array.permute array.expand array.squeeze
    array.move array.split array.gather array.scatter""".split()
)
_CLASHING = ELEMENTWISE | MATRIX_PRODUCTS | {"array.join"}
"""Ops and functions that name no axes but one of the first or last: what clashes with many does so with more."""


def for_any_rank(transfer: Transfer, name: str) -> Transfer:
    """Return a transfer function of ops of a name that also tells what becomes of arrays of unknown rank."""

    def run(op: Op, look: Look) -> Sequence[ShapeFact | None]:
        made = transfer(op, look)
        if any(fact is not None and _is_told(fact) for fact in made):
            return made
        found = _found(transfer, op, look, name)
        return made if found is None else found

    return run


def _is_told(fact: ShapeFact) -> bool:
    sequenced = fact.items is not None or fact.each is not None or fact.sizes is not None
    return fact.dims is not None or fact.outline is not None or bool(fact.symbol) or sequenced


def _found(transfer: Transfer, op: Op, look: Look, name: str) -> Sequence[ShapeFact] | None:
    whole = _whole(op, look, name)
    if whole is None:
        return None
    facts = [look.read(value) for value in op.operands]
    spoken_of = [one for fact in facts if (one := fact.sizes or outline_of(fact)) is not None]
    least = max(one.least for one in spoken_of if one.whole == whole)
    fixed = max((len(fact.dims) for fact in facts if fact.dims), default=0)
    many = max(least, fixed) + MANY
    wide, made = _try(transfer, op, look, whole, many, many // 2)
    if wide.fit is Fit.CLASHES and _may_clash(op, look, name):
        last = max(one.last for one in spoken_of)
        tries = (_try(transfer, op, look, whole, rank, rank - last)[0] for rank in range(least, many))
        if all(one.fit is Fit.CLASHES for one in tries):
            texts = list(_written(op, look))
            alike = len(texts) > 1 and len(set(texts)) == 1
            look.clash = "arrays with different numbers of axes meet" if alike else " and ".join(texts)
            look.fit = Fit.CLASHES
    forms = None if wide.fit is Fit.CLASHES else [form_of(fact, whole, many) for fact in made]
    if forms is None or all(form is NOTHING for form in forms):
        return None
    split = max((one.last for form in forms for one in outlines_in(form)), default=0)
    for rank in range(least, many):
        narrow, few = _try(transfer, op, look, whole, rank, rank - split)
        if narrow.fit is Fit.CLASHES or all(fact is NOTHING for fact in few):
            continue
        if not all(agrees(form, fact, rank, rank - split) for form, fact in zip(forms, few, strict=True)):
            return None
        if wide.fit is Fit.FITS and narrow.fit in (Fit.FITS, None):
            look.fit, look.clash = Fit.FITS, ""
        return forms
    return None


def _may_clash(op: Op, look: Look, name: str) -> bool:
    """Whether operands that clash where there are many axes do so with all that are more."""
    if _CLASHING.isdisjoint((name, op.function)):
        return False
    # Lists are added and compared too, whatever their lengths.
    may_be_lists = op.is_operator and op.function in COMPARISONS | {"add"}
    outlines = (outline_of(look.read(value)) for value in op.operands)
    return not may_be_lists or any(one is not None and one.tail for one in outlines)


def _written(op: Op, look: Look) -> Iterator[str]:
    for value in op.operands:
        fact = look.read(value)
        outline = outline_of(fact)
        if fact.dims != ():
            yield shape_text(fact.dims) if outline is None else str(outline)


def _whole(op: Op, look: Look, name: str) -> Atom | None:
    """Return the array of unknown rank whose axes all operands have that are no arrays of known rank."""
    if op.name == "py.item" and not _is_of_array(op.arguments.get("index")):
        return None
    given = [look.read(value) for value in op.operands] if name in _PAIRED else [look.first()]
    wholes = {
        None if (outline := outline_of(fact)) is None else outline.whole
        for fact in given
        if fact.dims is None and fact.items is None
    }
    return wholes.pop() if len(wholes) == 1 else None


def _is_of_array(index: Argument) -> bool:
    """Whether only an array is indexed so, or a list that is sliced as an array is."""
    parts = index if isinstance(index, tuple) else (index,)
    return any(part is None or isinstance(part, Mapping) or part == REST for part in parts)


def _try(
    transfer: Transfer, op: Op, look: Look, whole: Atom, rank: int, split: int
) -> tuple[Look, Sequence[ShapeFact]]:
    """Run a transfer function where the whole has this rank."""

    def read(value: Value) -> ShapeFact:
        return with_rank(look.read(value), whole, rank, split)

    here = Look(op, read)
    made = transfer(op, here)
    return here, [NOTHING if fact is None else fact for fact in made]
