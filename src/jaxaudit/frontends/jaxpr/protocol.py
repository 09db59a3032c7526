"""What the tracer in the user's environment is asked, and what it answers: plain JSON in two files.

Both sides import this module, so it needs the standard library alone. A field that a side does not know is an error of
ours, never of the user.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from jaxaudit.frontends.forms import Sighting
from jaxaudit.ir.collector import collector_paused


@dataclass(frozen=True, slots=True)
class Request:
    """What the child shall do."""

    kind: str
    """`run` (observe a script) or `trace` (a target with argument specs)."""
    target: str
    """The script, or the target as the user typed it."""
    arguments: tuple[str, ...] = ()
    """The script's own arguments."""
    specs: Mapping[str, str] = field(default_factory=dict)
    """Argument specs by parameter name or position."""
    specs_file: str = ""
    """A Python file that holds specs: a mapping `ARGS`, or functions that give arguments."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Sizes of named axes that the user fixed."""
    mesh: Mapping[str, int] = field(default_factory=dict)
    """The axes of the mesh that a target is traced for."""
    steps: int = 0
    """Stop after this many calls of one compiled function; 0 never stops."""
    timeout: float = 0.0
    """Stop after this many seconds; 0 never stops."""
    probe: bool = True
    """Whether derivative rules may be evaluated on random inputs."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One Python frame of a stack, outermost first in a list of them; columns are 0-based bytes."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    function: str
    user: bool
    """False for frames of JAX, of other libraries and of Python itself."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a library's function was given when an exception went through it."""

    function: str
    arguments: tuple[tuple[str, str], ...]
    """Names of parameters, and the types or values that they had: `("x", "float32[3,4]")`."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf of a tree: its path, and its type (`float32[3]`, `a Python int`)."""

    path: str
    type: str


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception that ended the script or the trace."""

    type: str
    """The qualified name, such as `jax.errors.TracerBoolConversionError`."""
    bases: tuple[str, ...]
    message: str
    frames: tuple[Frame, ...]
    origin: tuple[Frame, ...] = ()
    """The stack of the operation that was being transformed, where JAX tells it apart from the call."""
    given: tuple[Given, ...] = ()
    """The library's functions that were active inside the user's innermost frame, outermost first."""
    causes: tuple[str, ...] = ()
    """The types of the exceptions that led to this one."""
    similar: tuple[str, ...] = ()
    """Names that exist and look like the one that does not."""
    leaves: tuple[Leaf, ...] = ()
    """The leaves of what the transformation was called with that raised."""
    at: Leaf | None = None
    """The leaf at which `tree.map` was, with the types of all trees."""
    holds: tuple[str, ...] = ()
    """The keys or fields of what lacks the one that was asked for; the line that cannot be parsed."""


@dataclass(frozen=True, slots=True)
class Capture:
    """One outermost transformed function as it was first called."""

    name: str
    transform: str
    """`jit`, `grad`, `vmap`, `scan`, ..."""
    path: str
    line: int
    """Where it was transformed."""
    skipped: str = ""
    """Why its program could not be read; empty when it could."""


@dataclass(frozen=True, slots=True)
class Retrace:
    """One more trace of a function that had been traced before."""

    name: str
    path: str
    line: int
    """Where it was transformed."""
    call: Frame | None
    """The user's call that led to the trace."""
    kind: str
    """`shape`, `dtype`, `weak type`, `static value`, `tree structure`, `new function` or `context`."""
    detail: str


@dataclass(frozen=True, slots=True)
class Probe:
    """What evaluating a derivative rule on small random inputs showed about one argument."""

    function: str
    kind: str
    """`custom_vjp` or `custom_jvp`."""
    verdict: str
    """`agrees`, `estimator` (differs on purpose), `differs`, `doubtful` or `open`."""
    text: str
    place: Frame | None
    """What the rule returns for the argument."""
    made: Frame | None = None
    """The function that the rule is for."""
    argument: str = ""
    inputs: int = 0


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What objects of a registered class were after they had been taken apart and put together again."""

    cls: str
    attribute: str
    """Empty where all attributes are as they were."""
    verdict: str
    """`agrees`, `differs`, `doubtful` or `open`."""
    text: str
    objects: int
    """How many were looked at."""
    place: Frame | None
    """What objects are taken apart into."""
    other: Frame | None
    """What they are put together of."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """What evaluating a call once more showed of one place."""

    function: str
    calls: str
    """How much was looked at: `1 call of `step`, 12 turns`."""
    kind: str
    """`index`, `update`, `choice`, `wrap`, `host`, `nan`, `infinity`, `key`, `turns`, `elements` or `calls`.

    `open` where it was not evaluated.
    """
    text: str = ""
    """A clause with the numbers; empty where nothing is wrong."""
    places: tuple[Frame, ...] = ()
    """The user's places, innermost first."""
    other: Frame | None = None
    """The other place that has to do with it: the first of two draws, the operation whose NaN comes of an infinity."""
    backward: bool = False
    """Whether it happens in a backward pass."""
    doubtful: bool = False
    """Whether it may well be meant."""


@dataclass(frozen=True, slots=True)
class LateCall:
    """A call of a compiled function that came after a change of what the function reads from outside."""

    number: int
    names: tuple[str, ...]
    """What had changed, in the user's words."""
    call: Frame | None


@dataclass(frozen=True, slots=True)
class Unsteady:
    """A function inside `jit` of which another trace gives another program."""

    function: str
    made: Frame
    """Where it was transformed."""
    text: str
    places: tuple[Frame, ...] = ()
    """The user's places of the first operation that differs, innermost first."""
    failure: Failure | None = None
    """What a further trace raises; then nothing else is known."""
    late: LateCall | None = None
    """Where all further traces agree, and what was compiled is another program."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the child has seen, up to the end or up to where it stopped."""

    status: str = "done"
    """`done`; `failed` (the user's code raised); `refused` (nothing could be done: `message` says why)."""
    message: str = ""
    exit_code: int = 0
    stopped: str = ""
    """Why observation ended early: `steps`, `timeout`, or empty."""
    program: Mapping[str, Any] | None = None
    """As `ir.serial` writes it."""
    captures: tuple[Capture, ...] = ()
    retraces: tuple[Retrace, ...] = ()
    failure: Failure | None = None
    files: tuple[str, ...] = ()
    """The user's modules that were imported."""
    axes: Mapping[str, int] = field(default_factory=dict)
    """The size that stands for each named axis."""
    arguments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The axis names of each argument leaf, where specs or annotations named them."""
    probes: tuple[Probe, ...] = ()
    unsteady: tuple[Unsteady, ...] = ()
    rebuilt: tuple[Rebuilt, ...] = ()
    replayed: tuple[Replayed, ...] = ()
    faults: tuple[str, ...] = ()
    """Errors of ours that cost a part of what could have been seen."""
    sightings: tuple[Sighting, ...] = ()
    """What the user's functions were called with."""


@collector_paused()
def write(path: Path, message: Request | Reply) -> None:
    """Write a message; a half-written file is never seen, since it is renamed into place."""
    part = path.with_suffix(".part")
    # The program is plain data already, and too large to be copied once more.
    data = {one.name: getattr(message, one.name) for one in fields(message)}
    part.write_text(json.dumps(data, default=asdict, separators=(",", ":")), encoding="utf-8")
    part.replace(path)


def read_request(path: Path) -> Request:
    """Read what to do."""
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    data["arguments"] = tuple(data["arguments"])
    return Request(**data)


@collector_paused()
def read_reply(path: Path) -> Reply:
    """Read what was seen."""
    # The child may have no more than the standard library, and it reads no replies.
    from msgspec import convert

    return convert(json.loads(path.read_text(encoding="utf-8")), Reply)
