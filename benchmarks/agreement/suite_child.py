"""Runs a package's own tests and writes down what each expression of the package gives.

    python -m benchmarks.agreement.suite_child OUT SECONDS PACKAGE PYTEST_ARGUMENT...

It needs jax and pytest and nothing of jaxaudit, so it runs in the environment of the package. Tests run in an order
that mixes all of them, until the time is over. Nothing is computed: a test ends where it asks for a number.
"""

from __future__ import annotations

import builtins
import contextlib
import hashlib
import json
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.agreement.hollow import hollow
from benchmarks.agreement.rewrite import SEEN
from benchmarks.agreement.watch import Finder, Watcher

_LONGEST = 20
"""Seconds of the processor that one test may take."""


class Plugin:
    """Bounds the time and counts what passed."""

    def __init__(self, out: Path, seconds: float, watcher: Watcher) -> None:
        self.out, self.watcher, self.end = out, watcher, time.process_time() + seconds
        self.counts: dict[str, int] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Mix the tests, in the same way each time."""
        items.sort(key=lambda item: hashlib.sha256(item.nodeid.encode()).digest())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Give a test some seconds."""
        with _limited():
            return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count tests by how they ended."""
        if report.when == "call" or report.outcome != "passed":
            self.counts[report.outcome] = self.counts.get(report.outcome, 0) + 1

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Write down what was seen so far, now and then: a process may die."""
        if sum(self.counts.values()) % 100 == 0:
            self.write()

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        """End when the time is over."""
        if time.process_time() > self.end:
            item.session.shouldstop = "the time is over"

    def write(self) -> None:
        """Write down what was seen."""
        found = {"seen": self.watcher.told(), "chains": list(self.watcher.chains), "ended": json.dumps(self.counts)}
        self.out.with_suffix(".new").write_text(json.dumps({"types": found}))
        self.out.with_suffix(".new").rename(self.out)


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    def stop(number: int, frame: object) -> None:
        raise TimeoutError(f"longer than {_LONGEST} seconds")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, _LONGEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def main(arguments: Sequence[str]) -> None:
    """Run the tests of the command line."""
    out, seconds, package, *rest = arguments
    watcher: Any = Watcher(entries=True)
    setattr(builtins, SEEN, watcher)
    sys.meta_path.insert(0, Finder(watcher, [package]))
    plugin = Plugin(Path(out), float(seconds), watcher)
    options = ("-q", "-p", "no:cacheprovider", "-o", "addopts=", "--continue-on-collection-errors", "--tb=line")
    with hollow():
        pytest.main([*options, *rest], plugins=[plugin])
    plugin.write()


if __name__ == "__main__":
    main(sys.argv[1:])
