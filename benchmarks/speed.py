"""How fast is `jaxaudit check`? As a ratio to parsing the same files, and to pyflakes where it is installed.

    python benchmarks/speed.py PATH... [--repeat N] [--against CHECKOUT]

Cold is an audit; warm is the answer that was kept of it. Another checkout takes turns with this one, so that both meet
the same load of the machine, and the last line is the ratio of the two. Times differ from machine to machine, so only
ratios taken in one run are worth comparing, and nothing here asserts one. Seconds are those of one core, start-up
included.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path


def python_files(paths: Sequence[Path]) -> list[Path]:
    """Return all Python files of some paths."""
    return [file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("*.py")))]


def spent() -> float:
    """Return the processor time of this process and of its children so far."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def ratio(check: Sequence[str], checkout: Path, repeat: int) -> float:
    """Return how long this version takes as a part of the time of another, both run in turns."""
    own, other = (dict(os.environ, PYTHONPATH=str(root / "src")) for root in (Path(__file__).parents[1], checkout))
    times: dict[str, list[float]] = {"own": [], "other": []}
    for _ in range(repeat):
        for name, environment in (("other", other), ("own", own)):
            times[name].append(best(run(check, environment=environment), 1))
    return min(times["own"]) / min(times["other"])


def best(work: Callable[[], object], repeat: int) -> float:
    """Return the shortest time of a few runs: the one with the least noise of other programs in it."""
    times = []
    for _ in range(repeat):
        start = spent()
        work()
        times.append(spent() - start)
    return min(times)


def run(
    command: Sequence[str], fine: Sequence[int] = (0,), environment: Mapping[str, str] | None = None
) -> Callable[[], object]:
    """Make a run of a program in a child process, its output thrown away; one that fails measures nothing."""

    def work() -> None:
        done = subprocess.run(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, env=environment
        )
        if done.returncode not in fine:
            sys.exit(f"{' '.join(command)} failed: {done.stderr.strip()}")

    return work


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="another checkout of jaxaudit")
    options = parser.parse_args()

    files = python_files(options.paths)
    texts = [file.read_bytes() for file in files]
    lines = sum(text.count(b"\n") for text in texts)
    names = [str(path) for path in options.paths]
    check = [sys.executable, "-m", "jaxaudit", "check", "--quiet", "--exit-zero"]
    tools: dict[str, Callable[[], object]] = {
        "ast.parse": lambda: [ast.parse(text) for text in texts],
        "check, cold": run([*check, "--no-cache", *names]),
        "check, warm": run([*check, *names]),
        "start-up alone": run([*check, "--no-cache", __file__]),
    }
    if find_spec("pyflakes"):
        tools["pyflakes"] = run([sys.executable, "-m", "pyflakes", *names], fine=(0, 1))

    print(f"{len(files)} files, {lines} lines")
    # An installed jaxaudit has its byte code; one that is run from a checkout shall keep it too.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as answers:
        os.environ["JAXAUDIT_CACHE_DIR"] = answers
        run([*check, *names])()
        taken = {name: best(work, options.repeat) for name, work in tools.items()}
    for name, seconds in taken.items():
        times = seconds / taken["ast.parse"]
        print(f"{name:16} {seconds:8.2f} s {lines / seconds:12,.0f} lines a second   {times:7.1f} times ast.parse")
    if options.against is not None:
        part = ratio([*check, "--no-cache", *names], options.against.resolve(), options.repeat)
        print(f"{part:.2f} of the time that {options.against} takes")


if __name__ == "__main__":
    main()
