"""What jaxaudit says about files and comments rather than about programs; these names behave like rules everywhere."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
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
