"""The command line: `check`, `diff`, `hook`, `mcp`, `trace`, `run`, `observed`, `explain`, `rules`.

Exit codes: 0 clean, 1 issues found (with --strict also warnings and unknowns), 2 bad usage or an internal error, 130
interrupted. Only click is imported up front, so that `--version` and `--help` answer at once.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jaxaudit.config import Config, UsageError, find_config, nearest
from jaxaudit.surfaces.diff import diff
from jaxaudit.surfaces.hook import hook
from jaxaudit.surfaces.mcp import mcp
from jaxaudit.surfaces.observe import run, trace
from jaxaudit.surfaces.observed import observed
from jaxaudit.surfaces.options import check_format, finish, refusing, report_options, take_report_options
from jaxaudit.surfaces.progress_bar import progress_shown
from jaxaudit.version import VERSION

if TYPE_CHECKING:
    from jaxaudit.outcome import Outcome
    from jaxaudit.pages import Page


INTERRUPTED = 130
"""What shells take for the end by Ctrl-C: 128 and the number of the signal."""


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, "--version", "-V", message="jaxaudit %(version)s")
def cli() -> None:
    """Audit JAX programs: what JAX demands of them, and what their own code relies on."""


cli.add_command(diff)
cli.add_command(hook)
cli.add_command(mcp)
cli.add_command(observed)
cli.add_command(run)
cli.add_command(trace)


@cli.command()
@click.argument("paths", nargs=-1)
@report_options
@click.option("--stdin-filename", metavar="NAME", help="Audit standard input (PATHS is -) as the content of this file.")
@click.option("--force-exclude", is_flag=True, help="Apply `exclude` even to files that are named.")
@click.option("--no-observed", is_flag=True, help="Leave out what runs and tests showed of the arguments of functions.")
@click.option("--no-cache", is_flag=True, help="Audit again, even if nothing has changed since the last time.")
@click.pass_context
@refusing
def check(
    context: click.Context,
    /,
    *,
    paths: tuple[str, ...],
    stdin_filename: str | None,
    force_exclude: bool,
    no_observed: bool,
    no_cache: bool,
    **given: Any,
) -> None:
    """Audit Python files (PATHS: files or directories; the current one by default) without running them."""
    options = take_report_options(given)
    check_format(options)
    config = options.config(_config(paths, stdin_filename))
    how = {"force_exclude": force_exclude, "sections": options.shows_sections, "observed": not no_observed}
    with progress_shown(quiet=options.quiet):
        if "-" in paths:
            outcome = _from_input(stdin_filename or "stdin.py", config, **how)
        else:
            outcome = _from_disk(paths or (".",), config, fresh=no_cache or options.show_ir, **how)
    finish(context, outcome, options, strict=config.strict)


@cli.command()
@click.argument("rule")
@refusing
def explain(rule: str) -> None:
    """Print the page of a rule, or the rules of a family."""
    from jaxaudit.pages import all_pages

    pages = all_pages()
    found = [page for page in pages if page.name == rule]
    family = [page for page in pages if page.family == rule]
    if found:
        print_page(found[0])
    elif family:
        print_list(family)
    else:
        known = [*(page.name for page in pages), *(page.family for page in pages)]
        raise UsageError(f"there is no rule or family `{rule}`{nearest(rule, known)}")


@cli.command()
@refusing
def rules() -> None:
    """List all rules by family."""
    from jaxaudit.pages import all_pages

    print_list(all_pages())


def main() -> None:
    """Run the command line; a fault of ours is told in one line, with its traceback when JAXAUDIT_DEBUG is set."""
    # What an audit builds lives until this process ends, so that there is no garbage to look for.
    gc.disable()
    try:
        code = cli(prog_name="jaxaudit", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("jaxaudit: interrupted", err=True)
        code = INTERRUPTED
    except Exception as error:
        if os.environ.get("JAXAUDIT_DEBUG"):
            raise
        click.echo(f"jaxaudit: internal error: {type(error).__name__}: {error} (JAXAUDIT_DEBUG=1 shows more)", err=True)
        code = 2
    _end(code)


def _end(code: int | None) -> None:
    """End this process at once: to take apart all that an audit built would take a twentieth of its time."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        sys.exit(code)
    os._exit(code or 0)


def _config(paths: tuple[str, ...], stdin_filename: str | None) -> Config:
    from jaxaudit.discover import common_directory

    stdin = "-" in paths
    if stdin and len(paths) > 1:
        raise UsageError("standard input (`-`) cannot be audited together with other paths")
    if stdin_filename and not stdin:
        raise UsageError("--stdin-filename needs `-` as the only path")
    return find_config(common_directory([stdin_filename or "."] if stdin else paths))


def _from_input(name: str, config: Config, *, observed: bool, **how: bool) -> Outcome:
    from jaxaudit.observation.store import NOTHING, facts_of
    from jaxaudit.session import audit_text

    known, problems = (facts_of([Path(name).absolute()]) if observed else NOTHING).read()
    return replace(audit_text(name, sys.stdin.buffer.read(), config, known, **how), remarks=problems)


def _from_disk(paths: tuple[str, ...], config: Config, **how: bool) -> Outcome:
    from jaxaudit.cache import audit_paths

    outcome = audit_paths(paths, config, **how)
    if not outcome.report.targets:
        click.echo(f"jaxaudit: no Python files to audit in {', '.join(paths)}", err=True)
    return outcome


def print_page(page: Page) -> None:
    """Print one page."""
    text = f"# {page.name} ({page.family})\n\n{page.text}\n"
    if not sys.stdout.isatty():
        click.echo(text, nl=False)
        return
    import shutil

    from rich.console import Console
    from rich.markdown import Markdown

    Console(width=min(shutil.get_terminal_size().columns, 100)).print(Markdown(text))


def print_list(pages: Sequence[Page]) -> None:
    """Print one line for each rule, under its family."""
    import shutil
    import textwrap

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
