"""What a change of the code did to what it relies on: the part of a report that `diff` adds.

Field names are keys of the JSON report, under `change`.
"""

from __future__ import annotations

from jaxaudit.ir.record import record


@record
class ChangedFile:
    """A Python file that differs between the two states."""

    path: str
    kind: str
    """`added`, `removed`, `changed` or `renamed`."""
    before: str = ""
    """Its earlier name, where it was renamed."""


@record
class Broken:
    """A constraint that was proved before, and is violated or cannot be decided now."""

    rule: str
    family: str
    path: str
    line: int
    column: int
    verdict: str
    """`violated` or `unknown`."""
    now: str
    """What is wrong, or why it cannot be decided any more."""
    before: str
    """Why it held."""
    before_path: str
    before_line: int
    finding: str = ""
    """The id of the issue or warning that says more; empty where it cannot be decided."""
    lines: tuple[int, ...] = ()
    """All lines of the function where the same rule cannot be decided any more."""


@record
class Fixed:
    """A finding of the earlier state that is none any more; its place is that in the earlier state."""

    rule: str
    family: str
    severity: str
    path: str
    line: int
    message: str
    now: str
    """`holds`, `cannot be decided` or `its code is gone`."""


@record
class BoundaryChange:
    """Something that other code relies on, and that is otherwise now."""

    kind: str
    """`carry`, `axis`, `mapping`, `static`, `option`, `keys`, `results`, `parameters` or `type`; of facts `dependence`,
    `version`, `operand`, `order`, `function` or `option`."""
    path: str
    line: int
    function: str
    before: str
    now: str
    text: str
    """The whole of it in one sentence."""


@record
class Reason:
    """Why a change touches JAX."""

    path: str
    line: int
    text: str


@record
class Change:
    """What was compared, and what came out."""

    before: str
    """What the earlier state is called: `HEAD (3f2c1a9)`."""
    after: str
    files: tuple[ChangedFile, ...] = ()
    audited: tuple[str, ...] = ()
    """The files that were audited in both states: what changed, and what calls it."""
    touches_jax: bool = False
    reasons: tuple[Reason, ...] = ()
    """Why it touches JAX."""
    broken: tuple[Broken, ...] = ()
    new: tuple[str, ...] = ()
    """The ids of issues and warnings about what was not there before."""
    fixed: tuple[Fixed, ...] = ()
    boundaries: tuple[BoundaryChange, ...] = ()
    facts: tuple[BoundaryChange, ...] = ()
    """What is computed otherwise than before, where no rule has a verdict on it."""
    same: bool = False
    """Whether all that the files return and store is surely computed as before: in other words at most."""
    kept: int = 0
    """How many issues and warnings of the audited files were there before; they are not in the report."""
