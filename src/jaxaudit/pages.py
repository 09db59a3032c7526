"""The documentation of every rule: its own docstring, and pages for what is said about files, comments and runs.

The latter are no rules, since they look at no program, but their names behave like rules everywhere.
"""

from __future__ import annotations

from jaxaudit.ir.record import record
from jaxaudit.reports.rule_page import rule_page
from jaxaudit.rules.base import Rule
from jaxaudit.rules.registry import all_rules


@record
class Page:
    """The documentation of a rule, as `rules` and `explain` print it."""

    name: str
    family: str
    summary: str
    text: str


BUILTIN = (
    Page(
        "unreadable-file",
        "files",
        "A file cannot be read, decoded or parsed, so nothing in it is audited.",
        """A file cannot be read, decoded or parsed, so nothing in it is audited.

## What it does
Reports each file that cannot be opened, is not text in its declared encoding, or is not valid Python.

## Why is this bad?
An audit that skips a file in silence looks like success.

## Use instead
Repair the file, or leave it out with `exclude` in `[tool.jaxaudit]`.""",
    ),
    Page(
        "unused-suppression",
        "suppressions",
        "A `# jaxaudit: ignore[...]` comment silences nothing, or names an unknown rule.",
        """A `# jaxaudit: ignore[...]` comment silences nothing, or names an unknown rule.

## What it does
Warns about each rule or family in a suppression comment that silences no finding of its statement.

## Why is this bad?
The problem it was written for is gone, and the comment would hide the next one.

## Example
    noise = jax.random.normal(sub, (3,))  # jaxaudit: ignore[key-reused]

## Use instead
Remove the comment, or correct the rule's name.

## When it cannot tell
A rule that was not run (`--select`, `--ignore`) is not judged.""",
    ),
)


_OBSERVED = """{summary}

## What it does
`jaxaudit run`, `jaxaudit trace` and `pytest --jaxaudit` report this where the program itself shows it: by the exception
that JAX raises, explained at the line that causes it, or by what was counted while it ran.

## Why is this bad?
It has happened: the program stopped, or compiled anew, at this place.

## When it cannot tell
Code that did not run was not observed."""

_OBSERVED_RULES = """
script-failed files A script that is observed, or a function that is traced, stops with an exception.
wrong-number-of-arguments scan A function, body or branch is called with other arguments than it takes.
spec-does-not-fit sharding A sharding names an axis, or splits a size, that does not fit.
explicit-sharding-conflict sharding Operands with explicit shardings do not agree.
mixed-devices sharding Arrays on different devices meet in one operation.
used-after-donation sharding An array is used after its buffer was donated.
not-a-key random Something that is no random key is given as one.
"""

OBSERVED = tuple(
    Page(name, family, summary, _OBSERVED.format(summary=summary))
    for name, family, summary in (line.split(" ", 2) for line in _OBSERVED_RULES.strip().splitlines())
)
"""Rules that only a run can show broken; those that source shows too have a module of their own."""


def all_pages() -> tuple[Page, ...]:
    """Return the page of every rule, by family and name."""
    pages = {page.name: page for page in (*OBSERVED, *BUILTIN, *(page_of(rule) for rule in all_rules()))}
    return tuple(sorted(pages.values(), key=lambda page: (page.family, page.name)))


def page_of(rule: type[Rule]) -> Page:
    """Return the page of one rule."""
    return Page(rule.name, rule.family, rule.summary, rule_page(rule))
