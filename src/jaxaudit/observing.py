"""Audits that run or trace the user's program: the tracer's reply joins what the source front end reads.

The child process gives facts only; every judgement is made here, by the same rules as for source.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from pathlib import Path
from typing import IO, Any

from jaxaudit import progress
from jaxaudit.config import Config, UsageError, find_config
from jaxaudit.discover import exclusion, read_file, shown_name
from jaxaudit.frontends.jaxpr.protocol import Capture, Reply, Request
from jaxaudit.frontends.jaxpr.worker import TracerError, ask
from jaxaudit.ir import Program
from jaxaudit.ir.serial import decode_program
from jaxaudit.observed import observed_obligations
from jaxaudit.outcome import Outcome
from jaxaudit.reports.model import SkippedFunction, Target, Traces
from jaxaudit.reports.notes import Notes, RootNote
from jaxaudit.session import Seen, audit


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


def audit_run(script: str, arguments: Sequence[str], config: Config, setting: Setting) -> Run:
    """Run a script and audit what was seen together with its source."""
    if not Path(script).is_file():
        raise UsageError(f"no such file: {script}")
    request = Request(
        "run", script, tuple(arguments), steps=setting.steps, timeout=setting.timeout, probe=setting.probe
    )
    reply = _ask(request, setting)
    return Run(conclude(reply, [script], config, sections=setting.sections), reply.exit_code, reply.stopped)


def audit_trace(target: TraceTarget, config: Config, setting: Setting) -> Outcome:
    """Trace a function abstractly and audit it together with the source of its file."""
    request = Request(
        "trace",
        target.target,
        specs=target.specs,
        specs_file=target.specs_file,
        sizes=target.sizes,
        timeout=setting.timeout,
        probe=setting.probe,
    )
    progress.tell(f"tracing {target.target}")
    reply = _ask(request, setting)
    needed = _devices_needed(reply)
    if needed and not setting.devices:
        reply = _ask(request, replace(setting, devices=needed))
    return conclude(reply, [], config, sections=setting.sections)


_MESH = re.compile(r"Number of devices \d+ must (?:be >=|equal) the product of mesh_shape \(([\d, ]+)\)")
_MOST_DEVICES = 1024


def _devices_needed(reply: Reply) -> int:
    """Give how many devices a mesh wanted that could not be made; 0 when that is not why a trace failed."""
    found = _MESH.search(reply.failure.message) if reply.failure is not None else None
    count = prod(int(size) for size in found[1].split(",") if size.strip()) if found else 0
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
    return conclude(reply, reply.files, find_config(Path.cwd()))


def conclude(reply: Reply, first: Sequence[str], config: Config, *, sections: bool = True) -> Outcome:
    """Audit the user's files that took part, with what the tracer saw of them."""
    paths = list(dict.fromkeys([*map(shown_name, first), *_project_files(reply.files, first, config)]))
    results = [read_file(Path(path).absolute()) for path in paths]
    outcome = audit(results, config, seen_by(reply), sections=sections)
    return replace(outcome, faults=(*reply.faults, *outcome.faults))


def seen_by(reply: Reply) -> Seen:
    """Turn the reply of the tracer into what the session wants."""
    program = decode_program(reply.program, shown_name) if reply.program else Program((), "jaxpr")
    read = [one for one in reply.captures if not one.skipped]
    causes: dict[tuple[str, str, int], list[str]] = defaultdict(list)
    for one in reply.retraces:
        causes[one.name, one.path, one.line].append(f"{one.kind}: {one.detail}")
    notes = Notes(
        program,
        tuple(_root_note(one, causes) for one in read),
        tuple(Target(shown_name(one.path), "jaxpr", one.name, one.line) for one in read),
        tuple(
            SkippedFunction(shown_name(one.path), one.line, one.name, one.skipped)
            for one in reply.captures
            if one.skipped
        ),
        reply.axes,
    )
    return Seen(program, notes, partial(observed_obligations, reply, shown=shown_name))


def _ask(request: Request, setting: Setting) -> Reply:
    try:
        return ask(request, python=setting.python, devices=setting.devices, stdout=setting.stdout)
    except TracerError as error:
        raise UsageError(str(error)) from error


def _root_note(one: Capture, causes: Mapping[tuple[str, str, int], list[str]]) -> RootNote:
    again = causes.get((one.name, one.path, one.line), [])
    outer = one.transform if one.transform == "jit" else ""
    return RootNote(outer, shown_name(one.path), one.line, Traces(1 + len(again), tuple(again[:10])))


def _project_files(files: Sequence[str], first: Sequence[str], config: Config) -> list[str]:
    """Give the user's files that belong to the project: near the script, or below where we stand."""
    roots = [Path.cwd().resolve(), *(Path(name).resolve().parent for name in first)]
    excluded = exclusion(config)
    return [
        shown_name(name)
        for name in files
        if any(Path(name).resolve().is_relative_to(root) for root in roots) and not excluded(Path(name))
    ]
