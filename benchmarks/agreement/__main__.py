"""Runs programs under both front ends and lists where they contradict each other.

    python -m benchmarks.agreement PATH... [--no-run] [--failures]

Every Python file of the paths is taken as a script. Those that do not run here (a library that is missing, files that
are not there) are counted and left out. Exits with 1 where the front ends contradict each other.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from benchmarks.agreement.compare import Agreement, compare
from benchmarks.agreement.observe import NotObservedError, observed
from jaxaudit.discover import decode_file, loader, shown_name
from jaxaudit.frontends.base import SourceFile
from jaxaudit.frontends.source.read import read_source


def agreement(path: Path, *, run: bool = True) -> Agreement:
    """Compare both front ends on one script."""
    path = path.resolve()
    traced = observed(path, run=run)
    file = decode_file(shown_name(str(path)), path.read_bytes())
    if not isinstance(file, SourceFile):
        raise NotObservedError(file.message)
    return compare(read_source([file], loader([file])).program, traced)


def main() -> int:
    """Compare all programs and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--no-run", action="store_true", help="only trace programs whole, run none")
    parser.add_argument("--failures", action="store_true", help="say why programs were left out")
    options = parser.parse_args()
    files = [file for path in options.paths for file in ([path] if path.is_file() else sorted(path.rglob("*.py")))]
    total, left = Agreement(), Counter[str]()
    for file in files:
        try:
            one = agreement(file, run=not options.no_run)
        except NotObservedError as reason:
            left[str(reason)] += 1
            if options.failures:
                print(f"{file} was left out: {reason}")
            continue
        print(*one.contradictions, sep="\n", end="\n" if one.contradictions else "")
        total.add(one)
    print(f"{total}; {left.total()} programs did not run")
    return 1 if total.contradictions else 0


if __name__ == "__main__":
    sys.exit(main())
