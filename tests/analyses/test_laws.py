"""The laws of every domain, on facts that are met in the examples of all rules.

What a fact covers is read off `join`: one fact is below another where joining them gives the other.
"""

from dataclasses import fields, is_dataclass, replace
from functools import cache
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.keys.terms import AnyOf, Global, Stack, Terms
from jaxaudit.analyses.ranges import Range, Ranges, Zero
from jaxaudit.analyses.ranges.facts import EVERYWHERE, Filler
from jaxaudit.analyses.shapes.facts import ShapeFact, forget
from jaxaudit.analyses.solve import DOMAINS, SOURCES, solve_domain
from jaxaudit.analyses.tracing import Kind, Trace, TracingFacts
from jaxaudit.analyses.uses import Uses
from jaxaudit.frontends.base import SourceFile
from jaxaudit.frontends.source.read import read_source
from jaxaudit.rules.registry import all_rules

KINDS = list(DOMAINS)
MOST_CHANGES = 40


@cache
def program():
    """Return one program of many small files: facts of one program can be joined with each other."""
    codes = [one.program for rule in all_rules() for one in (*rule.valid, *rule.invalid)]
    files = [SourceFile(f"example_{number}.py", code) for number, code in enumerate(codes) if number % 4 == 0]
    texts = {file.path: file.text for file in files}
    return read_source(files, texts.get).program


@cache
def met(kind: type):
    """Return a domain, the facts that it gave to values, and the ops that made them."""
    facts = Facts(program())
    domain, bases = DOMAINS[kind]
    for base in bases:
        facts.solved[base] = SOURCES[base].make(facts)
    made = domain(facts)
    solution = solve_domain(facts.program, made)
    pool = list(dict.fromkeys(solution.facts.values()))
    return made, solution, pool


numbers = st.sampled_from((-inf, -3.0, -1.0, 0.0, 0.5, 1.0, 7.0, inf))
zeros = st.builds(Zero, st.sampled_from("ab"), st.booleans(), st.sampled_from((frozenset(), EVERYWHERE)), st.booleans())
INVENTED = {
    # Only what is traced can be seen again by a later turn.
    TracingFacts: st.builds(
        Trace,
        st.sampled_from(Kind),
        st.sampled_from(("", "array", "numpy", "number", "empty")),
        *(st.booleans() for _ in range(7)),
        holds=st.sampled_from((None, True, False)),
    ).map(lambda one: one if one.kind is Kind.TRACED else replace(one, again=False)),
    Ranges: st.builds(
        lambda ends, *flags, zero, sinks, filler: Range(
            min(ends), max(ends), *flags, zero=zero, sinks=sinks, filler=filler
        ),
        st.tuples(numbers, numbers),
        *(st.booleans() for _ in range(4)),
        zero=st.none() | zeros,
        sinks=st.sampled_from(("", "a", "b")),
        filler=st.none() | st.builds(Filler, st.sampled_from("ab"), st.just(0.0), st.booleans()),
    ),
    Uses: st.integers(0, 2**26 - 1),
}
"""Further facts, of domains in which all of them mean something."""


def facts_of(kind: type):
    """Return facts that were met, and such as could be."""
    return st.sampled_from(met(kind)[2]) | INVENTED.get(kind, st.nothing())


def below(domain, first, second) -> bool:
    """Whether the second fact covers the first."""
    return domain.join(first, second) == second


def covered(domain, first, second) -> bool:
    """The same for what an op makes: names that it gives to what is not known are no knowledge."""
    if isinstance(first, ShapeFact):
        first, second = (_plain(forget(one, lambda atom: False)) for one in (first, second))
    if domain.name == "keys":
        return _covers(second, first)
    if isinstance(first, Range):
        # That some element is zero on some path bounds nothing.
        first, second = (one._replace(nonzero=not one.has_zero, zero=None, sinks="") for one in (first, second))
    return below(domain, first, second)


def _plain(fact):
    """Return a fact without labels, which are evidence of what axes are and not of their sizes."""
    if fact.dims is not None:
        number = None if fact.number is None else fact.number.plain()
        return replace(fact, dims=tuple(dim.plain() for dim in fact.dims), number=number)
    if fact.outline is not None:
        head, tail = (tuple(dim.plain() for dim in part) for part in (fact.outline.head, fact.outline.tail))
        return replace(fact, outline=replace(fact.outline, head=head, tail=tail))
    return fact if fact.items is None else replace(fact, items=tuple(map(_plain, fact.items)))


def _is_ordered(fact) -> bool:
    """Whether less is known by a fact than by those below it: what later turns trace is worse news, and not less."""
    return not (isinstance(fact, Trace) and fact.again)


def _covers(term, other) -> bool:
    """Whether a term stands for another one: the same term, one of several, or alike with parts that do."""
    if isinstance(term, AnyOf) and not isinstance(other, AnyOf):
        return any(_covers(item, other) for item in term.items)
    if isinstance(term, AnyOf):
        return all(_covers(term, item) for item in other.items)
    if isinstance(term, tuple) and isinstance(other, tuple):
        return len(term) == len(other) and all(map(_covers, term, other))
    if term is other or type(term) is not type(other) or not is_dataclass(term):
        return term == other
    # What stands for itself is not known, and stands for anything.
    return all(_covers(getattr(term, one.name), getattr(other, one.name)) for one in fields(term))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_join(kind, data):
    domain = met(kind)[0]
    a, b, c = (data.draw(facts_of(kind)) for _ in range(3))
    assert domain.join(a, a) == a
    assert domain.join(a, b) == domain.join(b, a)
    assert domain.join(domain.join(a, b), c) == domain.join(a, domain.join(b, c))
    assert below(domain, a, domain.join(a, b))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_widen(kind, data):
    domain = met(kind)[0]
    old, new = data.draw(facts_of(kind)), data.draw(facts_of(kind))
    wide = domain.widen(old, new)
    assert below(domain, old, wide)
    assert below(domain, new, wide)


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if not DOMAINS[kind][0].by_summary], ids=lambda kind: kind.__name__
)
@given(data=st.data())
def test_rising_sequences_end(kind, data):
    domain = met(kind)[0]
    fact, changes = data.draw(facts_of(kind)), 0
    for new in data.draw(st.lists(facts_of(kind), max_size=200)):
        wide = domain.widen(fact, new)
        changes += wide != fact
        fact = wide
    assert changes <= MOST_CHANGES


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_transfer_is_monotone(kind, data):
    domain, solution, _ = met(kind)
    known = [op for op in program().walk() if op.operands and not op.regions and op.name in domain.table]
    op = data.draw(st.sampled_from(known))
    forward = domain.direction.value == "forward"
    given_values, made_values = (op.operands, op.results) if forward else (op.results, op.operands)
    if not given_values:
        return
    if op.name == "array.numpy" and any(isinstance(solution.of(value), Trace) for value in given_values):
        # NumPy raises where it is given what JAX traces, and there is nothing to cover after that.
        return
    raised = data.draw(st.sampled_from(given_values))
    more = domain.join(solution.of(raised), data.draw(facts_of(kind).filter(_is_ordered)))
    first = domain.table[op.name](op, solution.of)
    second = domain.table[op.name](op, lambda value: more if value is raised else solution.of(value))
    for value, low, high in zip(made_values, first, second, strict=False):
        low, high = (domain.unknown(value) if one is None else one for one in (low, high))
        if isinstance(low, Range) and low.integer and (low.low, low.high) == (-inf, inf):
            # Wide integers are taken for small enough where no bound shows that they wrap around, as one did here.
            continue
        assert covered(domain, low, high), (
            f"{op.name} {op.qualified} {op.arguments} {solution.of(raised)}\n{more}\n{low}\n{high}"
        )


def test_a_row_of_one_of_several_arrays_of_keys_is_a_row_of_each():
    terms = Terms()
    known = terms.make(Stack, (terms.number(1), terms.number(2)), True)
    either = terms.any_of((known, terms.make(Global, "keys")))
    last = terms.row(either, terms.number(-1))
    assert isinstance(last, AnyOf)
    assert terms.number(2) in last.items
    rest = terms.part(either, 1, None)
    assert isinstance(rest, AnyOf)
    assert terms.make(Stack, (terms.number(2),), True) in rest.items
