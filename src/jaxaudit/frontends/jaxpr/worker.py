"""The parent's side: starts the tracer in the user's environment and reads its reply.

Whatever goes wrong there (no such interpreter, no jax, a crash, a timeout) is one sentence in a `TracerError`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from jaxaudit.frontends.jaxpr.protocol import Reply, Request, read_reply, write

_GRACE = 20.0
"""Seconds beyond its timeout that the child has to write down what it saw."""


class TracerError(Exception):
    """The tracer could not do its work, told in one sentence."""


def ask(
    request: Request,
    *,
    python: str = "",
    devices: int = 0,
    stdout: IO[Any] | int | None = None,
    meanwhile: Callable[[], None] = lambda: None,
) -> Reply:
    """Have a request answered by a child process; its standard output goes to `stdout`, by default to ours.

    What is to be done `meanwhile` is done in this process, before it waits.
    """
    interpreter = find_python(python, os.environ)
    with tempfile.TemporaryDirectory(prefix="jaxaudit-") as folder:
        asked, replied = Path(folder, "request.json"), Path(folder, "reply.json")
        write(asked, request)
        command = [interpreter, str(Path(__file__).with_name("child.py")), str(asked), str(replied)]
        code = _run(command, environment(os.environ, devices), request.timeout, stdout, meanwhile)
        if not replied.exists():
            raise TracerError(_no_reply(code, request))
        reply = read_reply(replied)
    if reply.status == "refused":
        raise TracerError(reply.message)
    return reply


def find_python(wanted: str, variables: Mapping[str, str]) -> str:
    """Choose the interpreter: the one that is asked for, that of an active environment, or our own."""
    if wanted:
        found = shutil.which(wanted)
        if found is None:
            raise TracerError(f"there is no Python interpreter at {wanted}")
        return found
    active = variables.get("VIRTUAL_ENV", "")
    if active and Path(active).resolve() != Path(sys.prefix).resolve():
        for name in ("bin/python", "Scripts/python.exe"):
            if Path(active, name).exists():
                return str(Path(active, name))
    return sys.executable


def environment(variables: Mapping[str, str], devices: int) -> dict[str, str]:
    """Return the variables of the child: the user's, on the CPU unless they say otherwise."""
    made = dict(variables)
    made.setdefault("JAX_PLATFORMS", "cpu")
    if devices:
        made["JAX_NUM_CPU_DEVICES"] = str(devices)
    return made


def _run(
    command: list[str],
    variables: dict[str, str],
    timeout: float,
    stdout: IO[Any] | int | None,
    meanwhile: Callable[[], None],
) -> int:
    limit = timeout + _GRACE if timeout else None
    try:
        process = subprocess.Popen(command, env=variables, stdout=stdout)
    except OSError as error:
        raise TracerError(f"cannot start {command[0]}: {error.strerror or error}") from error
    with process:
        with contextlib.suppress(KeyboardInterrupt):
            meanwhile()
        while True:
            try:
                return process.wait(limit)
            except subprocess.TimeoutExpired:
                process.kill()
            except KeyboardInterrupt:
                # The terminal sent it to the child as well, which now writes down what it saw.
                with contextlib.suppress(KeyboardInterrupt):
                    process.wait(_GRACE)


def _no_reply(code: int, request: Request) -> str:
    what = request.target
    if code == -signal.SIGKILL and request.timeout:
        return f"{what} did not stop after {request.timeout:g} seconds and was ended"
    if code < 0:
        return f"{what} ended Python itself by signal {-code} ({_signal_name(-code)}), so nothing of it was seen"
    return f"{what} ended Python without a trace (exit code {code}), so nothing of it was seen; does it call os._exit?"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"
