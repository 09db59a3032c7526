"""Prints what `diff` says of each edit: `python -m benchmarks.tour`, exit code 1 when any answer is wrong."""

from __future__ import annotations

import sys
import textwrap
import time
from concurrent.futures import ProcessPoolExecutor

from benchmarks.tour.drive import Answer, ask
from benchmarks.tour.edits import BREAKS
from benchmarks.tour.refactorings import REFACTORINGS


def main() -> int:
    """Take the tour, and say how many answers are right."""
    start = time.monotonic()
    with ProcessPoolExecutor() as pool:
        print(f"{'edit':<52}{'diff says':<30}at\n{'-' * 120}")
        answers = []
        for answer in pool.map(ask, (*BREAKS, *REFACTORINGS)):
            answers.append(answer)
            print(_row(answer), flush=True)
    right = [sum(one.is_right for one in answers if bool(one.edit.rule) is breaks) for breaks in (True, False)]
    print(
        f"\n{right[0]} of {len(BREAKS)} breaks named at the right line and nothing else, "
        f"{right[1]} of {len(REFACTORINGS)} refactorings silent, in {time.monotonic() - start:.0f} s."
    )
    return 0 if all(one.is_right for one in answers) else 1


def _row(answer: Answer) -> str:
    wrong = "" if answer.is_right else "WRONG: "
    told = answer.told or (("nothing", ""),)
    rows = [
        f"{'' if number else textwrap.shorten(answer.edit.title, 50):<52}{wrong + rule:<30}{line[:70]}"
        for number, (rule, line) in enumerate(told)
    ]
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
