"""What a trace or a run adds to the report beside its obligations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from jaxaudit.ir import Program
from jaxaudit.ir.record import record
from jaxaudit.reports.model import SkippedFunction, Target, Traces


@record
class RootNote:
    """How the function of one root was reached: what was traced is its inside only."""

    transform: str
    """The transformation around the root, such as `jit`; empty when the root holds it."""
    path: str
    line: int
    traces: Traces = field(default_factory=Traces)


@record
class Notes:
    """What was seen of a program by JAX itself."""

    program: Program
    roots: tuple[RootNote, ...] = ()
    """One for each root of the program, in order."""
    targets: tuple[Target, ...] = ()
    skipped: tuple[SkippedFunction, ...] = ()
    axes: Mapping[str, int] = field(default_factory=dict)
    """The size that stands for each named axis of the arguments."""
