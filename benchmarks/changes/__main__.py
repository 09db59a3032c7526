"""Says how often `diff` names a mistake in public code, and how often it speaks of a program in other words.

    python -m benchmarks.changes DIR... [--seeds 0-9] [--each 12] [--rewrites] [--list]

Mistakes are those of `benchmarks/mutants`, other words those of `benchmarks/rewrites`. What is said of a mistake is the
most that stands at its place: a constraint that broke, a new finding, a fact that changed, something open, or nothing.
All that is said of other words is noise.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from benchmarks.changes.outcome import KINDS, Line, outcome, told
from benchmarks.changes.pairs import mistakes, rewordings


def main() -> int:
    """Draw changes, ask `diff`, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--each", type=int, default=12, help="changes of each seed")
    parser.add_argument("--seeds", default="0", help="a number, or the first and last of several: 0-9")
    parser.add_argument("--rewrites", action="store_true", help="other words in the place of mistakes")
    parser.add_argument("--list", action="store_true", help="print all that is said")
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    draw = rewordings if options.rewrites else mistakes
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for change in draw([folder.resolve() for folder in options.folders], options.each, seeds):
        found = told(change)
        if options.list:
            print(f"{change}: {outcome(found) if change.family else len(found)}", flush=True)
            print(
                *(f"    {one.kind}{'' if one.near else ' elsewhere'} {one.line} {one.text}" for one in found), sep="\n"
            )
        row = counts[change.family or change.kind]
        row["changes"] += 1
        row.update([outcome(found)] if change.family else _noise(found))
    _table(counts, [*KINDS] if not options.rewrites else ["with noise", *KINDS[:-1]])
    return 0


def _noise(found: Sequence[Line]) -> list[str]:
    return ["with noise"] * bool(found) + [one.kind for one in found]


def _table(counts: dict[str, Counter[str]], columns: Sequence[str]) -> None:
    print(f"| | changes | {' | '.join(columns)} |\n| --- {'| --- ' * (len(columns) + 1)}|")
    counts["all"] = sum(counts.values(), Counter())
    for name, row in counts.items():
        print(f"| {name} | {row['changes']} | {' | '.join(str(row[one]) for one in columns)} |")


if __name__ == "__main__":
    sys.exit(main())
