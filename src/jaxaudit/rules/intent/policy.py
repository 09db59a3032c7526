"""The table of signs that something may be meant, where each is read from, and how far it lowers a verdict.

Rules judge what the code does; the signs are asked for afterwards, in the order of `SIGNALS`, and the first that is
there decides. Nothing else lowers a verdict for what somebody may have meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from enum import Enum
from pathlib import PurePosixPath

from jaxaudit.analyses.facts import Facts, remembered
from jaxaudit.analyses.parts import roots_around
from jaxaudit.analyses.queries import reached
from jaxaudit.analyses.solve import provide, rests_on_shapes, without_fields, without_words
from jaxaudit.ir import Program, Region
from jaxaudit.ir.basis import Basis
from jaxaudit.ir.record import record, replace
from jaxaudit.rules.base import Obligation, Raises, Rule, Severity, Verdict
from jaxaudit.rules.intent import replays, results, sharing, subjects
from jaxaudit.rules.intent.names import (
    begins_cell,
    is_constant,
    is_unwanted,
    says_evaluation,
    says_purpose,
    says_shared,
    says_side,
)
from jaxaudit.spans import Span


def in_test(span: Span) -> bool:
    """Whether a place is in a file of tests."""
    path = PurePosixPath(span.path)
    words = path.stem.split("_")
    return "test" in (words[0], words[-1]) or path.stem in ("tests", "conftest") or not _FOLDERS.isdisjoint(path.parts)


_FOLDERS = frozenset(("test", "tests"))


def in_benchmark(span: Span) -> bool:
    """Whether a place is in a file that measures time."""
    path = PurePosixPath(span.path)
    return any(word.startswith("bench") for part in path.with_suffix("").parts for word in part.split("_"))


def in_main_block(span: Span, program: Program) -> bool:
    """Whether a place is under `if __name__ == "__main__"`."""
    block = program.main_blocks.get(span.path)
    return block is not None and block.line < span.line <= block.end_line


_KEYS = frozenset(("key-reused", "same-key-in-loop", "same-key-across-vmap"))
"""Rules on random numbers that several places share, which may be just what they are to do."""
_HISTORIES = _KEYS | {"too-few-subkeys"}
"""Rules whose steps tell where a key was made, which is not what makes its use a mistake."""
_SLIPS = frozenset(
    """average-not-returned carry-out-of-step field-put-back forgetful-average float64-without-x64 impure-body
    integer-overflow loop-never-runs misplaced-stop-gradient stale-value swapped-arguments unchanged-carry
    uneven-reset unused-mask""".split()
)
"""Rules on what tests may do on purpose, to see what becomes of it."""
_MADE_BY_HAND = frozenset("ignored-argument end-never-read end-never-written float64-without-x64".split())
"""Rules on what the inputs of tests are made like, and on settings that other tests change."""
_ABOVE, _BELOW = 2, 3
"""How many lines above a place, and of a long expression, may have a comment that speaks of it."""

EXPLICIT = "if it is meant, say so: `jax.random.clone(key)` for the second use, or a comment that says what for"


class Level(Enum):
    """How far a sign lowers a verdict."""

    WARNING = "warning"
    """Still violated, and only a warning: intent cannot be told."""
    UNKNOWN = "unknown"
    """Left open, and not shown: whether it matters cannot be told."""
    PROVED = "proved"
    """It holds: the code says what it does."""


Read = Callable[[Obligation, Facts], str]
"""Says what sign there is; empty where there is none."""


@record
class Signal:
    """One row of the table."""

    name: str
    lowers: Level
    read: Read
    """Its docstring says where the sign is read from, and shows one."""
    rules: frozenset[str] | None = None
    """The rules it speaks to; None for all."""


def lowered(obligations: Iterable[Obligation], facts: Facts) -> Iterator[Obligation]:
    """Lower each violated obligation as far as the first sign around it says."""
    for one in obligations:
        yield _lowered(one, facts) if one.verdict is Verdict.VIOLATED else one


def _lowered(one: Obligation, facts: Facts) -> Obligation:
    warns = one.severity is Severity.WARNING
    for signal in SIGNALS:
        # What is not about the use of a key shows no sign in how keys are used.
        if signal.rules == _KEYS and not one.subject.uses:
            continue
        if (signal.rules is not None and one.rule not in signal.rules) or (warns and signal.lowers is Level.WARNING):
            continue
        if why := signal.read(one, facts):
            return _with(one, signal.lowers, why)
    return one


def _with(one: Obligation, level: Level, why: str) -> Obligation:
    if level is Level.PROVED:
        return Obligation(one.span, Verdict.PROVED, why, rule=one.rule, front_end=one.front_end)
    if level is Level.UNKNOWN:
        reason = f"{one.message}, but {why}"
        return Obligation(
            one.span, Verdict.UNKNOWN, reason, subject=one.subject, rule=one.rule, front_end=one.front_end
        )
    fix = EXPLICIT if one.rule in _KEYS else one.suggestion
    return replace(one, severity=Severity.WARNING, current=f"{one.current}; {why}", suggestion=fix)


def _open_in_test(one: Obligation, facts: Facts) -> str:
    """Read from the path of the file, or a function that test runners call: `tests/model.py`, `test_draws`."""
    # What a trace of a test shows was run at least.
    tested = in_test(one.span) or subjects.is_in_test_function(one, facts)
    return "this is test code, where it may not matter" if tested and facts.program.front_end == "source" else ""


def _drawn_by_test(one: Obligation, facts: Facts) -> str:
    """Read from the paths of the draws: `uniform` in `loader_test.py`, for whoever is given that loader."""
    uses = one.subject.uses
    tested = bool(uses) and not in_test(one.span) and all(in_test(use.origin.site.span) for use in uses)
    return "a test draws the numbers, where they may not matter" if tested else ""


def _in_test(one: Obligation, facts: Facts) -> str:
    """Read from the path, for what raises and for what tests try: `if x > 0` under `jit` in `sign_test.py`."""
    expected = one.raises is not Raises.NOTHING or one.rule in _SLIPS or one.rule in _KEYS or one.subject.tried
    return "in a test this may be what is expected" if expected and in_test(one.span) else ""


def _slow_in_test(one: Obligation, facts: Facts) -> str:
    """Read from the path of the file, for what only costs time: `jax.jit(lambda x: x)` in a loop of `model_test.py`."""
    slow = one.severity is Severity.PERFORMANCE and in_test(one.span)
    return "this is test code, where nobody waits for it" if slow else ""


def _by_tests(one: Obligation, facts: Facts) -> str:
    """Read from the paths of the steps that explain a finding: only `steps_test.py` compiles `f`."""
    tested = one.rule not in _HISTORIES and any(in_test(step.span) for step in one.steps) and not in_test(one.span)
    return "only a test is known to use it so" if tested else ""


def _called_by_test(one: Obligation, facts: Facts) -> str:
    """Read from the paths of the calls around: `masks_test.py` gives `f` an array of another rank."""
    return "a test calls it, with arguments of its own" if any(map(in_test, one.subject.places)) else ""


def _unwanted(one: Obligation, facts: Facts) -> str:
    """Read from the name of a parameter: `_rng`, `unused_x`."""
    return "its name says that nobody reads it" if any(map(is_unwanted, one.subject.names)) else ""


def _constant(one: Obligation, facts: Facts) -> str:
    """Read from the name of an attribute of a class: `GRAVITY = 9.81`."""
    return "its name is that of a constant" if any(map(is_constant, one.subject.names)) else ""


def _sides(one: Obligation, facts: Facts) -> str:
    """Read from the names of two arguments that only tell which is which: `f(right, left)`, `f(y, x)`."""
    return "the names only say which of two is meant" if any(map(says_side, one.subject.names)) else ""


def _only_said(one: Obligation, facts: Facts) -> str:
    """Read from what the facts rest on: `x: Float[Array, "batch time"]`, which nobody checks."""
    return "this rests on what is written down and never checked" if one.basis is Basis.SAID else ""


def _only_assumed(one: Obligation, facts: Facts) -> str:
    """Read from what the facts rest on: `def step(state: State)`, a state taken for one that the code makes itself."""
    return "objects of this class may be made elsewhere too" if one.basis is Basis.ASSUMED else ""


def _on_purpose(one: Obligation, facts: Facts) -> str:
    """Read from a comment at the line or just above, or the name of a loss: `# on purpose`, `residual_loss`."""
    if any(says_purpose(name, one.subject.about) for name in one.subject.names):
        return "its name says so"
    places = [one.span, *one.subject.places, *subjects.places_of(one, facts)]
    return "a comment nearby says so" if any(_has_comment(one, span, facts) for span in places) else ""


def _has_comment(one: Obligation, span: Span, facts: Facts) -> bool:
    comments = facts.program.comments.get(span.path, {})
    last = min(span.end_line, span.line + _BELOW)
    near = (comments[line] for line in range(span.line - _ABOVE, last + 1) if line in comments)
    return any(says_purpose(text, one.subject.about) for text in near)


def _shared_by_name(one: Obligation, facts: Facts) -> str:
    """Read from the names of a key: `shared_key`, and `eval_key` of a map."""
    names = list(subjects.names_of(one, facts))
    if any(map(says_shared, names)):
        return "its name says that it is shared"
    evaluates = one.rule == "same-key-across-vmap" and any(map(says_evaluation, names))
    return "its name says that it is for an evaluation, which shares its numbers for fairness" if evaluates else ""


def _measured(one: Obligation, facts: Facts) -> str:
    """Read from the path of a benchmark: `benchmarks/throughput.py`."""
    return "this is a benchmark, where the numbers may not matter" if in_benchmark(one.span) else ""


def _shown(one: Obligation, facts: Facts) -> str:
    """Read from the mark below of the next cell of a notebook: `tree.map(jnp.shape, params)`, then `# %%`."""
    comments = facts.program.comments.get(one.span.path, {})
    below = range(one.span.end_line + 1, one.span.end_line + _BELOW + 1)
    ends = one.subject.tried and any(begins_cell(comments[line]) for line in below if line in comments)
    return "it stands at the end of a cell, which shows what it gives" if ends else ""


def _tried_out(one: Obligation, facts: Facts) -> str:
    """Read from the main block of a script: `if __name__ == "__main__"`."""
    return "only the main block of a script does it" if in_main_block(one.span, facts.program) else ""


SIGNALS = (
    Signal("only assumed", Level.UNKNOWN, _only_assumed),
    Signal("drawn again", Level.UNKNOWN, replays.replayed, _KEYS),
    Signal("test code", Level.UNKNOWN, _open_in_test, _KEYS | _MADE_BY_HAND),
    Signal("drawn by a test", Level.UNKNOWN, _drawn_by_test, _KEYS),
    Signal("benchmark", Level.UNKNOWN, _measured, _KEYS),
    Signal("given by a test", Level.UNKNOWN, _by_tests, frozenset(("ignored-argument",))),
    Signal("shown", Level.UNKNOWN, _shown, frozenset(("result-discarded",))),
    Signal("slow in a test", Level.UNKNOWN, _slow_in_test),
    Signal("called by a test", Level.UNKNOWN, _called_by_test, frozenset(("stale-shape-comment",))),
    Signal("not wanted", Level.PROVED, _unwanted, frozenset(("ignored-argument", "seed-for-given-key"))),
    Signal("a constant", Level.PROVED, _constant, frozenset(("unannotated-field",))),
    Signal("one of two sides", Level.WARNING, _sides, frozenset(("swapped-arguments",))),
    Signal("tried in a test", Level.WARNING, _in_test),
    Signal("used by tests alone", Level.WARNING, _by_tests),
    Signal("only said", Level.WARNING, _only_said),
    Signal("on purpose", Level.WARNING, _on_purpose),
    Signal("shared by name", Level.WARNING, _shared_by_name, _KEYS),
    Signal("runs for parameters", Level.UNKNOWN, results.runs_for_parameters, _KEYS),
    Signal("draws nothing", Level.UNKNOWN, results.draws_nothing, _KEYS),
    Signal("renewed", Level.UNKNOWN, sharing.renewed, _KEYS - {"key-reused"}),
    Signal("undone", Level.WARNING, sharing.undone, _KEYS),
    Signal("follows", Level.UNKNOWN, sharing.followed, _KEYS),
    Signal("starts alike", Level.WARNING, sharing.alike, _KEYS),
    Signal("one order for all", Level.UNKNOWN, sharing.reordered, _KEYS),
    Signal("not shared", Level.WARNING, results.not_shared, _KEYS),
    Signal("not used", Level.WARNING, results.not_used, _KEYS),
    Signal("aligned", Level.WARNING, sharing.aligned, _KEYS),
    Signal("compared", Level.WARNING, results.compared, _KEYS),
    Signal("spelled out", Level.WARNING, sharing.spelled_out, frozenset(("same-key-across-vmap",))),
    Signal("drawn once", Level.WARNING, sharing.drawn_once, frozenset(("same-key-across-vmap",))),
    Signal("held fixed", Level.WARNING, sharing.held_fixed, _KEYS),
    Signal("tried out", Level.WARNING, _tried_out, _KEYS),
)
"""Every sign of purpose, in the order in which they are asked for; what each is read from stands at its function."""


def based(rule: type[Rule], obligations: Iterable[Obligation], facts: Facts) -> list[Obligation]:
    """Mark the violations that a rule no longer finds where unchecked annotations and assumptions are left out."""
    found = list(obligations)
    if not any(map(rests_on_shapes, rule.needs)):
        return found
    violated = [one for one in found if one.verdict is Verdict.VIOLATED]
    assumed = [one for one in violated if _meets(one.span, _lines_with_assumptions(facts))]
    if assumed:
        _mark(rule, assumed, facts, without_fields, Basis.ASSUMED)
    issues = [one for one in violated if _is_issue(one) and one.basis is not Basis.ASSUMED]
    if issues and _may_rest_on_words(facts, issues):
        _mark(rule, issues, facts, without_words, Basis.SAID)
    return found


def _mark(
    rule: type[Rule],
    violated: Sequence[Obligation],
    facts: Facts,
    leave_out: Callable[[Facts, Region], Facts],
    basis: Basis,
) -> None:
    """Mark the violations that a rule no longer finds with fewer facts, root by root of those that have any."""
    sure: set[tuple[Span, Severity]] = set()
    for root in _roots_at(facts, violated):
        less = facts.memo(leave_out, root)
        provide(less, rule.needs)
        again = rule().check(less.program, less)
        sure.update((one.span, one.severity) for one in again if one.verdict is Verdict.VIOLATED)
    for one in violated:
        one.basis = one.basis if (one.span, one.severity) in sure else basis


Lines = Mapping[str, Set[int]]
"""Lines of files, by path."""


def _is_issue(one: Obligation) -> bool:
    return one.verdict is Verdict.VIOLATED and one.severity is not Severity.WARNING


def _may_rest_on_words(facts: Facts, issues: Iterable[Obligation]) -> bool:
    """Whether an annotation that nobody checks stands in one program with an issue: else none rests on it."""
    said = _said(facts)
    if not said:
        return False
    spans = {one.span for one in issues}
    places = facts.places.region_of
    return not said.isdisjoint(roots_around(facts, {places[op] for op in facts.program.walk() if op.span in spans}))


def _roots_at(facts: Facts, violated: Iterable[Obligation]) -> Sequence[Region]:
    """Return the roots that run the lines of some violations, in order."""
    lines, places = _lines(one.span for one in violated), facts.places.region_of
    there = (op for op in facts.program.walk() if op.span.path in lines)
    found = roots_around(facts, {places[op] for op in there if _meets(op.span, lines)})
    return [root.region for root in facts.program.roots if root.region in found]


@remembered
def _lines_with_assumptions(facts: Facts) -> Lines:
    """Return the lines that fields of objects from outside reach, of which something is assumed.

    Places would be too few: a comment has one of its own.
    """
    if not facts.program.fields:
        return {}
    behind = reached(facts.flow, facts.program.fields)
    ops = facts.program.walk()
    return _lines({op.span for op in ops if not (behind.isdisjoint(op.operands) and behind.isdisjoint(op.results))})


def _lines(spans: Iterable[Span]) -> Lines:
    found: dict[str, set[int]] = {}
    for span in spans:
        found.setdefault(span.path, set()).update(range(span.line, span.end_line + 1))
    return found


def _meets(span: Span, lines: Lines) -> bool:
    own = lines.get(span.path)
    if own is None or span.line == span.end_line:
        return own is not None and span.line in own
    return not own.isdisjoint(range(span.line, span.end_line + 1))


@remembered
def _said(facts: Facts) -> frozenset[Region]:
    """Return the regions of all roots that an unchecked annotation speaks of a value in."""
    declared = facts.program.declared.items()
    values = [value for value, one in declared if one.basis is Basis.SAID and one.is_certain]
    regions = {facts.places.region_of_value(value) for value in values}
    return frozenset(roots_around(facts, {region for region in regions if region is not None}))
