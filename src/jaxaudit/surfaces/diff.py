"""The command `diff`: what a change of the code breaks."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jaxaudit.config import Config, UsageError, find_config
from jaxaudit.surfaces.options import check_format, finish, refusing, report_options, take_report_options
from jaxaudit.surfaces.progress_bar import progress_shown

if TYPE_CHECKING:
    from jaxaudit.changes.states import Comparison


@click.command()
@click.argument("base", default="")
@report_options
@click.option("--if-jax", is_flag=True, help="Audit nothing unless the change touches JAX; say why, or why not.")
@click.option("--no-observed", is_flag=True, help="Leave out what runs and tests showed of the arguments of functions.")
@click.option("--no-cache", is_flag=True, help="Audit again, even if nothing has changed since the last time.")
@click.pass_context
@refusing
def diff(
    context: click.Context, /, *, base: str, if_jax: bool, no_observed: bool, no_cache: bool, **given: Any
) -> None:
    """Tell what a change breaks: what was proved before and is not now, what is new, what is fixed.

    Compares the working tree with BASE (HEAD by default), two commits (A..B), their common ancestor with the second
    (A...B), or the states before and after a patch on standard input (-). Nothing is checked out.
    """
    options = take_report_options(given)
    check_format(options)
    config = options.config(find_config(Path.cwd()))
    with progress_shown(quiet=options.quiet):
        from jaxaudit.changes.verdict import audit_change

        fresh = no_cache or options.show_ir
        outcome = audit_change(_states(base, config), config, if_jax=if_jax, fresh=fresh, observed=not no_observed)
    gc.freeze()
    finish(context, outcome, options, strict=config.strict)


def _states(base: str, config: Config) -> Comparison:
    from jaxaudit.changes.patches import patched
    from jaxaudit.changes.repository import repository
    from jaxaudit.changes.states import compared

    if base == "-":
        return patched(repository(Path.cwd()), sys.stdin.buffer.read(), config)
    if base.startswith("-"):
        raise UsageError(f"there is no commit `{base}`")
    return compared(repository(Path.cwd()), base, config)
