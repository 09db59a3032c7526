"""Products of arrays: dot, matmul, einsum, tensordot and their kin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from jaxaudit.analyses.dims import ONE, UNKNOWN, Dim
from jaxaudit.analyses.labels import Label
from jaxaudit.analyses.shapes.broadcast import broadcast, equal, meet, shape_text
from jaxaudit.analyses.shapes.dtypes import promote
from jaxaudit.analyses.shapes.facts import NOTHING, Dims, ShapeFact, array
from jaxaudit.analyses.shapes.literals import array_like
from jaxaudit.analyses.shapes.result import Fit
from jaxaudit.analyses.shapes.subscripts import Names, subscripts
from jaxaudit.analyses.shapes.transfer.look import Look, Single, Transfer, single
from jaxaudit.ir import REST


def _operands(look: Look) -> tuple[ShapeFact, ShapeFact] | None:
    given = [array_like(look.of(value)) for value in islice(look.op.arguments.values(), 2)]
    if not look.op.arguments:
        given = [look.read(value) for value in look.op.operands]
    return (given[0], given[1]) if len(given) >= 2 else None


def _dtype(look: Look, given: Sequence[ShapeFact]) -> str | None:
    return None if look.has("preferred_element_type") else promote(given)[0]


def _contract(look: Look, a: Dims, b: Dims, left: Dim, right: Dim) -> None:
    fit = equal(left, right)
    look.judge(fit, f"{shape_text(a)} and {shape_text(b)}" if fit is Fit.CLASHES else "")


def _matmul(look: Look) -> ShapeFact:
    pair = _operands(look)
    if pair is None or pair[0].dims is None or pair[1].dims is None:
        return NOTHING
    a, b = pair[0].dims, pair[1].dims
    if not a or not b:
        look.judge(Fit.CLASHES, f"{shape_text(a)} and {shape_text(b)}: a product needs axes on both sides")
        return NOTHING
    _contract(look, a, b, a[-1], b[-2] if len(b) > 1 else b[0])
    batch, fit = broadcast((a[:-2], b[:-2]))
    if a[:-2] or b[:-2]:
        look.judge(fit, f"{shape_text(a)} and {shape_text(b)}")
    if batch is None:
        return NOTHING
    dims = (*batch, *a[-2:-1], *(b[-1:] if len(b) > 1 else ()))
    return array(dims, _dtype(look, pair))


def _dot(look: Look) -> ShapeFact:
    pair = _operands(look)
    if pair is None or pair[0].dims is None or pair[1].dims is None:
        return NOTHING
    a, b = pair[0].dims, pair[1].dims
    if not a or not b:
        return array((*a, *b), _dtype(look, pair))
    inner = b[-2] if len(b) > 1 else b[0]
    _contract(look, a, b, a[-1], inner)
    return array((*a[:-1], *b[:-2], *(b[-1:] if len(b) > 1 else ())), _dtype(look, pair))


def _general(look: Look) -> ShapeFact:
    """A product whose axes are named by number, as traces have it; one of JAX's own has sizes that go together."""
    pair = _operands(look)
    if pair is not None and pair[0].dims and pair[1].dims and look.has("dimension_numbers"):
        look.judge(Fit.OPEN, "the sizes that are summed over")
    return NOTHING


def _outer(look: Look) -> ShapeFact:
    pair = _operands(look)
    if pair is None or pair[0].rank != 1 or pair[1].rank != 1:
        return NOTHING
    return array((*(pair[0].dims or ()), *(pair[1].dims or ())), _dtype(look, pair))


def _scalar(look: Look) -> ShapeFact:
    pair = _operands(look)
    return NOTHING if pair is None else array((), _dtype(look, pair))


def _inner(look: Look) -> ShapeFact:
    pair = _operands(look)
    if pair is None or not pair[0].dims or not pair[1].dims:
        return NOTHING
    a, b = pair[0].dims, pair[1].dims
    _contract(look, a, b, a[-1], b[-1])
    return array((*a[:-1], *b[:-1]), _dtype(look, pair))


def _tensordot(look: Look) -> ShapeFact:
    pair, axes = _operands(look), look.raw("axes")
    count = 2 if axes is None else axes
    if pair is None or pair[0].dims is None or pair[1].dims is None or not isinstance(count, int):
        return NOTHING
    a, b = pair[0].dims, pair[1].dims
    if count > min(len(a), len(b)):
        look.judge(Fit.CLASHES, f"{count} axes of {shape_text(a)} and {shape_text(b)}")
        return NOTHING
    for left, right in zip(a[len(a) - count :], b[:count], strict=True):
        _contract(look, a, b, left, right)
    return array((*a[: len(a) - count], *b[count:]), _dtype(look, pair))


def _einsum(look: Look) -> ShapeFact:
    written = subscripts(look.op)
    if written is None:
        return NOTHING
    facts = [array_like(look.of(value)) for value in written.operands]
    spelled = written.spelled([fact.rank for fact in facts])
    if spelled is None:
        look.judge(Fit.OPEN)
        return NOTHING
    inputs, output = spelled
    sizes: dict[str, Dim] = {}
    for names, written_names, fact in zip(inputs, written.inputs, facts, strict=True):
        if names is None or not _named(look, names, written_names, fact, sizes):
            if fact.dims is not None:
                return NOTHING
    dims = tuple(_noted(sizes.get(name, UNKNOWN), name, look) for name in output)
    return array(dims, _dtype(look, facts))


def _named(look: Look, names: Names, written: Names, fact: ShapeFact, sizes: dict[str, Dim]) -> bool:
    """Bind the names of one operand's axes; False where they cannot be."""
    if fact.dims is None:
        sizes.update({name: sizes.get(name, UNKNOWN) for name in names})
        look.judge(Fit.OPEN)
        return True
    if len(names) != len(fact.dims):
        look.judge(Fit.CLASHES, f"`{_text(written)}` names {len(names)} axes of {shape_text(fact.dims)}")
        return False
    for name, size in zip(names, fact.dims, strict=True):
        old = sizes.get(name, ONE)
        dim, fit = meet(old, size)
        look.judge(fit, f"axis `{name}` has size {old} and {size}" if fit is Fit.CLASHES else "")
        # Two unknown sizes of one name must be equal, so either of them will do.
        sizes[name] = dim if dim.known else (old if old.known else size).labelled(old.labels | size.labels)
    return True


def _text(names: Names) -> str:
    return "".join(names) if all(len(name) == 1 or name == REST for name in names) else " ".join(names)


def _noted(dim: Dim, name: str, look: Look) -> Dim:
    """Return an axis that has no name yet the one that it has here, for reports."""
    if dim.labels or name.startswith(REST):
        return dim
    span = look.op.span
    return dim.labelled(frozenset((Label("noted", name, f"{span.path}:notes", where=f"einsum at line {span.line}"),)))


_PRODUCTS: Mapping[str, Single] = {
    "dot_general": _general,
    "matmul": _matmul,
    "dot": _dot,
    "vdot": _scalar,
    "inner": _inner,
    "outer": _outer,
    "tensordot": _tensordot,
    "einsum": _einsum,
}


def _product(look: Look) -> ShapeFact:
    known = _PRODUCTS.get(look.function)
    return NOTHING if known is None or look.has("*", "**") else known(look)


TABLE: Mapping[str, Transfer] = {"array.dot": single(_product)}
