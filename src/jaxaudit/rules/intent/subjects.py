"""What the obligations on keys are about: the names of a key, and the places where people would speak of it."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.keys import KeyFacts
from jaxaudit.analyses.keys.terms import root
from jaxaudit.ir import Op
from jaxaudit.libraries.lookup import plays
from jaxaudit.rules.base import Obligation
from jaxaudit.spans import Span


def keys_of(facts: Facts) -> KeyFacts:
    """Return what is known of keys."""
    return facts.get(KeyFacts)


def names_of(one: Obligation, facts: Facts) -> Iterator[str]:
    """Return the names that the key of an obligation goes by."""
    keys, around = keys_of(facts), one.subject.around
    for use in one.subject.uses[-1:]:
        yield from (one.value.name if one.value is not None else "" for one in use.chain)
        yield from (made[1].name for term in (use.term, root(use.term)) if (made := keys.terms.made_by.get(term)))
    axes = None if around is None else around.in_axes
    if around is not None and isinstance(axes, tuple):
        yield from (value.name for value, axis in zip(around.operands, axes, strict=False) if axis is None)


def places_of(one: Obligation, facts: Facts) -> Iterator[Span]:
    """Return the places where a comment may speak of a key: its uses, and where it is made."""
    for use in one.subject.uses:
        yield from (use.spot.span, use.origin.spot.span)
    for use in one.subject.uses[-1:]:
        made = (keys_of(facts).terms.made_by.get(term) for term in (use.term, root(use.term)))
        yield from (found[0].span for found in made if found is not None)


def asks_for_key(op: Op) -> bool:
    """Whether an op runs a module with a key for it as a whole, though it may draw nothing."""
    return op.name == "key.draw" and plays(op.qualified, "module.apply") and not op.folds


def is_in_test_function(one: Obligation, facts: Facts) -> bool:
    """Whether a key is used in a function that test runners would call."""
    for use in one.subject.uses[-1:]:
        places = keys_of(facts).places
        around = (region for region, _ in places.up(places.region_of[use.spot]))
        function = next((region for region in around if region.kind in ("function", "root")), None)
        return function is not None and function.label.rpartition(".")[2].startswith("test_")
    return False
