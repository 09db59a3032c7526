"""The laws that terms keep: joins form a lattice, equal terms are one object, overlap is symmetric."""

from hypothesis import given
from hypothesis import strategies as st

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.keys.domain import KeysDomain
from jaxaudit.analyses.keys.overlap import Overlap, overlap
from jaxaudit.analyses.keys.terms import MAX_DEPTH, Atom, Each, Fold, Part, Row, Split, Stack, Terms, length
from jaxaudit.ir import Op, Program, Value
from jaxaudit.spans import Span

SPAN = Span("t.py", 1, 0, 1, 1)
DOMAIN = KeysDomain(Facts(Program((), "test")))
TERMS = DOMAIN.terms
OPS = [Op("key.split", (), (), SPAN) for _ in range(3)]
ATOMS = [TERMS.make(Atom, Value(i, SPAN, f"k{i}"), ()) for i in range(3)]


def grow(inner):
    return st.one_of(
        st.builds(
            lambda t, op, n: TERMS.make(Split, t, (op,), TERMS.number(n)),
            inner,
            st.sampled_from(OPS),
            st.integers(1, 4),
        ),
        st.builds(lambda t, i: TERMS.row(t, TERMS.number(i)), inner, st.integers(-3, 3)),
        st.builds(lambda t, i: TERMS.row(t, ATOMS[i]), inner, st.integers(0, 2)),
        st.builds(lambda t, i: TERMS.make(Fold, t, TERMS.number(i)), inner, st.integers(0, 2)),
        st.builds(lambda t, i, j: TERMS.part(t, i, j), inner, st.integers(0, 2), st.none() | st.integers(2, 4)),
        st.builds(lambda t: TERMS.make(Each, t), inner),
    )


terms = st.recursive(st.sampled_from(ATOMS), grow, max_leaves=6)


@given(terms, terms, terms)
def test_join_is_a_semilattice(a, b, c):
    assert DOMAIN.join(a, a) is a
    assert DOMAIN.join(a, b) is DOMAIN.join(b, a)
    assert DOMAIN.join(DOMAIN.join(a, b), c) is DOMAIN.join(a, DOMAIN.join(b, c))


@given(terms, terms)
def test_widening_covers_both(a, b):
    widened = DOMAIN.widen(a, b)
    assert DOMAIN.join(widened, a) is widened
    assert DOMAIN.join(widened, b) is widened


@given(terms, terms)
def test_overlap_is_symmetric(a, b):
    assert overlap(a, b) is overlap(b, a)
    assert overlap(a, a) is Overlap.SAME


def test_rows_of_a_known_split():
    split = TERMS.make(Split, ATOMS[0], (OPS[0],), TERMS.number(3))
    rows = [TERMS.row(split, TERMS.number(i)) for i in range(3)]
    assert TERMS.row(split, TERMS.number(-1)) is rows[2]
    assert overlap(rows[0], rows[1]) is Overlap.DISJOINT
    assert overlap(rows[0], TERMS.make(Each, split)) is Overlap.SAME
    rest = TERMS.part(split, 1, None)
    assert length(rest) == 2
    assert TERMS.row(rest, TERMS.number(0)) is rows[1]
    assert overlap(rows[0], TERMS.make(Each, rest)) is Overlap.DISJOINT
    assert overlap(rows[2], rest) is Overlap.SAME


def test_stacked_keys_are_taken_apart_again():
    stack = TERMS.make(Stack, tuple(ATOMS), True)
    assert TERMS.row(stack, TERMS.number(1)) is ATOMS[1]
    assert isinstance(TERMS.part(TERMS.make(Split, stack, (OPS[0],), TERMS.number("?")), 1, 3), Part)


def test_fields_of_a_record_may_be_anything():
    field = TERMS.make(Row, ATOMS[0], TERMS.number(".rng"))
    assert overlap(field, ATOMS[0]) is Overlap.MAYBE
    assert overlap(field, TERMS.make(Row, ATOMS[0], TERMS.number(".key"))) is Overlap.DISJOINT


def test_long_histories_stay_shallow():
    terms = Terms()
    value = Value(1, SPAN, "key")
    term = terms.make(Atom, value, ())
    for _ in range(1000):
        term = terms.row(
            terms.make(Split, terms.shallow(term, value), (Op("key.split", (), (), SPAN),), terms.number(2)),
            terms.number(0),
        )
    assert max(terms.depth.values()) <= MAX_DEPTH + 2
