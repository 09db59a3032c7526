"""The child's side: does what a request asks, and writes a reply whatever happens in the user's code."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from jaxaudit.frontends.forms import Sighting
from jaxaudit.frontends.jaxpr.imports import has_jax, when_jax_is_imported
from jaxaudit.frontends.jaxpr.places import user_files
from jaxaudit.frontends.jaxpr.protocol import (
    Capture,
    Probe,
    Rebuilt,
    Replayed,
    Reply,
    Request,
    Retrace,
    Unsteady,
    read_request,
    write,
)
from jaxaudit.frontends.jaxpr.script import Ending, StopScript, run_script
from jaxaudit.frontends.jaxpr.seen import Site
from jaxaudit.ir import Program
from jaxaudit.ir.collector import stop_collecting
from jaxaudit.ir.serial import encode_program


def serve(request_path: str, reply_path: str) -> int:
    """Answer one request, and give the exit code of the script."""
    request = read_request(Path(request_path))
    reply = answer(request)
    write(Path(reply_path), reply)
    _leave_if_stuck(reply.exit_code)
    return reply.exit_code


def _leave_if_stuck(code: int) -> None:
    """End this process where a probe that does not come back would keep it alive."""
    module = sys.modules.get("jaxaudit.frontends.jaxpr.probe.run")
    if module is not None and module.stuck:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def answer(request: Request) -> Reply:
    """Do what is asked."""
    if not has_jax():
        return Reply("refused", f"{sys.executable} has no jax; name the interpreter of your project with --python")
    if request.kind == "run":
        return observe(request)
    from jaxaudit.frontends.jaxpr.targets import trace_target

    stop_collecting()
    return trace_target(request)


def observe(request: Request) -> Reply:
    """Run a script and tell what was seen of it."""
    from jaxaudit.frontends.jaxpr.observe import Observer
    from jaxaudit.frontends.jaxpr.replay.kept import ROOM

    observer = Observer(request.steps, request.target, ROOM if request.probe else 0)
    faults: list[str] = []
    when_jax_is_imported(lambda: _begin(observer, faults, probe=request.probe))
    _stop_after(request.timeout)
    ending = run_script(request.target, request.arguments)
    _stop_after(0)
    stop_collecting()
    sites = observer.captured() if "jax" in sys.modules else []
    reply = gather(sites, ending, observer.retraces, faults, observer.watch.seen.all(), probe=request.probe)
    if not request.probe or not sites:
        return reply
    again = replayed(sites, hurried=bool(request.timeout))
    return replace(reply, unsteady=traced_again(sites), replayed=(*observer.narrowed.found, *again))


def gather(
    sites: Sequence[Site],
    ending: Ending,
    retraces: Sequence[Retrace],
    faults: Sequence[str] = (),
    sightings: tuple[Sighting, ...] = (),
    *,
    probe: bool = True,
) -> Reply:
    """Put together what observation gave."""
    program, captures = lower_sites(sites)
    return Reply(
        status="failed" if ending.failure else "done",
        exit_code=ending.exit_code,
        stopped=ending.stopped,
        program=encode_program(program) if program.roots else None,
        captures=tuple(captures),
        retraces=tuple(retraces),
        failure=ending.failure,
        files=user_files(ending.failure),
        probes=probes() if probe else (),
        rebuilt=rebuilt() if probe else (),
        faults=tuple(faults),
        sightings=sightings,
    )


def probes() -> tuple[Probe, ...]:
    """Evaluate the derivative rules that were met; a fault of ours costs their verdicts alone."""
    met = sys.modules.get("jaxaudit.frontends.jaxpr.probe.met")
    if met is None or not met.NOTES.by_code:
        return ()
    try:
        from jaxaudit.frontends.jaxpr.probe.run import probe_all

        return probe_all()
    except Exception:  # noqa: BLE001
        return ()


def rebuilt() -> tuple[Rebuilt, ...]:
    """Tell whether objects of the user's classes were put together again as they had been."""
    module = sys.modules.get("jaxaudit.frontends.jaxpr.probe.rebuilt")
    try:
        return () if module is None else tuple(module.REBUILDS.told())
    except Exception:  # noqa: BLE001
        return ()


def traced_again(sites: Sequence[Site]) -> tuple[Unsteady, ...]:
    """Trace functions once more and tell where that gives another program; a fault of ours costs nothing else."""
    try:
        from jaxaudit.frontends.jaxpr.probe.twice import trace_again

        return tuple(trace_again(sites))
    except Exception:  # noqa: BLE001
        return ()


def replayed(sites: Sequence[Site], *, hurried: bool) -> tuple[Replayed, ...]:
    """Evaluate first calls once more and tell what their numbers show; a fault of ours costs nothing else."""
    try:
        from jaxaudit.frontends.jaxpr.replay.run import replay_all

        return replay_all(sites, hurried=hurried)
    except Exception:  # noqa: BLE001
        return ()


def lower_sites(sites: Sequence[Site]) -> tuple[Program, list[Capture]]:
    """Turn the jaxprs of all sites into one program; one that cannot be lowered is told and left out."""
    if not sites:
        return Program((), "jaxpr"), []
    from jaxaudit.frontends.jaxpr.lower import Lowering

    lowering = Lowering()
    captures = [_lower(lowering, site) for site in sites]
    try:
        return lowering.program(), captures
    except Exception as error:  # noqa: BLE001
        return Program((), "jaxpr"), [_capture(site, f"internal error: {error}") for site in sites]


def _begin(observer: Any, faults: list[str], *, probe: bool) -> None:
    """Start to look; a fault of ours must not end the user's script."""
    try:
        from jaxaudit.frontends.jaxpr.lower import install_markers

        install_markers(probe=probe)
        observer.install()
    except Exception as error:  # noqa: BLE001
        faults.append(f"internal error while starting to observe: {type(error).__name__}: {error}")


def _lower(lowering: Any, site: Site) -> Capture:
    if site.closed is None:
        return _capture(site, site.skipped or "it was never traced to its end")
    try:
        lowering.add(site.closed, name=site.name, path=site.made.path, line=site.made.line, arg_names=_names(site))
    except Exception as error:  # noqa: BLE001
        return _capture(site, f"internal error: {type(error).__name__}: {error}")
    return _capture(site, "")


def _names(site: Site) -> tuple[str, ...]:
    wanted = len(site.closed.jaxpr.invars)
    if len(site.names) == wanted:
        return site.names
    known = getattr(site.closed.jaxpr.debug_info, "arg_names", None) or ()
    return tuple(name or "" for name in known) if len(known) == wanted else ("",) * wanted


def _capture(site: Site, skipped: str) -> Capture:
    return Capture(site.name, site.transform, site.made.path, site.made.line, skipped)


def _stop_after(seconds: float) -> None:
    """Have the script stopped after some seconds of real time; 0 takes the alarm back."""
    if not hasattr(signal, "SIGALRM"):
        return

    def stop(number: int, frame: object) -> None:
        raise StopScript("timeout")

    signal.signal(signal.SIGALRM, stop if seconds else signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
