"""Nothing is proved by knowing nothing: each domain is blinded in turn, and rules that read it must leave things open.

Two kinds of tests. The strict one needs no judgement: taking knowledge away never turns an obligation that is violated, open or
not even there into one that is proved, nor one that holds into an error. The other lists every rule that still proves
something while a domain that it reads sees nothing, and says why that proof does not rest on the domain; one that does
is a defect. Both lists are exact, so that a repair shows.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from functools import cache
from zlib import crc32

import pytest
from guards.blind import BLINDED, Sight, nothing, solve_blind
from rules.test_pairs import PAIRS, versions

from jaxaudit.analyses.solve import SOURCES, solve
from jaxaudit.discover import loader
from jaxaudit.frontends.base import SourceFile
from jaxaudit.frontends.source.read import read_source
from jaxaudit.ir import Program, Value
from jaxaudit.rules.base import Obligation, Rule, Verdict
from jaxaudit.rules.merge import merge
from jaxaudit.rules.registry import all_rules
from jaxaudit.spans import Span

NEEDS = {need for rule in all_rules() for need in rule.needs}


def half(bit: int, side: int) -> Sight:
    """See every second value or so, by its place and name: these stay what they are when a front end changes."""

    def sees(value: Value) -> bool:
        place = f"{value.span.line}:{value.span.column}:{value.name}"
        return (crc32(place.encode()) >> bit) % 2 == side

    return sees


SIGHTS = [nothing, *(half(bit, side) for bit in range(8) for side in (0, 1))]
"""Nothing at all, and halves of all values: with half of the facts a rule may forget that it lacks the others."""

INDEPENDENT = {
    "Axes": {
        "batched-argument-broadcast": "which arguments have the mapped axis is known with their shapes",
        "nested-vmap-order": "which map made an axis is known with its shape",
        "reduction-over-wrong-axis": "the axis of the softmax and that of the sum stand in the calls",
        "scanned-axis-not-time": "which op made an axis is known with its shape",
        "silent-broadcast": "an array that fits one place only by its sizes",
    },
    "KeyFacts": {
        "rows-in-two-orders": "what is indexed by one draw is in one order, whatever its key",
        "same-key-in-loop": "a loop that is left after the use has one turn with it",
    },
    "Ranges": {
        "bound-out-of-reach": "where a counter ends stands in the call",
        "carry-never-changes": "which value goes where is data flow",
        "end-never-read": "from where to where a loop counts stands in its call",
        "end-never-written": "from where to where a loop counts stands in its call",
        "integer-overflow": "where a range ends stands in the call",
        "mask-along-other-axis": "a number that is written down is as low as it is",
        "fraction-cut-off": "a number that is written down is whole or not",
        "out-of-bounds-index": "the index is a constant",
        "reduction-over-wrong-axis": "both axes stand in the calls",
        "uphill-step": "the share of a decay that is written down has a sign",
        "where-nan-gradient": "no function in the arms has an infinite slope anywhere: which stand there is data flow",
        "wrong-custom-derivative": "how many gradients a rule gives and what they are made of is data flow",
    },
    "Shapes": {
        "accumulation-lost": "what each turn makes of what is carried is data flow",
        "operator-not-associative": "what a function makes of three elements is algebra, whatever their shapes",
        "rows-in-two-orders": "what is indexed by one draw is in one order, whatever its size",
        "integer-overflow": "where a range ends stands in the call",
        "variance-merged-without-means": "how two means are weighed by their counts is algebra, for any number of samples",
        "order-not-restored": "which way a scan runs, and what turns its results, is written down",
        "bound-out-of-reach": "numbers that are written down are known",
        "ignored-argument": "which parameters a body mentions is syntax",
        "axis-conflict": "an array meets itself",
        "bitwise-before-comparison": "brackets are syntax",
        "broken-straight-through": "terms cancel by algebra",
        "combined-with-itself": "which op computes a side is data flow",
        "carry-type-changes": "what `optax` gives back has the type of what it was given",
        "done-taken-both-ways": "which flag decides on what, and the other way round, is data flow",
        "end-never-read": "stretches of an array that are cut at opposite ends are all of it",
        "hard-coded-axis": "a reduction without an axis reduces all",
        "leak-across-episodes": "what is multiplied with what is data flow",
        "length-as-rank": "which call made a number is data flow",
        "none-shifts-leaves": "which entries of a tree are None is structure",
        "local-position-as-global": "which positions are moved by the place of the device is data flow",
        "one-device-taken-for-all": "what passes a reduction over devices is data flow",
        "out-of-bounds-index": "positions along an axis of an array select along that axis of it",
        "parameters-of-several-models": "which axes maps and stacks give to leaves is written down",
        "reduction-over-wrong-axis": "the axis of the softmax and that of the sum stand in the calls",
        "reverse-through-while-loop": "what depends on what is data flow",
        "scaled-by-device-count": "under `pmap`, what is averaged and over which axis stands in the calls",
        "shifted-along-other-axis": "both axes stand in the calls",
        "size-not-integer": "which operator makes a number is data flow",
        "spec-does-not-fit": "the entries of shardings and what they speak of are structure",
        "key-reused": "which uses have one key, and from where to where a written loop counts, is known without shapes",
        "same-key-across-vmap": "which key each element of a map has is known without shapes",
        "too-few-subkeys": "how many keys a split gives and which of them are taken stands in the calls",
        "donated-value-read": "what reads a value below a call, and what stands around the call, is data flow",
        "memory-cleared-at-other-step": "by which flag a memory is cleared, and of which step it is, is data flow",
        "static-argument-misuse": "which arguments are static stands in the call",
        "tuple-leaf-as-tree": "what a tree holds is structure",
        "swapped-results": "which variable takes the successor of what it held is data flow",
        "unchanged-carry": "which value goes where is data flow",
        "uneven-reset": "which results are chosen by which flag is data flow",
        "unrolled-loop": "the number of turns is a constant",
        "unused-mask": "who reads what is data flow",
        "write-position-never-wraps": "how a position moves on is data flow",
        "wrong-argnums": "where a gradient is applied is data flow",
        "wrong-bootstrap": "by how many steps two values are apart stands in slices, indices and carries",
        "wrong-collective": "under `pmap` the mean of the means of all devices is that of all, whatever its axes",
        "wrong-custom-derivative": "how many gradients a rule gives, and which are `None`, is data flow",
    },
    "Uses": {
        "accumulation-lost": "whether a turn starts a sum anew is syntax",
        "ignored-argument": "which parameters a body mentions is syntax",
        "reduction-over-wrong-axis": "both axes stand in the calls",
        "bound-out-of-reach": "where a counter ends stands in the call",
        "average-not-returned": "what is given back is data flow",
        "module-state-mishandled": "which leaves are functions is structure",
        "unchanged-carry": "which value goes where is data flow",
        "value-never-read": "which binding a read sees is syntax",
    },
    "Versions": {
        "stale-observation": "what a function is given, and what is given back beside its result, is data flow",
        "updates-for-other-parameters": "what two calls are given is data flow",
        "carry-out-of-step": "what a function is given and what it returns is data flow",
        "result-discarded": "what stands as a statement is syntax",
        "module-state-mishandled": "which leaves are functions is structure",
        "unchanged-carry": "which value goes where is data flow",
        "value-never-read": "which binding a read sees is syntax",
    },
    "TracingFacts": {
        "broken-straight-through": "terms cancel by algebra",
        "index-not-integer": "the type of an index is known with its shape",
        "changed-copy-dropped": "what a body changes in place, and what it gives back, is data flow",
        "retrace-every-call": "an argument that no turn makes is the same in all",
        "reverse-through-while-loop": "what depends on what is data flow",
        "static-argument-misuse": "a constant can be hashed",
        "tracer-leak": "a body without any store leaks nothing",
        "stale-captured-state": "what nobody writes into does not change, whatever it is",
        "donated-value-read": "what reads a value below a call, and what stands around the call, is data flow",
        "difference-of-large-numbers": "what functions of `jax.numpy` make is an array",
        "dynamic-shape": "the size is given in the call",
        "impure-body": "a body without any store changes nothing",
        "iterator-in-traced-code": "the argument is a container as it is written",
        "python-branch-on-traced": "the length of a written `range` is a constant",
        "python-random-in-traced-code": "which transformation stands around a line is structure",
        "side-effect-in-traced-code": "a body without any store changes nothing",
        "arithmetic-on-list": "what a function of `jax.numpy` makes is an array, and a constant a number",
        "bitwise-before-comparison": "brackets and constants are syntax",
        "inverted-python-bool": "what goes into `&` alone is data flow",
        "length-as-rank": "which call made a number is data flow",
        "result-discarded": "what stands as a statement is syntax",
        "size-not-integer": "the op that computes a size says what it gives",
    },
}
"""Rules that prove something while the domain sees nothing, and why that is right."""


WHOLE = PAIRS[::4]
"""Programs as users write them, each right and with a mistake."""

SETS = {"Versions"}
"""Domains of sets: with some members gone the others are as true as before."""


@cache
def program_of(code: str) -> Program:
    files = [SourceFile("example.py", textwrap.dedent(code))]
    return read_source(files, loader(files)).program


def examples(rule: type[Rule]) -> Iterator[Program]:
    return (program_of(example.program) for example in (*rule.valid, *rule.invalid))


def judged(rules: Sequence[type[Rule]], program: Program, facts) -> dict[tuple[str, Span], Obligation]:
    return {(one.rule, one.span): one for one in merge(one for rule in rules for one in rule().run(program, facts))}


def changes(rule: type[Rule], kind: type) -> Iterator[tuple[str, str, str, str]]:
    """Return verdicts that differ when a domain knows less, and do not say that something is open."""
    for program in examples(rule):
        whole = judged([rule], program, solve(program, rule.needs))
        for sight in SIGHTS:
            for key, one in judged([rule], program, solve_blind(program, rule.needs, kind, sight)).items():
                before = whole[key].verdict.value if key in whole else "none"
                if one.verdict is not Verdict.UNKNOWN and one.verdict.value != before:
                    yield kind.__name__, rule.name, before, one.verdict.value


def test_every_domain_can_be_blinded():
    assert set(BLINDED) == set(SOURCES)
    assert set(INDEPENDENT) == {kind.__name__ for kind in SOURCES}


def test_less_knowledge_never_decides_more():
    found = {one for rule in all_rules() for kind in rule.needs for one in changes(rule, kind)}
    assert not found


@pytest.mark.parametrize("kind", BLINDED, ids=lambda kind: kind.__name__)
def test_less_knowledge_of_whole_programs_never_decides_more(kind):
    readers = [rule for rule in all_rules() if kind in rule.needs]
    found: set[tuple[str, str, str]] = set()
    for program in (program_of(text) for path in WHOLE for text in versions(path.read_text(encoding="utf-8"))):
        whole = judged(readers, program, solve(program, NEEDS))
        # What one rule leaves to another, because it knows better, is an error either way.
        known = {span for (_, span), one in whole.items() if one.verdict is Verdict.VIOLATED}
        for sight in SIGHTS[:1] if kind.__name__ in SETS else SIGHTS[:3]:
            for (name, span), one in judged(readers, program, solve_blind(program, NEEDS, kind, sight)).items():
                before = whole[name, span].verdict.value if (name, span) in whole else "none"
                same = one.verdict.value == before or (one.verdict is Verdict.VIOLATED and span in known)
                if one.verdict is not Verdict.UNKNOWN and not same:
                    found.add((name, before, one.verdict.value))
                if sight is nothing and one.verdict is Verdict.PROVED and name not in INDEPENDENT[kind.__name__]:
                    found.add((name, "blind", "proved"))
    assert not found


@pytest.mark.parametrize("kind", BLINDED, ids=lambda kind: kind.__name__)
def test_a_blind_domain_proves_nothing(kind):
    readers = [rule for rule in all_rules() if kind in rule.needs]
    proved: set[str] = set()
    for rule in all_rules():
        for program in examples(rule):
            found = judged(readers, program, solve_blind(program, NEEDS, kind))
            proved |= {name for (name, _), one in found.items() if one.verdict is Verdict.PROVED}
    assert proved == INDEPENDENT[kind.__name__].keys()
