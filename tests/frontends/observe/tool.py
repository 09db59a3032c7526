"""Runs the command line as users do, in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path


def jaxaudit(*arguments: str, cwd: Path, timeout: float = 300, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "COLUMNS")}
    return subprocess.run(
        [sys.executable, "-m", "jaxaudit", *arguments],
        cwd=cwd,
        env={**environment, "JAX_PLATFORMS": "cpu", "NO_COLOR": "1", **variables},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def report(*arguments: str, cwd: Path, **variables: str) -> dict:
    command, *rest = arguments
    done = jaxaudit(command, "--format", "json", *rest, cwd=cwd, **variables)
    assert done.stdout.startswith("{"), done.stderr
    return json.loads(done.stdout)


def issues(found: dict) -> list[tuple[str, str, int]]:
    return [(one["rule"], one["path"], one["line"]) for one in found["issues"]]
