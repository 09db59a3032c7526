"""Ask whether findings survive rewrites that change nothing.

Every invalid example of every rule is written in other words, and what the rule says must stay; every valid one too,
and must stay silent. It needs no labels, and a rewrite that hides a mistake shows which fact is lost on the way.
Folders with a `bad.py` and a `good.py` are pairs of programs: what tells them apart must do so in other words.

    python -m benchmarks.rewrites [RULE | REWRITE | FOLDER...]
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.rewrites import REWRITES
from benchmarks.rewrites.survival import Outcome, of_pair, of_rule
from jaxaudit.rules.registry import all_rules

_COLUMNS = ("found", "lost", "proved", "alarm")


def outcomes(asked: Iterable[str]) -> Iterator[Outcome]:
    """Go through what is asked for: examples of rules, or pairs of programs, in some rewrites or all."""
    kinds = [one for one in REWRITES if one.__name__ in asked] or list(REWRITES)
    folders = [Path(one) for one in asked if Path(one, "bad.py").exists()]
    names = {one for one in asked if not Path(one).exists()} - {one.__name__ for one in REWRITES}
    for folder in folders:
        yield from of_pair(folder, kinds)
    for rule in all_rules() if names or not folders else ():
        if not rule.traced_only and (not names or rule.name in names):
            yield from of_rule(rule, kinds)


def main(asked: list[str]) -> None:
    """Print what is lost, and how much of it by rewrite and by rule."""
    found = []
    for one in outcomes(asked):
        found.append(one)
        if one.lost or one.alarm:
            what = "proved" if one.proved else "lost" if one.lost else "alarm"
            print(f"{what:6} {one.rewrite:12} {one.rule}: {one.program}", flush=True)
    for key in ("rule", "rewrite"):
        print(f"\nby {key:29} findings  lost  of these proved  alarms")
        counts = {what: Counter(getattr(one, key) for one in found if getattr(one, what)) for what in _COLUMNS}
        for name in sorted(counts["found"], key=lambda one: (counts["lost"][one], one)):
            row = [counts[what][name] for what in _COLUMNS]
            if any(row[1:]) or key == "rewrite":
                print("{:32} {:8} {:5} {:16} {:7}".format(name, *row))


if __name__ == "__main__":
    main(sys.argv[1:])
