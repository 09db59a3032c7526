"""The commands that run or trace the user's code: `run` and `trace`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jaxaudit.config import UsageError, find_config
from jaxaudit.surfaces.options import (
    Command,
    ReportOptions,
    check_format,
    finish,
    refusing,
    report_options,
    take_report_options,
)
from jaxaudit.surfaces.progress_bar import progress_shown

if TYPE_CHECKING:
    from jaxaudit.observation.audit import Setting


def tracer_options(command: Command) -> Command:
    """Add the options about the interpreter and the devices."""
    for option in reversed(_TRACER_OPTIONS):
        command = option(command)
    return command


_TRACER_OPTIONS = (
    click.option("--python", default="", metavar="PATH", help="The interpreter that has jax and your packages."),
    click.option("--devices", type=click.IntRange(1), metavar="N", help="Simulate N devices on the CPU."),
    click.option("--no-probe", is_flag=True, help="Do not evaluate derivative rules and first calls again."),
    click.option("--timeout", type=click.FloatRange(0), default=0.0, metavar="S", help="Stop after S seconds."),
)


@click.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": False})
@report_options
@tracer_options
@click.option(
    "--steps", type=click.IntRange(0), default=0, metavar="N", help="Stop after N calls of a jitted function."
)
@click.argument("script")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
@refusing
def run(context: click.Context, /, *, script: str, arguments: tuple[str, ...], steps: int, **given: Any) -> None:
    """Run SCRIPT with its ARGUMENTS, observe it, and audit what was seen together with its source.

    Options of jaxaudit come before SCRIPT. The script's own output passes through; with a machine format on standard
    output it goes to standard error. Exits with 1 when issues are found, else with the script's own exit code.
    """
    from jaxaudit.observation.audit import audit_run

    options = take_report_options(given)
    check_format(options)
    config = options.config(find_config(Path(script).absolute().parent))
    with progress_shown(quiet=options.quiet):
        seen = audit_run(script, arguments, config, _setting(given, options, steps))
    if seen.stopped:
        click.echo(f"jaxaudit: the script was stopped early ({seen.stopped})", err=True)
    finish(context, seen.outcome, options, strict=config.strict, otherwise=seen.exit_code)


@click.command()
@click.argument("target")
@click.option(
    "--arg", "specs", multiple=True, metavar="NAME=SPEC", help="Type of an argument: x='f32[batch=32,obs=17]'."
)
@click.option("--specs", "specs_file", default="", metavar="FILE", help="A Python file with argument specs.")
@click.option("--size", "sizes", multiple=True, metavar="AXIS=N", help="Size of a named axis.")
@click.option("--mesh", "axes", default="", metavar="AXIS=N,...", help="Trace for a mesh of devices: data=64,model=8.")
@report_options
@tracer_options
@click.pass_context
@refusing
def trace(
    context: click.Context,
    /,
    *,
    target: str,
    specs: tuple[str, ...],
    specs_file: str,
    sizes: tuple[str, ...],
    axes: str,
    **given: Any,
) -> None:
    """Trace TARGET (FILE:FUNCTION, pkg.mod:function, FILE:make_train(config)) abstractly and audit it.

    Nothing is computed: arguments are types alone, from --arg, [tool.jaxaudit.targets], annotations or --specs.
    """
    from jaxaudit.observation.audit import TraceTarget, audit_trace

    options = take_report_options(given)
    check_format(options)
    config = options.config(find_config(_directory(target)))
    wanted = TraceTarget(
        target,
        {**config.target_specs(target), **_pairs(specs, "--arg")},
        specs_file,
        _sizes(sizes, "--size"),
        _sizes(tuple(filter(None, axes.split(","))), "--mesh"),
    )
    with progress_shown(quiet=options.quiet):
        outcome = audit_trace(wanted, config, _setting(given, options, 0))
    finish(context, outcome, options, strict=config.strict)


def _setting(given: dict[str, Any], options: ReportOptions, steps: int) -> Setting:
    from jaxaudit.observation.audit import Setting

    machine = not options.written.for_people and options.output is None
    stdout = sys.stderr if machine else None
    return Setting(
        given["python"],
        given["devices"] or 0,
        steps,
        given["timeout"],
        stdout,
        probe=not given["no_probe"],
        sections=options.shows_sections,
    )


def _directory(target: str) -> Path:
    """Return where the search for a configuration starts."""
    file = Path(target.partition(":")[0])
    return file.absolute().parent if file.is_file() else Path.cwd()


def _pairs(values: tuple[str, ...], option: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for value in values:
        name, equals, rest = value.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"{option} wants NAME=VALUE, not `{value}`")
        pairs[name.strip()] = rest.strip()
    return pairs


def _sizes(values: tuple[str, ...], option: str) -> dict[str, int]:
    return {name: _whole(size, name, option) for name, size in _pairs(values, option).items()}


def _whole(text: str, name: str, option: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise UsageError(f"{option} {name} wants a positive whole number, not `{text}`")
    return int(text)
