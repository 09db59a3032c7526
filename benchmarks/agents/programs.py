"""Programs to be read: with one mistake whose lines are known, or with none that is."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.mutants.draw import Mutant, drawn, files

MARK = "#<<"
"""Ends the lines of a `bad.py` that are wrong."""


@dataclass(frozen=True, slots=True)
class Program:
    """One file as a reader gets it."""

    origin: str
    """Where it comes from, for the key alone."""
    text: str
    lines: tuple[int, ...] = ()
    """The lines of the mistake; none where the program is taken to be right."""
    kind: str = ""
    """What the mistake is: the row of a case, the name of an operator."""


def of_cases(folder: Path, seed: int) -> tuple[list[Program], list[Program]]:
    """Return the programs of a folder of cases with and without a mistake, of each case only one of the two.

    A case is a folder with `good.py`, and `bad.py` unless it is right and only looks wrong. Whoever reads both sees
    the mistake by comparing.
    """
    cases = sorted(one.parent for one in folder.rglob("good.py"))
    random.Random(f"{seed} cases").shuffle(cases)
    wrong = [case for case in cases if (case / "bad.py").is_file()]
    right = [case for case in cases if case not in wrong] + wrong[2 * len(wrong) // 3 :]
    return [_bad(one) for one in wrong[: 2 * len(wrong) // 3]], [_good(one) for one in right]


def _bad(case: Path) -> Program:
    lines = (case / "bad.py").read_text(encoding="utf-8").split("\n")
    marked = tuple(number for number, line in enumerate(lines, 1) if line.rstrip().endswith(MARK))
    return Program(f"{case.name}/bad.py", "\n".join(map(_unmarked, lines)), marked, case.name.partition("-")[0])


def _good(case: Path) -> Program:
    return Program(f"{case.name}/good.py", (case / "good.py").read_text(encoding="utf-8"))


def _unmarked(line: str) -> str:
    bare = line.rstrip()
    return bare.removesuffix(MARK).rstrip() if bare.endswith(MARK) else line


def of_mutants(
    folders: Sequence[Path], count: int, seed: int, size: tuple[int, int]
) -> tuple[list[Program], list[Program]]:
    """Return files of public code with one mistake put in, and others as they are, of some length in lines."""
    found = [one for one in drawn(folders, 1, seed) if _fits(one.file.text, size)]
    random.Random(f"{seed} mutants").shuffle(found)
    chosen = list(_one_a_file(found))[:count]
    taken = {(one.folder, one.file.path) for one in chosen}
    others = [
        Program(f"{folder.name}/{file.path}", file.text)
        for folder in folders
        for file in files(folder)
        if (folder, file.path) not in taken and _fits(file.text, size)
    ]
    random.Random(f"{seed} originals").shuffle(others)
    return [Program(str(one), one.text, mistaken(one), one.operator.name) for one in chosen], others


def mistaken(mutant: Mutant) -> tuple[int, ...]:
    """Return the lines that a mutant changes."""
    pairs = zip(mutant.file.text.split("\n"), mutant.text.split("\n"), strict=True)
    return tuple(number for number, (old, new) in enumerate(pairs, 1) if old != new)


def _one_a_file(mutants: Sequence[Mutant]) -> Iterator[Mutant]:
    return iter({(one.folder, one.file.path): one for one in mutants}.values())


def _fits(text: str, size: tuple[int, int]) -> bool:
    return size[0] <= text.count("\n") <= size[1]
