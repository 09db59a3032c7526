"""What the commands share: common options, the answer on the right stream, refusals in one sentence."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ParamSpec, TextIO

import click

from jaxaudit.config import Config, UsageError, nearest
from jaxaudit.reports.registry import Detail, Format, format_names, load_format

if TYPE_CHECKING:
    from jaxaudit.outcome import Outcome
    from jaxaudit.reports.model import Report

Params = ParamSpec("Params")
Command = Callable[..., Any]


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
class ReportOptions:
    """How to report, and what makes the audit fail."""

    format: str
    output: Path | None
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    strict: bool
    exit_zero: bool
    quiet: bool
    verbose: bool
    show_ir: bool

    @property
    def shows_sections(self) -> bool:
        """Whether the report shows how data flows, and not only what was found."""
        return not self.show_ir and (self.verbose or not self.written.findings_only)

    @property
    def written(self) -> Format:
        """The format itself."""
        return load_format(self.format)

    def config(self, found: Config) -> Config:
        """Add what the command line says to a configuration."""
        return found.with_options(_split(self.select), _split(self.ignore), strict=self.strict)


def report_options(command: Command) -> Command:
    """Add the options that every auditing command has."""
    for option in reversed(_REPORT_OPTIONS):
        command = option(command)
    return command


def take_report_options(given: dict[str, Any]) -> ReportOptions:
    """Take the common options out of what click gives a command."""
    return ReportOptions(**{name: given.pop(name) for name in ReportOptions.__slots__})


_DEFAULT, *_OTHERS = format_names()

_REPORT_OPTIONS = (
    click.option(
        "--format",
        default=_DEFAULT,
        metavar="FORMAT",
        help=f"{_DEFAULT} (default), {', '.join(_OTHERS[:-1])} or {_OTHERS[-1]}.",
    ),
    click.option("--output", "-o", type=click.Path(path_type=Path), metavar="FILE", help="Write the report to a file."),
    click.option(
        "--select", multiple=True, metavar="RULES", help="Run only these rules or families (by comma, or repeated)."
    ),
    click.option("--ignore", multiple=True, metavar="RULES", help="Leave out these rules or families."),
    click.option("--strict", is_flag=True, help="Warnings and unknowns fail the audit too."),
    click.option("--exit-zero", is_flag=True, help="Exit with 0 even when issues are found."),
    click.option("--quiet", "-q", is_flag=True, help="Print only the issues, one line each."),
    click.option("--verbose", "-v", is_flag=True, help="Print all sections, with what is verified and what is open."),
    click.option("--show-ir", is_flag=True, help="Print the program as the rules see it, instead of the report."),
)


def check_format(options: ReportOptions) -> None:
    """Refuse a format that does not exist, and a page that would flood the terminal."""
    name, names = options.format, format_names()
    if name not in names:
        use = f"; use {', '.join(names[:-1])} or {names[-1]}"
        raise UsageError(f"there is no format `{name}`{nearest(name, names) or use}")
    if options.written.needs_file and options.output is None and sys.stdout.isatty():
        raise UsageError(f"the page is one large file: give it a name with --output report.{name}")


def finish(
    context: click.Context, outcome: Outcome, options: ReportOptions, *, strict: bool, otherwise: int = 0
) -> None:
    """Write the report and leave: 2 for faults of ours, 1 for issues, else `otherwise`."""
    answer(outcome, options)
    for fault in (*outcome.remarks, *outcome.faults):
        click.echo(f"jaxaudit: {fault}", err=True)
    if outcome.faults:
        context.exit(2)
    if options.exit_zero or not fails(outcome.report, strict=strict):
        context.exit(otherwise)
    if not outcome.report.issues:
        click.echo(f"jaxaudit: {why_strict_fails(outcome.report)}", err=True)
    context.exit(1)


def fails(report: Report, *, strict: bool) -> bool:
    """Whether a report makes the audit fail."""
    return bool(report.issues or (strict and (report.warnings or report.unknown)))


def why_strict_fails(report: Report) -> str:
    """Return what makes a strict audit fail that found no issue."""
    warnings, unknown = len(report.warnings), len(report.unknown)
    told = (
        f"{warnings:,} warning{'s' * (warnings > 1)}" if warnings else "",
        f"{unknown:,} obligation{'s' * (unknown > 1)} that cannot be decided" if unknown else "",
    )
    verb = "is" if warnings + unknown == 1 else "are"
    return f"the audit is strict, and there {verb} {' and '.join(filter(None, told))}"


def answer(outcome: Outcome, options: ReportOptions) -> None:
    """Write what was asked for to the file that was asked for, else to standard output."""
    if options.output is None:
        _render(outcome, options, _stdout(options.written))
        return
    try:
        with options.output.open("w", encoding="utf-8") as stream:
            _render(outcome, options, stream)
    except OSError as error:
        raise UsageError(f"cannot write {options.output}: {error.strerror or error}") from error


def _stdout(written: Format) -> TextIO:
    """Return standard output: other formats than text are UTF-8, and text escapes what the terminal cannot show."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        encoding = sys.stdout.encoding if written.for_people else "utf-8"
        sys.stdout.reconfigure(encoding=encoding, errors="backslashreplace")
    return sys.stdout


def _render(outcome: Outcome, options: ReportOptions, out: TextIO) -> None:
    if options.show_ir:
        from jaxaudit.ir.show import show_program

        out.write(show_program(outcome.program) + "\n")
    else:
        options.written.render(outcome.report, outcome.sources, out, Detail(options.verbose, options.quiet))


def _split(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())
