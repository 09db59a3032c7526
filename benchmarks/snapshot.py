"""Keep what `jaxaudit check` says about many programs, and list what another version says differently.

    python benchmarks/snapshot.py take OUT.json PATH... [--each DIR]
    python benchmarks/snapshot.py compare OLD.json NEW.json

`take` audits each path (a package, a project, a file) in a process of its own, with whatever `jaxaudit` this
interpreter imports, and writes every finding and the number of verdicts of every rule. `--each` stands for all entries
of a folder, such as a collection of small programs. The file is written after every path, so a run that is cut short
loses only what it had not reached. `compare` prints one line for each difference of the paths that both files hold, and
exits with 1 where there is one; seconds of processor time are told and are no difference.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Snapshot = dict[str, Any]
"""What was said about one path: `findings`, `verdicts`, `faults`, `seconds`; or `crash` with the end of its output."""


def audited(path: Path) -> Snapshot:
    """Audit a path in this process, from the folder that holds it, so that paths in findings do not depend on where."""
    from jaxaudit.config import Config
    from jaxaudit.session import audit_paths

    os.chdir(path.parent)
    start = time.process_time()
    outcome = audit_paths([path.name], Config(), sections=False)
    seconds = time.process_time() - start
    report = outcome.report
    said = (*report.issues, *report.warnings)
    found = sorted([one.path, one.line, one.rule, one.severity, one.message] for one in said)
    verdicts = {"proved": Counter(one.rule for one in report.verified)}
    verdicts["unknown"] = Counter(one.rule for one in report.unknown)
    return {"findings": found, "verdicts": verdicts, "faults": list(outcome.faults), "seconds": round(seconds, 2)}


def take(out: Path, paths: Sequence[Path]) -> None:
    """Audit all paths, one process after the other."""
    taken: dict[str, Snapshot] = {}
    for path in paths:
        words = [sys.executable, __file__, "one", str(path.resolve())]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        try:
            taken[path.name] = json.loads(done.stdout)
        except ValueError:
            taken[path.name] = {"crash": done.stderr[-2000:]}
        out.write_text(json.dumps(taken, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def differences(old: Mapping[str, Snapshot], new: Mapping[str, Snapshot]) -> Iterator[str]:
    """Say each difference in a line; a path that only one of both holds is none."""
    for name in sorted(old.keys() & new.keys()):
        for line in _differences(old[name], new[name]):
            yield f"{name} {line}"


def _differences(old: Snapshot, new: Snapshot) -> Iterator[str]:
    if "crash" in old or "crash" in new:
        if old != new:
            yield f"crash: {old.get('crash', 'none')!r} -> {new.get('crash', 'none')!r}"
        return
    before, after = (Counter(map(tuple, one["findings"])) for one in (old, new))
    yield from (f"- {_finding(one)}" for one in sorted((before - after).elements()))
    yield from (f"+ {_finding(one)}" for one in sorted((after - before).elements()))
    for kind in ("proved", "unknown"):
        counts, others = old["verdicts"][kind], new["verdicts"][kind]
        for rule in sorted(counts.keys() | others.keys()):
            if counts.get(rule, 0) != others.get(rule, 0):
                yield f"{rule}: {kind} {counts.get(rule, 0)} -> {others.get(rule, 0)}"
    yield from (f"fault: {fault}" for fault in new["faults"] if fault not in old["faults"])


def _finding(one: Sequence[object]) -> str:
    path, line, rule, severity, message = one
    return f"{path}:{line} {severity} {rule}: {message}"


def compare(old: Mapping[str, Snapshot], new: Mapping[str, Snapshot]) -> int:
    """Print all differences, what only one snapshot holds and how the time changed."""
    found = list(differences(old, new))
    print(*found, sep="\n", end="\n" if found else "")
    for name in sorted(old.keys() ^ new.keys()):
        print(f"{name} is only in the {'old' if name in old else 'new'} snapshot")
    both = [name for name in old.keys() & new.keys() if "seconds" in old[name] and "seconds" in new[name]]
    before, after = (sum(one[name]["seconds"] for name in both) for one in (old, new))
    print(f"{len(found)} differences in {len(both)} paths; processor time {before:.0f} s -> {after:.0f} s")
    return 1 if found else 0


def read(path: Path) -> dict[str, Snapshot]:
    """Read a snapshot."""
    return json.loads(path.read_text(encoding="utf-8"))


def main() -> int:
    """Take or compare snapshots."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    taking = commands.add_parser("take", help="audit paths and write what was said")
    taking.add_argument("out", type=Path)
    taking.add_argument("paths", nargs="*", type=Path)
    taking.add_argument("--each", type=Path, action="append", default=[], help="a folder: audit each of its entries")
    comparing = commands.add_parser("compare", help="list the differences of two snapshots")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    one = commands.add_parser("one", help="audit one path and print what was said, as JSON")
    one.add_argument("path", type=Path)
    options = parser.parse_args()
    if options.command == "one":
        json.dump(audited(options.path), sys.stdout)
    elif options.command == "take":
        take(options.out, [*options.paths, *(entry for folder in options.each for entry in sorted(folder.iterdir()))])
    else:
        return compare(read(options.old), read(options.new))
    return 0


if __name__ == "__main__":
    sys.exit(main())
