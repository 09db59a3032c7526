"""The verdict on a change: both states are audited, their obligations matched, and what is worse now is told."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from jaxaudit.cache import audit_texts
from jaxaudit.changes.alignment import Alignment, Side, align
from jaxaudit.changes.boundaries import boundary_changes
from jaxaudit.changes.definitions import TOP, contents
from jaxaudit.changes.facts import Computed, changed_facts
from jaxaudit.changes.matching import Judged, Matching, Pair, match
from jaxaudit.changes.scope import Name, Scope, scope_of
from jaxaudit.changes.states import Comparison, State
from jaxaudit.config import Config
from jaxaudit.discover import Loader, decode_file, load_file, loader, show_path
from jaxaudit.frontends.base import SourceFile
from jaxaudit.ir import Program
from jaxaudit.ir.record import replace
from jaxaudit.libraries.packages import JAX, package
from jaxaudit.observation.store import NOTHING, Facts, facts_of
from jaxaudit.outcome import Outcome
from jaxaudit.reports.change import BoundaryChange, Broken, Change, ChangedFile, Fixed, Reason
from jaxaudit.reports.model import Finding, Report, Unknown
from jaxaudit.rules.base import Verdict


def audit_change(
    comparison: Comparison,
    config: Config,
    *,
    callers: bool = True,
    if_jax: bool = False,
    fresh: bool = False,
    observed: bool = True,
) -> Outcome:
    """Audit both states and return the later one's outcome, with what the change brought alone.

    What mentions a changed definition is audited too, in other files, unless `callers` is false. With `if_jax` a change
    that does not touch JAX is not audited at all. With `observed` the functions of both states are also entered with
    what runs and tests showed of them.
    """
    sides = align(comparison)
    scope = scope_of(comparison, sides)
    why = _reasons(scope, sides)
    paths = () if if_jax and not why else scope.paths(comparison, callers=callers)
    known = facts_of(Path(path).absolute() for path in paths) if observed else NOTHING
    before, after = (_audited(state, comparison, paths, config, known, fresh=fresh) for state in _states(comparison))
    change, report = judge(before.report, after.report, sides)
    faults = [*before.faults, *after.faults]
    change = with_facts(change, *_guarded(partial(changed_facts, before.program, after.program, sides), faults))
    told = replace(change, audited=paths, touches_jax=bool(why), reasons=why)
    return replace(
        after,
        report=replace(report, change=told),
        faults=tuple(dict.fromkeys(faults)),
        remarks=(*comparison.remarks, *after.remarks),
    )


def _guarded(work: Callable[[], Computed], faults: list[str]) -> Computed:
    """Do without the facts where they fail by a fault of ours: the rest of the report stands."""
    try:
        return work()
    except Exception as error:
        if os.environ.get("JAXAUDIT_DEBUG"):
            raise
        faults.append(f"internal error in comparing what is computed: {type(error).__name__}: {error}")
        return (), False


def judge(before: Report, after: Report, sides: Alignment) -> tuple[Change, Report]:
    """Compare two reports: what the change did, and the later report with what it brought alone."""
    matching = match(before, after, sides)
    worse = [pair for pair in matching.pairs if _is_worse(*pair)]
    brought = [new.finding for _, new in worse if new.finding] + [one.finding for one in matching.come if one.finding]
    ids = {one.id for one in brought}
    lost = [pair for pair in worse if pair[1].verdict is Verdict.UNKNOWN and pair[1].finding is None]
    broken = [_broken(pair) for pair in worse if pair[0].verdict is Verdict.PROVED and pair[1].finding is not None]
    change = Change(
        before=sides.before.state.name,
        after=sides.after.state.name,
        files=tuple(_files(sides)),
        broken=(*broken, *_undecided(lost, sides)),
        new=tuple(one.id for one in brought if one.id not in {known.finding for known in broken}),
        fixed=tuple(_fixed(matching)),
        boundaries=boundary_changes(before, after, sides, matching),
        kept=sum(one.id not in ids for one in (*after.issues, *after.warnings)),
    )
    report = replace(
        after,
        issues=_only(after.issues, ids),
        warnings=_only(after.warnings, ids),
        unknown=tuple(Unknown(new.rule, new.family, new.path, new.line, new.reason, new.column) for _, new in lost),
    )
    return change, report


def with_facts(change: Change, facts: Iterable[BoundaryChange], same: bool) -> Change:
    """Add what is computed otherwise and no boundary tells: there an option has the name of its function too.

    Where all is computed as before, keys are used and arguments mapped as before, however that looks now.
    """
    kept = tuple(one for one in change.boundaries if not same or one.kind not in {"keys", "mapping", "axis"})
    told = {(one.path, one.text.partition(" is ")[2]) for one in kept}
    untold = tuple(one for one in facts if (one.path, one.text.partition(" is ")[2]) not in told)
    return replace(change, boundaries=kept, facts=untold, same=same)


def _only(findings: Sequence[Finding], ids: set[str]) -> tuple[Finding, ...]:
    return tuple(one for one in findings if one.id in ids)


def _is_worse(old: Judged, new: Judged) -> bool:
    """Whether an obligation is worse off: it has a finding that it had not, or is not proved any more."""
    if new.finding is not None:
        return old.finding is None or (old.finding.severity == "warning" and new.finding.severity != "warning")
    return old.verdict is Verdict.PROVED and new.verdict is Verdict.UNKNOWN


def _broken(pair: Pair, lines: tuple[int, ...] = ()) -> Broken:
    old, new = pair
    finding = new.finding.id if new.finding is not None else ""
    verdict = Verdict.VIOLATED if new.finding is not None else new.verdict
    told = (new.rule, new.family, new.path, new.line, new.column, verdict.value, new.reason, old.reason)
    return Broken(*told, old.path, old.line, finding, lines)


def _undecided(lost: Iterable[Pair], sides: Alignment) -> Iterator[Broken]:
    """Tell what cannot be decided any more: once for a rule and a function."""
    groups: dict[tuple[str, str, str], list[Pair]] = {}
    for pair in lost:
        new = pair[1]
        around = sides.after.place(new.path, new.line, new.column).function
        groups.setdefault((new.rule, new.path, around), []).append(pair)
    for pairs in groups.values():
        yield _broken(pairs[0], tuple(dict.fromkeys(new.line for _, new in pairs)))


def _fixed(matching: Matching) -> Iterator[Fixed]:
    now = {Verdict.PROVED: "holds", Verdict.UNKNOWN: "cannot be decided", Verdict.VIOLATED: "holds"}
    for old, new in matching.pairs:
        if old.finding is not None and new.finding is None:
            yield _as_fixed(old.finding, now[new.verdict])
    yield from (_as_fixed(one.finding, "its code is gone") for one in matching.gone if one.finding is not None)


def _as_fixed(one: Finding, now: str) -> Fixed:
    return Fixed(one.rule, one.family, one.severity, one.path, one.line, one.message, now)


def _files(sides: Alignment) -> Iterator[ChangedFile]:
    before, after = sides.before.state.files, sides.after.state.files
    back = {new: old for old, new in sides.renamed.items()}
    for path in sorted(before.keys() | after.keys()):
        if path in back:
            yield ChangedFile(path, "renamed", back[path])
        elif path not in before:
            yield ChangedFile(path, "added")
        elif path not in after and path not in sides.renamed:
            yield ChangedFile(path, "removed")
        elif path in after and before[path] != after[path]:
            yield ChangedFile(path, "changed")


def _states(comparison: Comparison) -> tuple[State, State]:
    return comparison.before, comparison.after


def _audited(
    state: State, both: Comparison, paths: Iterable[str], config: Config, known: Facts, *, fresh: bool
) -> Outcome:
    """Audit some files of a state; what they import is read from it too, unless neither state has it."""

    def fetch(path: str) -> SourceFile | None:
        if path not in both.before.files and path not in both.after.files:
            return load_file(path)
        data = state.files.get(path)
        file = decode_file(path, data, audited=False) if data is not None else None
        return file if isinstance(file, SourceFile) else None

    texts = {Path(path).absolute(): state.files[path] for path in paths if path in state.files}
    outcome = audit_texts(texts, config, known, fetch, fresh=fresh)
    return outcome if outcome.program.roots else replace(outcome, program=_read(texts, fetch))


def _read(texts: Mapping[Path, bytes], fetch: Loader) -> Program:
    """Read files again, of whose audit only the report was kept."""
    from jaxaudit.frontends.source.read import read_source

    decoded = (decode_file(show_path(path), text) for path, text in texts.items())
    files = [one for one in decoded if isinstance(one, SourceFile)]
    return read_source(files, loader(files, fetch=fetch)).program


def _reasons(scope: Scope, sides: Alignment) -> tuple[Reason, ...]:
    """Return why a change touches JAX, one reason a definition; none where it does not."""
    direct = [one for name in scope.changed if (one := _reason(name, sides, "")) is not None]
    if direct:
        return tuple(direct)
    # What has no JAX in it may compute what JAX is given: sizes, settings, functions to transform.
    changed = ", ".join(f"`{name}`" for _, name in scope.changed[:3] if name != TOP)
    through = f", and relies on {changed}" if changed else ""
    return tuple(one for name in scope.callers if (one := _reason(name, sides, through)) is not None)


def _reason(name: Name, sides: Alignment, through: str) -> Reason | None:
    for side in (sides.after, sides.before):
        for line, used in _uses(name, side):
            who = "the top level" if name[1] == TOP else f"`{name[1]}`"
            gone = "used" if side is sides.before and name[0] not in sides.after.state.files else "uses"
            return Reason(name[0], line, f"{who} {gone} `{used}`{through}")
    return None


def _uses(name: Name, side: Side) -> Iterator[tuple[int, str]]:
    """Return the names of libraries that compute with JAX that a definition mentions, and where."""
    path, called = name
    found = contents(side.forms(path))
    definition = found.definitions.get(called)
    for mention, line in definition.mentions.items() if definition is not None else ():
        dotted = found.imports.get(mention, "")
        if package(dotted) in JAX:
            yield line, dotted
