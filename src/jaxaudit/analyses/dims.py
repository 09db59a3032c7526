"""Symbolic dimensions: integer polynomials over variables, with floor division and remainder as atoms.

Every dim is kept in one normal form, so that equal forms mean equal sizes in every run. Two dims with different forms
may still be equal; `differ` says so only where no sizes could make them so. `UNKNOWN` equals nothing, not even itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from math import gcd

from jaxaudit.analyses.labels import PLACED, Labels
from jaxaudit.ir.record import entity, record

_MOST_TERMS = 12
"""Longer polynomials are given up: nobody writes such a size on purpose."""


_MOST_LABELS = 16


@entity
class Atom:
    """Something that multiplies: a variable, or a quotient or remainder that does not come out even."""

    text: str
    """Unique for what it stands for; atoms compare and are ordered by it."""
    parts: tuple[Dim, Dim] | None = None
    kind: str = "size"
    """`size`: of an array's axis, hardly ever zero; `number`: any integer; `quotient` or `remainder` of the parts."""
    born: int = 0
    """Rises in program order, so that what a loop's body made can be told from what was there before."""
    turns: tuple[Dim, Dim] | None = None
    """Of a loop variable that counts up from zero: where it stops, and its step."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Atom) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


Monomial = tuple[Atom, ...]
Terms = tuple[tuple[Monomial, int], ...]


@record
class Dim:
    """A polynomial in normal form; `terms` is None for a size nothing is known of.

    Labels say what the axis of this size is. They go with the dim wherever it is moved and are lost in arithmetic.
    """

    terms: Terms | None
    labels: Labels = frozenset()

    @property
    def constant(self) -> int | None:
        """The number this dim is, if it is one."""
        if self.terms is None:
            return None
        if not self.terms:
            return 0
        return self.terms[0][1] if len(self.terms) == 1 and not self.terms[0][0] else None

    @property
    def known(self) -> bool:
        """Whether anything is known of this dim."""
        return self.terms is not None

    def atoms(self) -> Iterable[Atom]:
        """Return every atom, those inside quotients included."""
        for monomial, _ in self.terms or ():
            for atom in monomial:
                yield atom
                for part in atom.parts or ():
                    yield from part.atoms()

    def labelled(self, labels: Labels) -> Dim:
        """Return the same size with further labels; an axis of size one is nobody's in particular."""
        if not labels or labels <= self.labels or self.constant in (-1, 0, 1) or len(self.labels) > _MOST_LABELS:
            return self
        return Dim(self.terms, self.labels | labels)

    def plain(self) -> Dim:
        """Return the same size without labels."""
        return Dim(self.terms) if self.labels else self

    def __add__(self, other: Dim) -> Dim:
        return _combine(self, other, 1)

    def __sub__(self, other: Dim) -> Dim:
        return _combine(self, other, -1)

    def __neg__(self) -> Dim:
        return constant(0) - self

    def __mul__(self, other: Dim) -> Dim:
        if self.terms is None or other.terms is None:
            return UNKNOWN
        return _normal((tuple(sorted(a + b, key=_order)), m * n) for a, m in self.terms for b, n in other.terms)

    def __floordiv__(self, other: Dim) -> Dim:
        return _quotient(self, other)[0]

    def __mod__(self, other: Dim) -> Dim:
        return _quotient(self, other)[1]

    def __str__(self) -> str:
        if self.terms is None:
            return "?"
        texts = [_show(monomial, factor) for monomial, factor in self.terms]
        return " + ".join(texts).replace("+ -", "- ") or "0"


@lru_cache(maxsize=4096, typed=True)
def constant(number: int) -> Dim:
    """Return the dim of a number."""
    return Dim((((), int(number)),) if number else ())


UNKNOWN = Dim(None)
ZERO = constant(0)
ONE = constant(1)


def variable(text: str, kind: str = "size", born: int = 0, turns: tuple[Dim, Dim] | None = None) -> Dim:
    """Return a dim that stands for itself."""
    return Dim((((Atom(text, None, kind, born, turns),), 1),))


def between_bounds(first: Dim, last: Dim, size: Dim) -> Dim:
    """Return the size that a slice leaves, whatever its bounds are; equal bounds of equal sizes leave the same."""
    born = max((atom.born for part in (first, last, size) for atom in part.atoms()), default=0)
    return variable(f"({size})[{first}:{last}]", "size", born)


def same(first: Dim, second: Dim) -> bool:
    """Whether two dims are equal in every run."""
    return first.terms is not None and first.terms == second.terms


def differ(first: Dim, second: Dim) -> bool:
    """Whether two dims are different in every run, arrays without elements aside."""
    gap = (first - second).terms
    if gap is None or len(gap) != 1:
        return False
    if 0 in (first.constant, second.constant):
        # Code that makes empty arrays may well meet other empty ones, or fill them somewhere else.
        return False
    monomial, _ = gap[0]
    return all(atom.kind == "size" for atom in monomial)


def either(first: Dim, second: Dim) -> Dim:
    """Return what two paths leave: the size they agree on, with the labels that both give it."""
    if first == second:
        return first
    shared = first.labels & second.labels
    if same(first, second):
        return Dim(first.terms, shared)
    # Axes of different sizes may be spread over the same devices.
    placed = frozenset(label for label in shared if label.kind in PLACED)
    return Dim(None, placed) if placed else UNKNOWN


def product(dims: Iterable[Dim]) -> Dim:
    """Multiply dims."""
    result = ONE
    for dim in dims:
        result = result * dim
    return result


def whole(dim: Dim) -> Dim:
    """Return a product in which `h // p` times `p` is `h`: in a reshape no element is left over."""
    for monomial, factor in dim.terms or () if dim.terms is not None and len(dim.terms) == 1 else ():
        for at, atom in enumerate(monomial):
            if atom.kind == "quotient" and atom.parts is not None:
                rest = Dim((((*monomial[:at], *monomial[at + 1 :]), factor),))
                times, left = _quotient(rest, atom.parts[1])
                if left == ZERO:
                    return whole(times * atom.parts[0])
    return dim


def evaluate(dim: Dim, numbers: Mapping[str, int]) -> int | None:
    """Return the number a dim is where the variables have these values; None where one is missing."""
    made = rebuilt(dim, lambda atom: constant(numbers[atom.text]) if atom.text in numbers else None)
    return made.constant


def rebuilt(dim: Dim, image: Callable[[Atom], Dim | None]) -> Dim:
    """Return a dim with other dims in the place of its variables; those without an image stay."""
    total = ZERO
    for monomial, factor in dim.terms or ():
        total = total + product((constant(factor), *(_image(atom, image) for atom in monomial)))
    return total if dim.terms is not None else UNKNOWN


def _image(atom: Atom, image: Callable[[Atom], Dim | None]) -> Dim:
    found = image(atom)
    if found is not None:
        return found
    if atom.parts is None:
        return Dim((((atom,), 1),))
    top, bottom = (rebuilt(part, image) for part in atom.parts)
    return top // bottom if atom.kind == "quotient" else top % bottom


def _order(atom: Atom) -> str:
    return atom.text


def _combine(first: Dim, second: Dim, sign: int) -> Dim:
    if first.terms is None or second.terms is None:
        return UNKNOWN
    return _normal((*first.terms, *((monomial, sign * factor) for monomial, factor in second.terms)))


def _normal(terms: Iterable[tuple[Monomial, int]]) -> Dim:
    sums: dict[Monomial, int] = {}
    for monomial, factor in terms:
        sums[monomial] = sums.get(monomial, 0) + factor
    kept = [(monomial, factor) for monomial, factor in sums.items() if factor]
    if len(kept) > _MOST_TERMS:
        return UNKNOWN
    return Dim(tuple(sorted(kept, key=lambda term: (-len(term[0]), tuple(map(_order, term[0]))))))


def _quotient(top: Dim, bottom: Dim) -> tuple[Dim, Dim]:
    """Divide with remainder; what divides evenly leaves the quotient, the rest stays an atom."""
    if top.terms is None or bottom.terms is None or not bottom.terms:
        return UNKNOWN, UNKNOWN
    if same(top, bottom):
        return ONE, ZERO
    if len(bottom.terms) > 1:
        return _atom_pair(top, bottom)
    even: list[tuple[Monomial, int]] = []
    rest: list[tuple[Monomial, int]] = []
    for monomial, factor in top.terms:
        divided = _divide(monomial, factor, *bottom.terms[0])
        if divided is None:
            rest.append((monomial, factor))
        else:
            even.append(divided)
    whole, left = _normal(even), _normal(rest)
    if not left.terms:
        return whole, ZERO
    if left.constant is not None and bottom.constant is not None:
        return whole + constant(left.constant // bottom.constant), constant(left.constant % bottom.constant)
    quotient, remainder = _atom_pair(left, bottom)
    return whole + quotient, remainder


def _divide(monomial: Monomial, factor: int, by: Monomial, divisor: int) -> tuple[Monomial, int] | None:
    if factor % divisor:
        return None
    rest = list(monomial)
    for atom in by:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest), factor // divisor


def _atom_pair(top: Dim, bottom: Dim) -> tuple[Dim, Dim]:
    common = gcd(*(factor for _, factor in (*(top.terms or ()), *(bottom.terms or ()))))
    reduced = _without_shared(_scaled(top, common), _scaled(bottom, common))
    born = max((atom.born for part in (top, bottom) for atom in part.atoms()), default=0)
    quotient = Atom(f"({reduced[0]})//({reduced[1]})", reduced, "quotient", born)
    remainder = Atom(f"({top})%({bottom})", (top, bottom), "remainder", born)
    return Dim((((quotient,), 1),)), Dim((((remainder,), 1),))


def _without_shared(top: Dim, bottom: Dim) -> tuple[Dim, Dim]:
    """Return both without the variables that every term of both is multiplied by."""
    terms = [monomial for monomial, _ in (*(top.terms or ()), *(bottom.terms or ()))]
    for atom in () if () in terms else {*terms[0]}:
        if all(atom in monomial for monomial in terms):
            by = Dim((((atom,), 1),))
            return _without_shared(top // by, bottom // by)
    return top, bottom


def _scaled(dim: Dim, by: int) -> Dim:
    return Dim(tuple((monomial, factor // by) for monomial, factor in dim.terms or ()))


def _show(monomial: Monomial, factor: int) -> str:
    if not monomial:
        return str(factor)
    text = "*".join(atom.text for atom in monomial)
    return text if factor == 1 else f"-{text}" if factor == -1 else f"{factor}*{text}"
