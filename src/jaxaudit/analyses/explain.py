"""From a fact back to the steps that made it: short sentences with a place each, root first."""

from __future__ import annotations

from collections.abc import Iterator

from jaxaudit.analyses.keys.facts import KeyFacts
from jaxaudit.analyses.keys.terms import Atom, Each, Fold, Global, Number, Part, Row, Seed, Split, Term, View
from jaxaudit.analyses.keys.uses import How, Use
from jaxaudit.ir import Op, Value
from jaxaudit.spans import Span

Told = tuple[Span, str]
"""A place and what happens there."""

_MAX_STEPS = 6


def name_of(facts: KeyFacts, term: Term, value: Value | None = None) -> str:
    """Return the name people know a key by, in backticks where there is one."""
    if value is not None and value.name:
        return f"`{value.name}`"
    return _written(facts, term)


def _written(facts: KeyFacts, term: Term) -> str:
    made = facts.terms.made_by.get(term)
    if isinstance(term, Atom) and term.value.name:
        return f"`{term.value.name}`"
    if made is not None and made[1].name:
        return f"`{made[1].name}`"
    match term:
        case Row(base, Number(index)):
            return (
                f"row {index} of {_written(facts, base)}" if isinstance(index, int) else f"`{str(index).lstrip('.')}`"
            )
        case Row(base) | Part(base) | View(base):
            return f"part of {_written(facts, base)}"
        case Each(base):
            return _written(facts, base)
        case Split(parent):
            return f"the split of {_written(facts, parent)}"
        case Fold(parent):
            return f"the fold-in of {_written(facts, parent)}"
        case Global(name):
            return f"`{name.rpartition('.')[2]}`"
    return "this key"


def explain_term(facts: KeyFacts, term: Term) -> list[Told]:
    """Return how a key came about, from its seed or parameter to itself; the last steps when there are many."""
    told = list(_history(facts, term))[:_MAX_STEPS]
    told.reverse()
    return told


def _history(facts: KeyFacts, term: Term) -> Iterator[Told]:
    while True:
        match term:
            case Split(parent, tag, num):
                count = f" into {num.value}" if isinstance(num, Number) and isinstance(num.value, int) else ""
                key = tag[-1].arguments.get("key")
                name = name_of(facts, parent, key if isinstance(key, Value) else None)
                yield tag[-1].span, f"{name} is split{count} here"
                term = parent
            case Seed(tag):
                yield tag[-1].span, f"{_written(facts, term)} is made from a seed here"
                return
            case Fold(parent):
                if term in facts.terms.made_by:
                    yield facts.terms.made_by[term][0].span, f"data is folded into {_written(facts, parent)} here"
                term = parent
            case Row(base) | Part(base) | Each(base) | View(base):
                term = base
            case _:
                return


def callee_of(op: Op) -> str:
    """Return the name of what an op calls, as people write it."""
    if text := op.qualified or op.callee:
        return text.rpartition(".")[2].replace("<lambda>", "lambda")
    if op.regions and op.regions[0].label:
        return op.regions[0].label.rpartition(".")[2].replace("<lambda>", "lambda")
    if op.name == "py.call_unknown":
        return "an unknown function"
    return {"key.split": "split", "key.fold_in": "fold_in"}.get(op.name, op.name.rpartition(".")[2])


def doer(use: Use) -> str:
    """Name what uses the key."""
    name = callee_of(use.spot)
    return name if " " in name else f"`{name}`"


_VERBS = {How.DRAW: "draws from", How.SPLIT: "splits", How.FOLD: "folds data into", How.PASS: "is given"}


def deed(use: Use) -> str:
    """Return what a use does with its key: ``draws from``, ``splits``."""
    return _VERBS[use.origin.how]


def into_callees(facts: KeyFacts, use: Use) -> list[Told]:
    """Return the way from a call down to the place that really uses the key."""
    told: list[Told] = []
    inner = use.inner
    while inner is not None and len(told) < _MAX_STEPS:
        if inner.spot is not use.spot:
            told.append((inner.spot.span, f"{doer(inner)} {deed(inner)} {name_of(facts, inner.term, inner.value)}"))
        inner = inner.inner
    return told
