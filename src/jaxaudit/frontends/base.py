"""What a front end is given and what it gives back: files in, a program and an honest account of its reach out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jaxaudit.frontends.forms import Known
from jaxaudit.ir import Program
from jaxaudit.ir.record import record


@record
class SourceFile:
    """One Python file. `audited` is False for a file that is read only because an audited one imports it."""

    path: str
    """The path to show, relative where possible, with forward slashes."""
    text: str
    audited: bool = True


@record
class Problem:
    """A file that could not be read or parsed: reported, and the rest goes on."""

    path: str
    line: int
    column: int
    message: str
    suggestion: str = ""
    limit: bool = False
    """Whether nothing is wrong with the file: whoever reads it is too old for it."""


@record
class Skip:
    """A function that was found but not entered, and why."""

    path: str
    line: int
    function: str
    reason: str


@record
class Reach:
    """How much of the code a front end saw."""

    files: int = 0
    lines: int = 0
    functions: int = 0
    entered: int = 0
    skipped: tuple[Skip, ...] = ()
    unfollowed: int = 0
    """Calls of known functions that were not followed because the program is too large to follow them all."""


@record
class Observed:
    """What runs and tests showed of the functions of some files."""

    functions: Mapping[str, Mapping[str, Known]]
    """By the path to show, and the name of a fingerprint."""
    shown: Callable[[str], str]
    """Turns the path of a file as a run knows it into the path to show."""


@record
class Reading:
    """The result of a front end."""

    program: Program
    problems: tuple[Problem, ...]
    reach: Reach
    faults: tuple[str, ...] = ()
    """Errors of its own, one line each: the function that met one is left out, the rest stands."""
    observed: Program | None = None
    """The same code, entered with what was observed of its arguments."""
