"""What rules say of a program before and after a rewrite."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from pathlib import Path

from benchmarks.rewrites.base import Rewrite
from jaxaudit.analyses.solve import solve
from jaxaudit.config import Config
from jaxaudit.frontends.base import SourceFile
from jaxaudit.frontends.source.read import read_source
from jaxaudit.rules.base import Rule, Severity, Verdict
from jaxaudit.rules.intent import judged
from jaxaudit.rules.registry import all_rules
from jaxaudit.session import audit

Files = dict[str, str]
_NEAR = 1
"""How many lines a finding may be away from a mark."""
_RULES = {rule.name: rule for rule in all_rules()}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one finding in one rewrite of one program."""

    rewrite: str
    rule: str
    program: str
    found: bool
    """Whether there is a finding that must survive."""
    lost: bool
    proved: bool
    """Whether all that the rule lists of the program with the mistake is proved, once it is rewritten."""
    alarm: bool
    """Whether the correct program is found fault with, once it is rewritten."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a rule says of a program."""

    found: frozenset[Severity]
    proved: bool = False
    """Whether it lists something, and all of it is proved."""


def said(files: Files, rule: type[Rule]) -> Said:
    """Return how bad what a rule finds in a program is."""
    program = read_source([SourceFile(*one) for one in files.items()], lambda path: None).program
    listed = list(judged(rule, solve(program, set(rule.needs))))
    found = frozenset(one.severity for one in listed if one.verdict is Verdict.VIOLATED)
    return Said(found, bool(listed) and all(one.verdict is Verdict.PROVED for one in listed))


def rewritten(text: str, kind: type[Rewrite]) -> Files | None:
    """Return a program in other words; None where they are the same."""
    return kind(ast.parse(text)).files()


def of_rule(rule: type[Rule], kinds: Iterable[type[Rewrite]]) -> Iterator[Outcome]:
    """Go through the examples of a rule: findings must survive, and none may come up in the valid ones."""
    for example in (*rule.invalid, *rule.valid):
        # Comments are gone in every rewrite, so what rests on them is not asked for.
        plain = ast.unparse(ast.parse(example.program))
        before = said({"example.py": plain}, rule).found
        for kind in (one for one in kinds if not one.unlike & {rule.name, rule.family}):
            files = rewritten(plain, kind)
            if files is not None and (before or example in rule.valid):
                after = said(files, rule)
                lost, alarm = _is_lost(before, after.found, kind), not before and Severity.ERROR in after.found
                proved = lost and after.proved
                yield Outcome(kind.__name__, rule.name, example.title, bool(before), lost, proved, alarm)


def _is_lost(before: Set[Severity], after: Set[Severity], kind: type[Rewrite]) -> bool:
    wanted = before - {Severity.WARNING} if kind.only_errors else before
    return not (wanted <= after or Severity.ERROR in before & after)


def of_pair(folder: Path, kinds: Iterable[type[Rewrite]]) -> Iterator[Outcome]:
    """Go through a pair of programs, one with a mistake at the lines that end in `#<<`, and say what finds it again."""
    bad, good = ((folder / name).read_text() for name in ("bad.py", "good.py"))
    found = _near_marks(bad) - _issues({"example.py": good}).keys()
    plain, right = (ast.unparse(ast.parse(one)) for one in (bad, good))
    if found:
        found &= _issues({"example.py": plain}).keys() - _issues({"example.py": right}).keys()
    for kind in kinds if found else ():
        files, twin = rewritten(plain, kind), rewritten(right, kind)
        if files is None or twin is None:
            continue
        after, beside = _issues(files).keys(), _issues(twin).keys()
        for rule in sorted(found):
            proved = rule not in after and said(files, _RULES[rule]).proved
            yield Outcome(kind.__name__, rule, folder.name, True, rule not in after, proved, rule in beside)


def _near_marks(text: str) -> set[str]:
    marks = {at for at, line in enumerate(text.splitlines(), 1) if line.rstrip().endswith("#<<")}
    found = _issues({"example.py": text})
    return {rule for rule, lines in found.items() if any(abs(one - mark) <= _NEAR for one in lines for mark in marks)}


def _issues(files: Files) -> dict[str, set[int]]:
    """Return the lines that issues name, by rule."""
    report = audit([SourceFile(*one) for one in files.items()], Config(), sections=False).report
    found: dict[str, set[int]] = {}
    for one in report.issues:
        found.setdefault(one.rule, set()).update({one.line, *(step.line for step in one.why)})
    return found
