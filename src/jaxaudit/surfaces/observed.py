"""The command `observed`: what runs and tests showed of functions, how old that is, and how to forget it."""

from __future__ import annotations

import ast
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jaxaudit.config import UsageError
from jaxaudit.surfaces.options import refusing

if TYPE_CHECKING:
    from jaxaudit.frontends.fingerprints import Fingerprint
    from jaxaudit.frontends.forms import Context, Known

_LONGEST = 160
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


@click.command()
@click.argument("paths", nargs=-1)
@click.option("--clear", is_flag=True, help="Forget what is known of these files.")
@refusing
def observed(paths: tuple[str, ...], *, clear: bool) -> None:
    """List what `run`, `trace` and `pytest --jaxaudit` have seen of the functions of PATHS (by default all below here).

    `check` enters functions with it. Facts of a function that has changed since are used as long as its parameters are
    the same.
    """
    from jaxaudit.discover import shown_name
    from jaxaudit.observation import store

    here = [path for path in store.known_paths() if _is_below(path, paths or (".",))]
    if clear:
        gone = store.clear(here) + (0 if paths else store.clear_damaged())
        click.echo(f"Forgot what was observed of {gone} file{'s' * (gone != 1)}.")
        return
    count = 0
    for path in here:
        known, problem = store.load(path)
        if problem:
            raise UsageError(problem)
        count += len(known)
        for line in _lines(path, shown_name(path), known, int(time.time())):
            click.echo(line)
    where = ", ".join(paths) or "the files below this folder"
    if count:
        click.echo(f"{count} function{'s' * (count != 1)} of {len(here)} file{'s' * (len(here) != 1)}.")
    else:
        click.echo(f"Nothing was observed of {where}: `jaxaudit run SCRIPT` or `pytest --jaxaudit` do that.")


def _is_below(path: str, places: Sequence[str]) -> bool:
    return any(Path(path).is_relative_to(os.path.realpath(place)) for place in places)


def _lines(path: str, shown: str, known: Mapping[str, Known], now: int) -> Iterator[str]:
    functions = _present(path)
    for name, one in known.items():
        function = functions.get(name)
        place = shown if function is None else f"{shown}:{function.line}"
        yield f"{place}  {name}{_since(one, function)}"
        for context in one.contexts:
            changed = function is not None and context.source != function.source
            yield f"    {_told(context, now)}{', changed since' * changed}"


def _present(path: str) -> Mapping[str, Fingerprint]:
    from jaxaudit.frontends.fingerprints import fingerprints

    try:
        text = Path(path).read_text(encoding="utf-8")
        return {one.name: one for one in fingerprints(ast.parse(text), text).values()}
    except (OSError, ValueError, SyntaxError, RecursionError):
        return {}


def _since(known: Known, now: Fingerprint | None) -> str:
    if now is None:
        return "  (not there any more)"
    return "" if known.signature == now.signature else "  (its parameters have changed: not used)"


def _told(context: Context, now: int) -> str:
    from jaxaudit.frontends.forms import calls_text, text_of

    arguments = ", ".join(f"{name} {text_of(form)}" for name, form in context.arguments.items())
    given = arguments if len(arguments) <= _LONGEST else f"{arguments[: _LONGEST - 3]}..."
    seen = [f"{where} ({calls_text(calls)})" for where, calls in context.seen.items()]
    more = f" and {len(seen) - 2} more" if len(seen) > 2 else ""
    within = f", under {' > '.join(context.within)}" if context.within else ""
    return f"{given or 'no arguments'}{within}: {', '.join(seen[:2])}{more}, {_age(now - context.when)}"


def _age(seconds: int) -> str:
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size} {unit}{'s' * (seconds >= 2 * size)} ago"
    return "just now"
