"""The laws that dims keep: arithmetic on forms is arithmetic on the numbers they stand for."""

from hypothesis import given
from hypothesis import strategies as st

from jaxaudit.analyses.dims import ONE, UNKNOWN, ZERO, constant, differ, evaluate, same, variable

NAMES = "abc"
VARIABLES = {name: variable(name) for name in NAMES}


def grow(inner):
    pairs = st.tuples(inner, inner)
    return st.one_of(
        pairs.map(lambda pair: pair[0] + pair[1]),
        pairs.map(lambda pair: pair[0] - pair[1]),
        pairs.map(lambda pair: pair[0] * pair[1]),
        st.tuples(inner, st.integers(1, 6)).map(lambda pair: pair[0] // constant(pair[1])),
        st.tuples(inner, st.integers(1, 6)).map(lambda pair: pair[0] % constant(pair[1])),
    )


LEAVES = st.one_of(st.integers(-4, 8).map(constant), st.sampled_from(list(VARIABLES.values())))
DIMS = st.recursive(LEAVES, grow, max_leaves=6)
NUMBERS = st.fixed_dictionaries({name: st.integers(1, 12) for name in NAMES})


def value(dim, numbers):
    return None if not dim.known else evaluate(dim, numbers)


@given(DIMS, DIMS, NUMBERS)
def test_arithmetic_is_that_of_the_numbers(first, second, numbers):
    a, b = value(first, numbers), value(second, numbers)
    if a is None or b is None:
        return
    for made, expected in ((first + second, a + b), (first - second, a - b), (first * second, a * b)):
        assert value(made, numbers) in (None, expected)


@given(DIMS, st.integers(1, 9), NUMBERS)
def test_quotient_and_remainder_are_those_of_the_numbers(dim, by, numbers):
    number = value(dim, numbers)
    if number is not None:
        assert value(dim // constant(by), numbers) == number // by
        assert value(dim % constant(by), numbers) == number % by


@given(DIMS, NUMBERS)
def test_division_by_a_factor_gives_the_other(dim, numbers):
    factor = VARIABLES["a"]
    if (dim * factor).known:
        assert same((dim * factor) // factor, dim)
        assert same((dim * factor) % factor, ZERO)


@given(DIMS, DIMS, NUMBERS)
def test_what_is_the_same_is_equal_and_what_differs_is_not(first, second, numbers):
    a, b = value(first, numbers), value(second, numbers)
    if same(first, second):
        assert a == b
    if differ(first, second):
        assert a != b
    assert not (same(first, second) and differ(first, second))


@given(DIMS, DIMS)
def test_normal_form_does_not_depend_on_the_order(first, second):
    assert first + second == second + first
    assert first * second == second * first


def test_nothing_is_said_about_the_unknown():
    assert not same(UNKNOWN, UNKNOWN)
    assert not differ(UNKNOWN, ONE)
    assert not (UNKNOWN + ONE).known


def test_sizes_are_written_as_people_do():
    n = VARIABLES["a"]
    assert str(n * n + constant(2) * n - ONE) == "a*a + 2*a - 1"
    assert str((n + ONE) // constant(2)) == "(a + 1)//(2)"
