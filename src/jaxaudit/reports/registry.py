"""Finds the formats of reports: one module each in `formats/`, by its name and imported only when it is asked for."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO, TypeAlias

from jaxaudit.reports import formats

if TYPE_CHECKING:
    from jaxaudit.reports.identity import Sources
    from jaxaudit.reports.model import Report


@dataclass(frozen=True, slots=True)
class Detail:
    """How much the user wants to read, in a format that leaves the choice."""

    verbose: bool = False
    quiet: bool = False


Render: TypeAlias = "Callable[[Report, Sources, TextIO, Detail], object]"
"""Writes a report; what it gives back says nothing."""


@dataclass(frozen=True, slots=True)
class Format:
    """One way to write a report."""

    render: Render
    for_people: bool = False
    """Whether it may stand on a terminal beside what an observed script prints, in the encoding that is shown there."""
    findings_only: bool = False
    """Whether it shows no data flow unless `-v` asks for it, so that none need be computed."""
    needs_file: bool = False
    """Whether it is one large file that nobody wants on a terminal."""


def format_names() -> tuple[str, ...]:
    """Return the name of every format, the default one first."""
    return tuple(
        sorted((info.name for info in pkgutil.iter_modules(formats.__path__)), key=lambda one: (one != DEFAULT, one))
    )


DEFAULT = "text"


def load_format(name: str) -> Format:
    """Return a format that exists."""
    found = importlib.import_module(f"{formats.__name__}.{name}").FORMAT
    assert isinstance(found, Format)
    return found
