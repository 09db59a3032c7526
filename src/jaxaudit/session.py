"""The pipeline in one screen: files in, report out. The only module that knows every stage.

A stage that fails by a fault of ours loses its own results and nothing else: the fault is told in `Outcome.faults`,
and the rest of the report stands.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TypeVar

from jaxaudit import progress
from jaxaudit.analyses.axes import Axes
from jaxaudit.analyses.facts import Facts
from jaxaudit.analyses.ranges import Ranges
from jaxaudit.analyses.shapes import Shapes
from jaxaudit.analyses.solve import ordered, provide
from jaxaudit.analyses.versions import Versions
from jaxaudit.config import Config, UsageError, nearest
from jaxaudit.discover import (
    Loader,
    decode_file,
    exclusion,
    find_files,
    loader,
    matching,
    read_file,
    refuse_notebook,
    shown_name,
)
from jaxaudit.frontends.base import Observed, Problem, Reach, Reading, SourceFile
from jaxaudit.frontends.source.read import read_source
from jaxaudit.ir import Program
from jaxaudit.ir.basis import Basis
from jaxaudit.ir.collector import collector_paused
from jaxaudit.ir.record import record, replace
from jaxaudit.outcome import Outcome, sources_of
from jaxaudit.pages import BUILTIN, OBSERVED
from jaxaudit.reports.build import build_report
from jaxaudit.reports.identity import Sources
from jaxaudit.reports.notes import Notes
from jaxaudit.rules.base import Obligation, Raises, Rule, Severity, Verdict, proved
from jaxaudit.rules.contracts import unanswered
from jaxaudit.rules.intent import judged
from jaxaudit.rules.intent.policy import lowered
from jaxaudit.rules.origins import with_origins
from jaxaudit.rules.registry import all_rules
from jaxaudit.rules.samples import beside, witnessed
from jaxaudit.suppress import apply_suppressions

Result = TypeVar("Result")


@record
class Seen:
    """What the other front end saw of the same program, when it was traced or run."""

    program: Program
    notes: Notes
    conclude: Callable[[Sequence[str], Sources], Iterable[Obligation]] = lambda files, sources: ()
    """Gives what the run itself shows: exceptions, functions that are compiled again and again."""
    numbers: Callable[[Facts | None], Iterable[Obligation]] = lambda facts: ()
    """Gives what the numbers of a call show; it is told what is known of the traced program."""


def audit_paths(paths: Sequence[str], config: Config, *, force_exclude: bool = False, sections: bool = True) -> Outcome:
    """Audit the Python files of some paths."""
    found = find_files(paths, config, force_exclude=force_exclude)
    return audit([read_file(path) for path in found], config, sections=sections)


def audit_text(
    name: str,
    data: bytes,
    config: Config,
    observed: Observed | None = None,
    *,
    force_exclude: bool = False,
    sections: bool = True,
) -> Outcome:
    """Audit one file whose content is given, whatever the disk holds."""
    spared = force_exclude and exclusion(config)(name)
    refuse_notebook("" if spared else name)
    files = [] if spared else [decode_file(shown_name(name), data)]
    return audit(files, config, observed=observed, sections=sections)


@collector_paused()
def audit(
    results: Sequence[SourceFile | Problem],
    config: Config,
    seen: Seen | None = None,
    observed: Observed | None = None,
    *,
    sections: bool = True,
    fetch: Loader | None = None,
) -> Outcome:
    """Audit files that were read already, whether or not they could be, with what was seen of them elsewhere.

    `seen` is what a run of just now shows of the whole program, `observed` what earlier ones showed of its functions.
    `fetch` reads the files that these import, where they are not those on the disk.
    Without `sections` those about data stay empty: whoever shows only findings need not wait for them.
    """
    check_names(config)
    files = [one for one in results if isinstance(one, SourceFile)]
    asked: dict[str, str | None] = {}
    load = loader(files, asked, fetch)
    sources = sources_of(load)
    runs = _runs(config)
    wanted = [rule for rule in all_rules() if config.runs(rule.name, rule.family)]
    faults: list[str] = []

    reading = _guard(partial(read_source, files, load, observed), _NOTHING_READ, "reading the source", faults)
    reading = _started(reading, config)
    faults += reading.faults
    problems = [one for one in (*_problems(results), *reading.problems) if runs(one.path, "unreadable-file")]
    facts = _facts(reading.program, wanted, faults, further=_shown(seen, sections=sections))
    obligations = _obligations(reading.program, facts, wanted, faults)
    solved = facts
    known: list[Facts | None] = [facts]
    entered = reading.observed
    if entered is not None and entered.roots:
        known.append(_facts(entered, wanted, faults))
        obligations = list(beside(obligations, _obligations(entered, known[-1], wanted, faults), entered))
    if seen is not None:
        obligations = list(_gone_through(obligations, seen.program))
        traced = _with_constants(seen.program, reading.program, facts)
        seen = replace(seen, program=replace(traced, main_blocks=reading.program.main_blocks))
        solved = _facts(seen.program, wanted, faults, further={Ranges} if sections else ())
        known.append(solved)
        obligations += map(_accepted, _obligations(seen.program, solved, wanted, faults))
        told = _guard(
            lambda: list(seen.conclude([one.path for one in results], sources)), [], "the observation", faults
        )
        told = list(_untold(told, obligations))
        numbers = _guard(lambda: list(seen.numbers(solved)), [], "the numbers of the run", faults)
        if facts is not None:
            told = list(with_origins(told, facts))
            numbers = list(with_origins(lowered(numbers, facts), facts))
        obligations = list(witnessed(obligations, numbers))
        obligations = [
            *_but_once(obligations, told),
            *(replace(one, front_end="run", basis=Basis.OBSERVED) for one in told),
        ]
        # A program that stops at a file which cannot be read is told by that file.
        unread = {(one.path, one.line) for one in problems}
        obligations = [one for one in obligations if one.rule != "script-failed" or one.span[:2] not in unread]
    report = build_report(
        [one for one in obligations if runs(one.span.path, one.rule)],
        problems,
        reading,
        [one.path for one in results],
        known_families() if seen else {rule.name: rule.family for rule in wanted},
        sources,
        seen.notes if seen else None,
        _inferred(facts) if sections else None,
        solved,
        known,
        sections=sections,
    )
    report = apply_suppressions(report, files, known_families(), runs, sources)
    return Outcome(report, seen.program if seen else reading.program, sources, tuple(faults), asked=asked)


def _problems(results: Sequence[SourceFile | Problem]) -> Iterator[Problem]:
    return (one for one in results if isinstance(one, Problem))


def known_families() -> dict[str, str]:
    """Return the family of every rule, those about files and comments included."""
    return {rule.name: rule.family for rule in (*OBSERVED, *BUILTIN, *all_rules())}


def check_names(config: Config) -> None:
    """Refuse a rule or family that does not exist, wherever the user named it."""
    families = known_families()
    known = sorted({*families, *families.values()})
    for setting, name in config.names():
        if name not in known:
            raise UsageError(f"{setting}: there is no rule or family `{name}`{nearest(name, known)}")


def _facts(
    program: Program, rules: Sequence[type[Rule]], faults: list[str], *, further: Collection[type] = ()
) -> Facts | None:
    """Solve each domain by itself: one that fails costs the rules that need it, and no others."""
    progress.tell("following data")
    facts = _guard(partial(Facts, program), None, "the analysis", faults)
    if facts is not None:
        for need in ordered({*further, *(need for rule in rules for need in rule.needs)}):
            _guard(partial(provide, facts, (need,)), None, f"the analysis of {need.__name__}", faults)
    return facts


def _with_constants(traced: Program, source: Program, facts: Facts | None) -> Program:
    """Let what was traced have the names that the source gives to sizes."""
    from jaxaudit.analyses.threads.places import with_constants

    shapes = facts.find(Shapes) if facts is not None else None
    return traced if shapes is None else with_constants(traced, source, shapes)


def _inferred(facts: Facts | None) -> Facts | None:
    """Return the facts of the source where they have what the sections show."""
    return facts if facts is not None and facts.find(Shapes) is not None and facts.find(Axes) is not None else None


def _started(reading: Reading, config: Config) -> Reading:
    """Add what scripts of the project switch on before the program that was read starts."""
    program, observed, switches = reading.program, reading.observed, reading.program.switches.union(config.switches)
    entered = None if observed is None else replace(observed, switches=switches)
    return replace(reading, program=replace(program, switches=switches), observed=entered)


def _shown(seen: Seen | None, *, sections: bool) -> set[type]:
    """Name the domains that the sections show of source; what was traced is shown instead of it."""
    return {Axes, Shapes, Versions} | (set() if seen else {Ranges}) if sections else set()


def _obligations(
    program: Program, facts: Facts | None, rules: Sequence[type[Rule]], faults: list[str]
) -> list[Obligation]:
    """Let every rule judge a program; what the contracts of its constructs demand and no rule answered is open."""
    if facts is None:
        return []
    found: list[Obligation] = []
    able = [rule for rule in rules if facts.solved.keys() >= {*rule.needs}]
    for number, rule in enumerate(able):
        progress.tell("checking rules", number, len(able))
        found += _guard(lambda rule=rule: list(judged(rule, facts)), [], f"rule {rule.name}", faults)
    names = {rule.name for rule in rules}
    found += _guard(lambda: list(unanswered(facts, found, names)), [], "the contracts", faults)
    for one in found:
        one.front_end = program.front_end
    return found


def _accepted(one: Obligation) -> Obligation:
    """Believe JAX: a program that it traced holds nothing that it would refuse."""
    if one.verdict is not Verdict.VIOLATED or one.raises is not Raises.TRACING:
        return one
    return replace(proved(one.span, "JAX traced this with exact shapes"), rule=one.rule, front_end=one.front_end)


def _gone_through(obligations: Sequence[Obligation], traced: Program) -> Iterator[Obligation]:
    """Decide what the source leaves open and JAX refuses, by the lines that JAX went through."""
    lines: set[tuple[object, ...]] | None = None
    refused = {rule.name for rule in all_rules() if rule.always_raises}
    for one in obligations:
        if one.verdict is Verdict.UNKNOWN and (one.rule in refused or one.raises is Raises.TRACING):
            lines = {op.span[:2] for op in traced.walk()} if lines is None else lines
            if one.span[:2] in lines:
                yield replace(proved(one.span, "JAX went through this line and refused nothing"), rule=one.rule)
                continue
        yield one


def _untold(told: Sequence[Obligation], obligations: Sequence[Obligation]) -> Iterator[Obligation]:
    """Leave out that traces or rebuilt objects differ where an error on the very line says why."""
    wrong = {one.span[:2] for one in obligations if one.verdict is Verdict.VIOLATED and one.severity is Severity.ERROR}
    for one in told:
        places = [one.span, *(step.span for step in one.steps)] if one.rule in _EXPLAINED else []
        if wrong.isdisjoint(place[:2] for place in places):
            yield one


_EXPLAINED = ("side-effect-in-traced-code", "flatten-loses-field")
"""What a run shows and source explains."""


def _but_once(obligations: Sequence[Obligation], told: Sequence[Obligation]) -> Iterator[Obligation]:
    """Leave out what raises on the very line on which the program stopped: the exception is told already."""
    stopped = {one.span[:2] for one in told if one.raises is Raises.TRACING}
    rules = {one.rule for one in told}
    for one in obligations:
        again = one.verdict is Verdict.VIOLATED and one.raises is Raises.TRACING and one.rule not in rules
        if not (again and one.span[:2] in stopped):
            yield one


def _guard(work: Callable[[], Result], otherwise: Result, stage: str, faults: list[str]) -> Result:
    try:
        return work()
    except UsageError:
        raise
    except Exception as error:
        if os.environ.get("JAXAUDIT_DEBUG"):
            raise
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(last.filename).name}:{last.lineno}"
        faults.append(f"internal error in {stage}: {type(error).__name__}: {error} ({place})")
        return otherwise


def _runs(config: Config) -> Callable[[str, str], bool]:
    """Return the test whether a rule speaks about a path, after `select`, `ignore` and `per-file-ignores`."""
    families = known_families()
    builtin = {*(page.name for page in BUILTIN), "script-failed"}
    patterns = [(matching([pattern], config.root), frozenset(names)) for pattern, names in config.per_file_ignores]

    @cache
    def ignored(path: str) -> frozenset[str]:
        return frozenset().union(*(names for matches, names in patterns if matches(path)))

    def runs(path: str, rule: str) -> bool:
        names = {rule, families[rule]}
        # An unreadable file stays an issue when other rules are selected; it goes only when it is ignored by name.
        wanted = names.isdisjoint(config.ignore) if rule in builtin else config.runs(rule, families[rule])
        return wanted and names.isdisjoint(ignored(path))

    return runs


_NOTHING_READ = Reading(Program((), "source"), (), Reach())
