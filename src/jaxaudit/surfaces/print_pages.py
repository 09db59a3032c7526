"""Prints the documentation of rules: rendered on a terminal, as plain Markdown into a pipe."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence

import click

from jaxaudit.pages import Page


def print_page(page: Page) -> None:
    """Print one page."""
    text = f"# {page.name} ({page.family})\n\n{page.text}\n"
    if not sys.stdout.isatty():
        click.echo(text, nl=False)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console(width=min(shutil.get_terminal_size().columns, 100)).print(Markdown(text))


def print_list(pages: Sequence[Page]) -> None:
    """Print one line for each rule, under its family."""
    width = max(len(page.name) for page in pages) + 4
    room = max(shutil.get_terminal_size((100, 24)).columns - width, 30)
    for family in dict.fromkeys(page.family for page in pages):
        click.secho(family, bold=True)
        for page in pages:
            if page.family == family:
                first, *rest = textwrap.wrap(page.summary, room, break_on_hyphens=False)
                click.echo(f"  {page.name:<{width - 2}}{first}")
                for line in rest:
                    click.echo(" " * width + line)
