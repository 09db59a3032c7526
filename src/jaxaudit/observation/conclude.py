"""From the reply of the tracer to the report: what it saw joins what the source front end reads.

Apart from `audit.py`, so that all the judges are imported while the user's program runs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from jaxaudit.config import Config
from jaxaudit.discover import exclusion, read_file, shown_name
from jaxaudit.frontends.jaxpr.protocol import Capture, Reply
from jaxaudit.ir import Program
from jaxaudit.ir.record import replace
from jaxaudit.ir.serial import decode_program
from jaxaudit.observation.obligations import observed_obligations
from jaxaudit.observation.replays import replay_obligations
from jaxaudit.observation.store import keep, observed_in
from jaxaudit.outcome import Outcome
from jaxaudit.reports.model import SkippedFunction, Target, Traces
from jaxaudit.reports.notes import Notes, RootNote
from jaxaudit.session import Seen, audit


def conclude(reply: Reply, first: Sequence[str], config: Config, *, sections: bool = True) -> Outcome:
    """Audit the user's files that took part, with what the tracer saw of them, and keep what `check` can start from."""
    keep(reply.sightings)
    paths = list(dict.fromkeys([*map(shown_name, first), *_project_files(reply.files, first, config)]))
    results = [read_file(Path(path).absolute()) for path in paths]
    outcome = audit(results, config, seen_by(reply), observed_in(reply.sightings), sections=sections)
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
    numbers = partial(replay_obligations, reply.replayed, shown_name)
    return Seen(program, notes, partial(observed_obligations, reply, shown=shown_name), numbers)


def _root_note(one: Capture, causes: Mapping[tuple[str, str, int], list[str]]) -> RootNote:
    again = causes.get((one.name, one.path, one.line), [])
    outer = one.transform if one.transform == "jit" else ""
    return RootNote(outer, shown_name(one.path), one.line, Traces(1 + len(again), tuple(again[:10])))


def _project_files(files: Sequence[str], first: Sequence[str], config: Config) -> list[str]:
    """Return the user's files that belong to the project: near the script, or below where we stand."""
    roots = [Path.cwd().resolve(), *(Path(name).resolve().parent for name in first)]
    excluded = exclusion(config)
    return [
        shown_name(name)
        for name in files
        if any(Path(name).resolve().is_relative_to(root) for root in roots) and not excluded(Path(name))
    ]
