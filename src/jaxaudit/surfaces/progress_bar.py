"""The progress of long work on standard error: only in a terminal, only after a second, gone when it is done."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO

from jaxaudit import progress

_PATIENCE = 1.0
"""Seconds without a word: most audits are over by then."""


@contextmanager
def progress_shown(*, quiet: bool, stream: TextIO | None = None, patience: float = _PATIENCE) -> Iterator[None]:
    """Show what the work inside tells of itself."""
    stream = stream or sys.stderr
    if quiet or not wanted(stream, os.environ):
        yield
        return
    bar = _Bar(stream, patience)
    try:
        with progress.listening(bar.told):
            yield
    finally:
        bar.close()


def wanted(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether anybody watches: not in pipes, not in CI, not on a terminal that cannot move its cursor."""
    return stream.isatty() and not environment.get("CI") and environment.get("TERM") != "dumb"


class _Bar:
    """A bar that appears once the work has taken a while since it was first told of."""

    def __init__(self, stream: TextIO, patience: float) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        self.progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TimeElapsedColumn(),
            console=Console(file=stream),
            transient=True,
        )
        self.task = self.progress.add_task("", total=None)
        self.timer = threading.Timer(patience, self.progress.start)
        self.timer.daemon = True
        self.started = False

    def told(self, what: str, done: int, total: int) -> None:
        if not self.started:
            self.started = True
            self.timer.start()
        self.progress.update(self.task, description=what, completed=done, total=total or None)

    def close(self) -> None:
        self.timer.cancel()
        self.progress.stop()
