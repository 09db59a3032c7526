"""How long `jaxaudit hook` takes after an edit in a large project.

    python benchmarks/hook.py PROJECT [FILE ...] [--edits N]

The project is copied into a git repository of its own. Each file (by default the ten longest that import jax) gets a
harmless statement, then another one: the first edit also audits what the last commit has, later ones find that answer
kept. Seconds are those of one core, start-up included; compare them with `start-up alone` of the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from speed import best, python_files, run, spent


def committed(project: Path, place: Path) -> Path:
    """Return a copy of a project with all of its Python files in one commit."""
    copy = place / "project"
    shutil.copytree(project, copy, ignore=shutil.ignore_patterns(".git"))
    who = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        subprocess.run([*who, *arguments], cwd=copy, check=True, stdout=subprocess.DEVNULL)
    return copy


def longest(project: Path, number: int = 10) -> list[Path]:
    """Return the longest files that import jax."""
    texts = {path: path.read_text(errors="replace") for path in python_files([project])}
    using = [path for path, text in texts.items() if re.search(r"^\s*(?:import|from) jax", text, re.MULTILINE)]
    return sorted(using, key=lambda path: -texts[path].count("\n"))[:number]


def edit(path: Path, text: str, number: int) -> None:
    """Write a file with one more statement, before its first `return`."""
    found = re.search(r"\n( *)return\b", text)
    at, indent = (found.start(), found[1]) if found else (len(text), "")
    path.write_text(f"{text[:at]}\n{indent}edit_{number} = {number}{text[at:]}")


def taken(path: Path, project: Path) -> float:
    """Return how long the hook takes for the file as it is."""
    event = json.dumps({"cwd": str(project), "tool_input": {"file_path": str(path)}})
    command = [sys.executable, "-m", "jaxaudit", "hook", "--deadline", "600"]
    start = spent()
    done = subprocess.run(command, input=event, text=True, capture_output=True, check=False, cwd=project)
    if done.returncode not in (0, 2):
        sys.exit(done.stderr)
    return spent() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("project", type=Path)
    parser.add_argument("files", nargs="*", help="relative to the project")
    parser.add_argument("--edits", type=int, default=3, help="how often each file is edited")
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as place:
        os.environ["JAXAUDIT_CACHE_DIR"] = str(Path(place, "answers"))
        project = committed(options.project, Path(place))
        files = [project / name for name in options.files] or longest(project)
        lines = sum(path.read_bytes().count(b"\n") for path in python_files([project]))
        check = [sys.executable, "-m", "jaxaudit", "check", "--quiet", "--exit-zero", "--no-cache"]
        print(f"{lines} lines; start-up alone {best(run([*check, __file__]), 3):.2f} s")
        later = []
        for path in files:
            text = path.read_text()
            times = []
            for number in range(options.edits):
                edit(path, text, number)
                times.append(taken(path, project))
            path.write_text(text)
            later.append(min(times[1:], default=times[0]))
            name = path.relative_to(project)
            print(f"{name!s:60} {text.count(chr(10)):6} lines   first {times[0]:5.2f} s   later {later[-1]:5.2f} s")
        print(f"median of later edits: {statistics.median(later):.2f} s")


if __name__ == "__main__":
    main()
