"""Compares what the two front ends say of the same value at the same place.

A place may be reached in several contexts, and each front end may make several values there. So a trace contradicts the
source only where nothing that the source says of a place can be true of anything that the trace shows there: what is
unknown contradicts nothing. That leaves some contradictions unseen, and what is reported is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from benchmarks.agreement.places import Observed, observations, source_ops
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.shapes.facts import ShapeFact, canonical
from jaxaudit.analyses.solve import solve, solve_domain
from jaxaudit.analyses.tracing import TracingDomain
from jaxaudit.analyses.tracing.facts import Kind
from jaxaudit.ir import ArrayType, Program
from jaxaudit.spans import Span


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two answers of which one is wrong."""

    span: Span
    kind: str
    """`shape`, `dtype` or `traced`."""
    source: str
    trace: str

    def __str__(self) -> str:
        return f"{self.span}: {self.kind}: source says {self.source}, the trace {self.trace}"


@dataclass(slots=True)
class Agreement:
    """What the comparison of one program, or of many, gave."""

    programs: int = 0
    contradictions: list[Contradiction] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    """`observed`: different answers of the trace; of these `unpaired`: the source has no value there; `shape`, `rank`
    and `dtype`: the source knew it, all sizes or only how many axes there are."""

    def add(self, other: Agreement) -> None:
        """Put the figures of another program to these."""
        self.programs += other.programs
        self.contradictions += other.contradictions
        self.counts.update(other.counts)

    @property
    def coverage(self) -> float:
        """The share of the observed shapes that the source knew in full."""
        return self.counts["shape"] / max(1, self.counts["observed"])

    def __str__(self) -> str:
        count = self.counts
        known = (
            f"{count['shape']} shapes ({100 * self.coverage:.0f}%), {count['rank']} more ranks, {count['dtype']} dtypes"
        )
        return (
            f"{self.programs} programs, {count['observed']} observed values ({count['unpaired']} at places where the "
            f"source makes none): source knew {known}; {len(self.contradictions)} contradictions"
        )


def compare(source: Program, traced: Program) -> Agreement:
    """Compare a program as it was read with the same program as it was traced."""
    found = Agreement(1)
    solved = solve(source, {Shapes})
    shapes, tracing = solved.get(Shapes), solve_domain(source, TracingDomain(solved))
    places = source_ops(source)
    for one in observations(traced):
        ops = places.get(one.span, ())
        if one.constant and ops and all(op.operands for op in ops):
            continue
        values = [value for op in ops for value in op.results]
        facts = [shapes.of(value) for value in values]
        found.counts += _known(one, facts)
        found.contradictions += _contradictions(one, facts)
        kinds = {tracing.of(value).kind for value in values}
        if one.inside and kinds and kinds <= _AT_HAND:
            text = " or ".join(sorted(kind.value for kind in kinds))
            found.contradictions.append(Contradiction(one.span, "traced", text, "that JAX traces it"))
    return found


def _known(one: Observed, facts: Sequence[ShapeFact]) -> Counter[str]:
    """Count one observed value, and what the source knew of it."""
    pairs = [(fact, kind) for fact in facts for kind in one.types]
    shape, rank = any(_is_known(*pair) for pair in pairs), any(_has_rank(*pair) for pair in pairs)
    dtype = any(fact.dtype == canonical(kind.dtype) for fact, kind in pairs)
    return Counter(observed=1, unpaired=not facts, shape=shape, rank=rank and not shape, dtype=dtype)


_AT_HAND = {Kind.STATIC, Kind.CONCRETE}


def _contradictions(one: Observed, facts: Sequence[ShapeFact]) -> Iterator[Contradiction]:
    if not facts:
        return
    source, trace = " or ".join(dict.fromkeys(map(str, facts))), " or ".join(map(_text, one.types))
    if not any(_fits(fact, kind) for fact in facts for kind in one.types):
        yield Contradiction(one.span, "shape", source, trace)
    elif not any(fact.dtype in (None, canonical(kind.dtype)) for fact in facts for kind in one.types):
        yield Contradiction(one.span, "dtype", source, trace)


def _fits(fact: ShapeFact, kind: ArrayType) -> bool:
    """Whether a fact can be true of an array of a type."""
    if fact.dims is None:
        return True
    return _has_rank(fact, kind) and all(
        dim.constant in (None, size) for dim, size in zip(fact.dims, kind.shape, strict=True)
    )


def _has_rank(fact: ShapeFact, kind: ArrayType) -> bool:
    return fact.dims is not None and len(fact.dims) == len(kind.shape)


def _is_known(fact: ShapeFact, kind: ArrayType) -> bool:
    """Whether a fact says the sizes of all axes, and says them right."""
    return fact.dims is not None and tuple(dim.constant for dim in fact.dims) == kind.shape


def _text(kind: ArrayType) -> str:
    return f"{kind.dtype}[{', '.join(map(str, kind.shape))}]"
