"""Stand-ins for the front end, the solver and the rules: what a line is said to be stands in a comment at its end."""

from collections.abc import Iterator

from jaxaudit.frontends.base import Problem, Reach, Reading, SourceFile
from jaxaudit.ir import Program
from jaxaudit.rules.base import Obligation, Rule, Severity, Verdict
from jaxaudit.spans import Span

MARKS = {
    "#BAD": (Verdict.VIOLATED, Severity.ERROR),
    "#SLOW": (Verdict.VIOLATED, Severity.PERFORMANCE),
    "#ODD": (Verdict.VIOLATED, Severity.WARNING),
    "#OPEN": (Verdict.UNKNOWN, Severity.ERROR),
    "#FINE": (Verdict.PROVED, Severity.ERROR),
}


def install(monkeypatch, *rules):
    """Put the stand-ins into the session, and the given rules (by default `bad-line` of family `random`)."""
    files: list[SourceFile] = []

    def read_source(given, load, observed):
        files[:] = given
        problems = tuple(Problem(file.path, 2, 3, "this is no Python") for file in given if "NOT PYTHON" in file.text)
        lines = sum(len(file.text.splitlines()) for file in given)
        return Reading(Program((), "source"), problems, Reach(len(given), lines, 4, 3))

    class BadLine(Rule):
        """A line is bad.

        ## Example
        A line.
        """

        name = "bad-line"
        family = "random"
        summary = "A line is bad."

        def check(self, program, facts) -> Iterator[Obligation]:
            for file in files:
                yield from obligations(file)

    import jaxaudit.pages
    import jaxaudit.session

    every = rules or (BadLine,)
    monkeypatch.setattr(jaxaudit.session, "read_source", read_source)
    monkeypatch.setattr(jaxaudit.session, "provide", lambda facts, needs: None)
    monkeypatch.setattr(jaxaudit.session, "all_rules", lambda: every)
    monkeypatch.setattr(jaxaudit.pages, "all_rules", lambda: every)
    monkeypatch.setattr(jaxaudit.pages, "OBSERVED", ())
    monkeypatch.setattr(jaxaudit.session, "OBSERVED", ())


def obligations(file: SourceFile) -> Iterator[Obligation]:
    """Return an obligation for each marked line, on the code before the mark."""
    for number, line in enumerate(file.text.split("\n"), 1):
        for mark, (verdict, severity) in MARKS.items():
            if mark in line:
                code = line.split("#")[0].rstrip()
                start = len(code) - len(code.lstrip())
                span = Span(file.path, number, start, number, len(code.encode()))
                yield Obligation(
                    span,
                    verdict,
                    "so it is",
                    severity,
                    "this line is bad" if verdict is Verdict.VIOLATED else "",
                    rule="bad-line",
                )
