"""The report: the one thing that every format and every door reads.

Field names are the keys of the JSON report, so they are a contract: within a schema version fields are only added.
Lines and columns are 1-based and count code points; ends are exclusive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from jaxaudit.ir.record import mutable, record
from jaxaudit.reports.change import Change

SCHEMA_VERSION = 1


@record
class Tool:
    """Who made the report."""

    name: str
    version: str


@record
class Target:
    """One thing that was audited."""

    path: str
    front_end: str
    name: str = ""
    """The function, where a single one was traced."""
    line: int = 0


@record
class Traces:
    """How often a function was traced while it was observed, and why again."""

    count: int = 1
    causes: tuple[str, ...] = ()


@record
class Transformation:
    """One transformation of the stack: rows come in order, each below the one it is nested in."""

    id: int
    parent: int | None
    depth: int
    root: str
    """The outermost function that it is part of."""
    transform: str
    function: str
    """The function that is transformed."""
    path: str
    line: int
    front_end: str
    options: Mapping[str, str] = field(default_factory=dict)
    traces: Traces | None = None


@record
class Crossing:
    """One value that crosses the border of a transformation."""

    name: str
    outside: str
    inside: str
    how: str
    """`whole`, `mapped over axis 0`, `carried`, `scanned over axis 0`, `shared`, ..."""
    outside_axes: tuple[str, ...] = ()
    """The id of each axis outside; empty for axes of size one."""
    inside_axes: tuple[str, ...] = ()


@record
class Boundary:
    """What goes into a transformation and what comes out of it."""

    root: str
    transform: str
    function: str
    path: str
    line: int
    entries: tuple[Crossing, ...] = ()
    exits: tuple[Crossing, ...] = ()
    mapped: tuple[str, ...] = ()
    """The `vmap`s around it, whose axes the shapes still have."""


@mutable
class FlowValue:
    """One value on its way: what people call it, and its exact type where it is known."""

    name: str
    type: str = ""
    uses: int = 0
    """How many steps read it; 0 means that it is dropped."""
    id: int = 0
    """Tells values of one root apart; steps name it in `reads` and `leaves`."""
    axes: tuple[str, ...] = ()
    """The id of each axis of its type, in order; empty for axes of size one."""
    residual: bool = False
    """True when it is kept for the backward pass alone."""
    range: str = ""
    """Between which numbers its elements lie, and what else is known of them: `[0, 1]`, `>= 0`, `mask`."""
    meaning: str = ""
    """What it is taken for: `logits`, `index`, ...; `now normalised` where a step changed the meaning alone."""
    unknown: str = ""
    """Why its shape is not known."""


@mutable
class FlowStep:
    """One step of the data flow; `count` equal steps of one line and function are folded into one."""

    root: str
    function: str
    """The function or transformation around it."""
    depth: int
    path: str
    line: int
    op: str
    what: str
    takes: tuple[str, ...] = ()
    makes: tuple[FlowValue, ...] = ()
    count: int = 1
    id: int = 0
    """Its place in the root, from 0."""
    parent: int | None = None
    """The step whose inside it stands in; none at the top of the root."""
    branch: int = 0
    """Which of the parent's bodies it stands in: those of a `cond`, else 0."""
    reads: tuple[int, ...] = ()
    """The ids of the values it takes."""
    enters: tuple[FlowValue, ...] = ()
    """What its operands are called inside, for a step that has an inside."""
    leaves: tuple[int, ...] = ()
    """The ids of the values inside that become what it makes."""
    backward: bool = False
    """True for a step of a backward pass, which JAX made of the line."""
    note: str = ""
    """What else it does: `maps axis 0 of x (8)`, `50 steps`, `stops the gradient`."""


@record
class AxisStation:
    """One thing that happens to an axis on its way."""

    kind: str
    """`enters`, `made`, `vmapped`, `collected`, `scanned`, `stacked`, `merged`, `split`, `reshaped`, `reduced`,
    `projected`, `broadcast`, `joined`, `cut`, `sliced`, `extended`, `indexed`, `sharded` or `returned`."""
    path: str
    line: int
    text: str
    op: str = ""
    value: str = ""
    """What people call the array it happens to."""
    shape: str = ""
    place: int = 0
    """Which axis of that array it is."""
    step: int | None = None
    """The id of the step of the data flow, within the axis's root."""
    transformation: int | None = None
    """The id of the transformation that does it, for `vmapped`, `scanned` and their kin."""
    count: int = 1
    """How many stations of this kind and line are told as one."""
    backward: bool = False
    """True for what happens in a backward pass."""


@record
class Axis:
    """One axis on its way through one function: the arrays that have it, and what happens to it."""

    id: str
    """Stays the same while the code around the axis changes, so that it can keep its colour."""
    name: str
    """What people call it; empty where nothing tells."""
    size: int
    root: str
    origin: str
    """Where it comes from: `argument x, axis 0`, `vmap(step)`, ..."""
    named_by: str = ""
    """`declared`, `constant`, `axis_name`, `product`, `vmap` or `scan`: where the name comes from."""
    aliases: tuple[str, ...] = ()
    factors: tuple[str, ...] = ()
    """The ids of the axes that a reshape made this one of, in order."""
    stations: tuple[AxisStation, ...] = ()


@record
class WhyStep:
    """One step of the way from a cause to a finding."""

    path: str
    line: int
    text: str


@record
class TextEdit:
    """An exact replacement of a stretch of a file."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    replacement: str


@record
class Suggestion:
    """How to repair a finding: as text, and as exact edits where that is safe."""

    text: str
    edits: tuple[TextEdit, ...] = ()


@record
class Finding:
    """An issue or a warning."""

    id: str
    """Stays the same while the line only moves."""
    rule: str
    family: str
    severity: str
    """`error`, `performance` or `warning`."""
    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    message: str
    current: str = ""
    expected: str = ""
    why: tuple[WhyStep, ...] = ()
    suggestion: Suggestion | None = None
    front_end: str = "source"


@record
class Verified:
    """An obligation that holds, and why."""

    rule: str
    family: str
    path: str
    line: int
    reason: str
    column: int = 0
    """Tells obligations of one line apart; 1 is the first column."""


@record
class Unknown:
    """An obligation that could not be decided, and why."""

    rule: str
    family: str
    path: str
    line: int
    reason: str
    column: int = 0
    """Tells obligations of one line apart; 1 is the first column."""


@record
class Lead:
    """A fact that is worth a second look and no verdict: it may well be meant."""

    kind: str
    """`unread-value`, `old-version-read`, `axes-grow`, ...: the functions of `reports.leads` by name."""
    path: str
    line: int
    text: str
    weight: int
    """How often such a fact tells of a mistake, from 1 to 9: the most telling ones come first."""


@record
class Tally:
    """How many obligations there are, by verdict."""

    obligations: int = 0
    proved: int = 0
    violated: int = 0
    unknown: int = 0


@record
class SkippedFunction:
    """A function that was found but not entered, and why."""

    path: str
    line: int
    function: str
    reason: str


@record
class Sight:
    """A script or test in which a function was observed."""

    where: str
    calls: int


@record
class ObservedFunction:
    """A function that was entered with arguments of calls that a run or test showed, beside any arguments."""

    path: str
    line: int
    function: str
    arguments: str
    text: str
    """`observed in tests/test_env.py::test_step, 3 calls`."""
    seen: tuple[Sight, ...] = ()
    changed: bool = False
    """True where the function has changed since; its parameters have not."""


@record
class Coverage:
    """How much of the code was seen, and how much of what it must satisfy was decided."""

    obligations: int = 0
    proved: int = 0
    violated: int = 0
    unknown: int = 0
    by_family: Mapping[str, Tally] = field(default_factory=dict)
    suppressed: int = 0
    """Findings that comments in the code silence; they are in neither `issues` nor `warnings`."""
    files: int = 0
    lines: int = 0
    functions: int = 0
    entered: int = 0
    skipped: tuple[SkippedFunction, ...] = ()
    unfollowed: int = 0
    """Calls of known functions that were not followed because the program is too large to follow them all."""
    traced: int = 0
    """Functions whose exact programs were read from JAX."""
    arrays: int = 0
    """Places of the code that make arrays."""
    shapes: int = 0
    """Those of them whose shape is known."""
    shapeless: tuple[SkippedFunction, ...] = ()
    """Functions that make arrays, and no shape is known of any."""
    observed: tuple[ObservedFunction, ...] = ()
    """Functions that were entered with arguments that runs and tests showed."""


@record
class Report:
    """All there is to say about one audit."""

    schema_version: int
    tool: Tool
    targets: tuple[Target, ...] = ()
    data_flow: tuple[FlowStep, ...] = ()
    transformation_stack: tuple[Transformation, ...] = ()
    boundaries: tuple[Boundary, ...] = ()
    issues: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    verified: tuple[Verified, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    coverage: Coverage = field(default_factory=Coverage)
    not_available: tuple[str, ...] = ()
    """Sections that are empty because this version cannot fill them, not because there is nothing to tell."""
    axes: tuple[Axis, ...] = ()
    """Every axis of what was traced, with its way; `data_flow` and `boundaries` name them by id."""
    change: Change | None = None
    """Of `diff`: what the change did. Issues, warnings and unknowns are then those that it brought."""
    leads: tuple[Lead, ...] = ()
    """Facts of the source that a reader may want to look at again, the most telling ones first."""
