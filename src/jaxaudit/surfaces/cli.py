"""The command line: `check`, `explain`, `rules`.

Exit codes: 0 clean, 1 issues found (with --strict also warnings and unknowns), 2 bad usage or an internal error. Only
click is imported up front, so that `--version` and `--help` answer at once.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ParamSpec, TextIO

import click

from jaxaudit.config import Config, UsageError, find_config, nearest
from jaxaudit.version import VERSION

if TYPE_CHECKING:
    from jaxaudit.reports.model import Report
    from jaxaudit.session import Outcome

FORMATS = ("text", "json")
LATER_FORMATS = ("markdown", "sarif", "github", "html")

Params = ParamSpec("Params")


class Refusal(click.ClickException):
    """A request that cannot be carried out, told in one sentence."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """Write the sentence to standard error."""
        click.echo(f"jaxaudit: {self.message}", file=file, err=True)


def refusing(command: Callable[Params, None]) -> Callable[Params, None]:
    """Turn a `UsageError` of a command into a sentence and exit code 2."""

    @wraps(command)
    def wrapped(*args: Params.args, **kwargs: Params.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except UsageError as error:
            raise Refusal(str(error)) from error

    return wrapped


@dataclass(frozen=True, slots=True)
class Options:
    """What `check` was asked for."""

    paths: tuple[str, ...]
    format: str
    output: Path | None
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    strict: bool
    exit_zero: bool
    quiet: bool
    verbose: bool
    show_ir: bool
    stdin_filename: str | None
    force_exclude: bool


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, "--version", "-V", message="jaxaudit %(version)s")
def cli() -> None:
    """Audit JAX programs: what JAX demands of them, and what their own code relies on."""


@cli.command()
@click.argument("paths", nargs=-1)
@click.option("--format", default="text", metavar="FORMAT", help="How to report: text (default) or json.")
@click.option("--output", "-o", type=click.Path(path_type=Path), metavar="FILE", help="Write the report to a file.")
@click.option(
    "--select", multiple=True, metavar="RULES", help="Run only these rules or families (by comma, or repeated)."
)
@click.option("--ignore", multiple=True, metavar="RULES", help="Leave out these rules or families.")
@click.option("--strict", is_flag=True, help="Warnings and unknowns fail the audit too.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even when issues are found.")
@click.option("--quiet", "-q", is_flag=True, help="Print only the issues, one line each.")
@click.option("--verbose", "-v", is_flag=True, help="Print all sections, with what is verified and what is open.")
@click.option("--show-ir", is_flag=True, help="Print the program as the rules see it, instead of the report.")
@click.option("--stdin-filename", metavar="NAME", help="Audit standard input (PATHS is -) as the content of this file.")
@click.option("--force-exclude", is_flag=True, help="Apply `exclude` even to files that are named.")
@click.pass_context
@refusing
def check(context: click.Context, /, **given: Any) -> None:
    """Audit Python files (PATHS: files or directories; the current one by default) without running them."""
    options = Options(**given)
    _check_format(options.format)
    config = _config(options)
    outcome = _audit(options, config)
    _answer(outcome, options)
    for fault in outcome.faults:
        click.echo(f"jaxaudit: {fault}", err=True)
    context.exit(2 if outcome.faults else int(not options.exit_zero and fails(outcome.report, strict=config.strict)))


@cli.command()
@click.argument("rule")
@refusing
def explain(rule: str) -> None:
    """Print the page of a rule, or the rules of a family."""
    from jaxaudit.pages import all_pages
    from jaxaudit.surfaces.print_pages import print_list, print_page

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
    from jaxaudit.surfaces.print_pages import print_list

    print_list(all_pages())


def main() -> None:
    """Run the command line; a fault of ours is told in one line, with its traceback when JAXAUDIT_DEBUG is set."""
    try:
        cli(prog_name="jaxaudit")
    except Exception as error:
        if os.environ.get("JAXAUDIT_DEBUG"):
            raise
        click.echo(f"jaxaudit: internal error: {type(error).__name__}: {error} (JAXAUDIT_DEBUG=1 shows more)", err=True)
        sys.exit(2)


def fails(report: Report, *, strict: bool) -> bool:
    """Tell whether a report makes the audit fail."""
    return bool(report.issues or (strict and (report.warnings or report.unknown)))


def _check_format(name: str) -> None:
    if name in LATER_FORMATS:
        raise UsageError(f"the format `{name}` is not available in this version; use text or json")
    if name not in FORMATS:
        raise UsageError(f"there is no format `{name}`{nearest(name, FORMATS) or '; use text or json'}")


def _config(options: Options) -> Config:
    from jaxaudit.discover import common_directory

    stdin = "-" in options.paths
    if stdin and len(options.paths) > 1:
        raise UsageError("standard input (`-`) cannot be audited together with other paths")
    if options.stdin_filename and not stdin:
        raise UsageError("--stdin-filename needs `-` as the only path")
    config = find_config(common_directory([options.stdin_filename or "."] if stdin else options.paths))
    return config.with_options(_split(options.select), _split(options.ignore), strict=options.strict)


def _audit(options: Options, config: Config) -> Outcome:
    from jaxaudit.session import audit_paths, audit_text

    if "-" in options.paths:
        name = options.stdin_filename or "stdin.py"
        return audit_text(name, sys.stdin.buffer.read(), config, force_exclude=options.force_exclude)
    paths = options.paths or (".",)
    outcome = audit_paths(paths, config, force_exclude=options.force_exclude)
    if not outcome.report.targets:
        click.echo(f"jaxaudit: no Python files to audit in {', '.join(paths)}", err=True)
    return outcome


def _answer(outcome: Outcome, options: Options) -> None:
    """Write what was asked for to the file that was asked for, else to standard output."""
    if options.output is None:
        _render(outcome, options, _stdout(options.format))
        return
    try:
        with options.output.open("w", encoding="utf-8") as stream:
            _render(outcome, options, stream)
    except OSError as error:
        raise UsageError(f"cannot write {options.output}: {error.strerror or error}") from error


def _stdout(format_name: str) -> TextIO:
    """Give standard output: JSON is UTF-8 always, and text shows what the terminal cannot as escapes."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        encoding = "utf-8" if format_name == "json" else sys.stdout.encoding
        sys.stdout.reconfigure(encoding=encoding, errors="backslashreplace")
    return sys.stdout


def _render(outcome: Outcome, options: Options, out: TextIO) -> None:
    if options.show_ir:
        from jaxaudit.ir.show import show_program

        out.write(show_program(outcome.program) + "\n")
    elif options.format == "json":
        from jaxaudit.reports.json import render_json

        out.write(render_json(outcome.report))
    else:
        from jaxaudit.reports.text import render_text

        render_text(outcome.report, outcome.sources, out, verbose=options.verbose, quiet=options.quiet)


def _split(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())
