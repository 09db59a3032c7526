"""Audits that run or trace the user's program, in a child process that gives facts only.

Every judgement is made by `conclude.py`, with the same rules as for source.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from math import prod
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from jaxaudit import progress
from jaxaudit.config import Config, UsageError, find_config
from jaxaudit.discover import refuse_notebook
from jaxaudit.frontends.jaxpr.protocol import Reply, Request
from jaxaudit.frontends.jaxpr.worker import TracerError, ask
from jaxaudit.ir.record import replace

if TYPE_CHECKING:
    from jaxaudit.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Setting:
    """How the tracer is started."""

    python: str = ""
    devices: int = 0
    steps: int = 0
    timeout: float = 0.0
    stdout: IO[Any] | int | None = None
    """Where the standard output of the user's program goes."""
    probe: bool = True
    """Whether derivative rules may be evaluated on random inputs."""
    sections: bool = True
    """Whether the sections about data are shown; where they are not, nobody waits for them."""


@dataclass(frozen=True, slots=True)
class Run:
    """The outcome of an observed run."""

    outcome: Outcome
    exit_code: int
    """The script's own."""
    stopped: str = ""


@dataclass(frozen=True, slots=True)
class TraceTarget:
    """What to trace, and with what."""

    target: str
    specs: Mapping[str, str] = field(default_factory=dict)
    specs_file: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)
    mesh: Mapping[str, int] = field(default_factory=dict)
    """The axes of the mesh to trace it for."""


def audit_run(script: str, arguments: Sequence[str], config: Config, setting: Setting) -> Run:
    """Run a script and audit what was seen together with its source."""
    if not Path(script).is_file():
        raise UsageError(f"no such file: {script}")
    refuse_notebook(script)
    request = Request(
        "run", script, tuple(arguments), steps=setting.steps, timeout=setting.timeout, probe=setting.probe
    )
    reply = _ask(request, setting)
    return Run(_conclude(reply, [script], config, sections=setting.sections), reply.exit_code, reply.stopped)


def audit_trace(target: TraceTarget, config: Config, setting: Setting) -> Outcome:
    """Trace a function abstractly and audit it together with the source of its file."""
    request = Request(
        "trace",
        target.target,
        specs=target.specs,
        specs_file=target.specs_file,
        sizes=target.sizes,
        mesh=target.mesh,
        timeout=setting.timeout,
        probe=setting.probe,
    )
    progress.tell(f"tracing {target.target}")
    if target.mesh and not setting.devices:
        setting = replace(setting, devices=_simulated(prod(target.mesh.values())))
    reply = _ask(request, setting)
    needed = _devices_needed(reply)
    if needed and not setting.devices:
        reply = _ask(request, replace(setting, devices=needed))
    # The file comes first among those that took part, and may lie outside of where we stand.
    named = [file for file in reply.files[:1] if ".py:" in target.target]
    return _conclude(reply, named, config, sections=setting.sections)


_MESH = re.compile(r"Number of devices \d+ must (?:be >=|equal) the product of mesh_shape \(([\d, ]+)\)")
_MOST_DEVICES = 1024


def _devices_needed(reply: Reply) -> int:
    """Return how many devices a mesh wanted that could not be made; 0 when that is not why a trace failed."""
    found = _MESH.search(reply.failure.message) if reply.failure is not None else None
    count = prod(int(size) for size in found[1].split(",") if size.strip()) if found else 0
    return _simulated(count)


def _simulated(count: int) -> int:
    """Return how many devices are simulated where so many are wanted: none where they would take too much memory."""
    return count if count <= _MOST_DEVICES else 0


def audit_call(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], axes: Mapping[str, str]
) -> Outcome:
    """Trace one call in this process and audit it."""
    from jaxaudit.frontends.jaxpr.inprocess import trace_call

    try:
        reply = trace_call(function, args, kwargs, axes)
    except TracerError as error:
        raise UsageError(str(error)) from error
    return _conclude(reply, reply.files, find_config(Path.cwd()))


def _ask(request: Request, setting: Setting) -> Reply:
    try:
        return ask(
            request, python=setting.python, devices=setting.devices, stdout=setting.stdout, meanwhile=_fetch_judges
        )
    except TracerError as error:
        raise UsageError(str(error)) from error


def _fetch_judges() -> None:
    """Import what judges while the child is at work: that takes about as long as importing jax does there."""
    import_module("jaxaudit.observation.conclude")
    import_module("jaxaudit.rules.registry").all_rules()


def _conclude(reply: Reply, first: Sequence[str], config: Config, *, sections: bool = True) -> Outcome:
    from jaxaudit.observation.conclude import conclude

    return conclude(reply, first, config, sections=sections)
