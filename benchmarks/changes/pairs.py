"""Changes of public code that need no labels: a mistake put into a file, and a file in other words."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from benchmarks.mutants.draw import Mutant, drawn, files
from benchmarks.mutants.edits import File
from benchmarks.mutants.operators import OPERATORS
from benchmarks.mutants.outcome import consequences_of, place_of
from benchmarks.rewrites import REWRITES

_MOST_LINES = 500
"""How long a file may be: longer ones cost minutes, and are no other matter."""


@dataclass(frozen=True)
class Change:
    """Two states of one file."""

    kind: str
    """The name of the operator or of the rewrite."""
    family: str
    """The family of the mistake; nothing where the program is the same in other words."""
    folder: Path
    before: dict[str, str]
    after: dict[str, str]
    place: frozenset[int] = frozenset()
    """The lines of the statement with the mistake, which are the same in both states."""
    near: frozenset[int] = frozenset()
    """The lines of its function that follow from it."""

    def __str__(self) -> str:
        (path,) = self.before
        return f"{self.folder.name}/{path}{f':{min(self.place)}' if self.place else ''} {self.kind}"


def mistakes(folders: Sequence[Path], each: int, seeds: Sequence[int]) -> Iterator[Change]:
    """Draw some operators for each seed, and a place for each."""
    for seed in seeds:
        yield from islice(_mistakes(folders, seed), each)


def _mistakes(folders: Sequence[Path], seed: int) -> Iterator[Change]:
    order = random.Random(f"mistakes {seed}")
    for operator in order.sample(OPERATORS, len(OPERATORS)):
        among = order.sample(list(folders), len(folders))
        wanted = drawn(among, len(among), seed, [operator.name])
        yield from islice((_mistake(one) for one in wanted if _is_short(one.file)), 1)


def _mistake(one: Mutant) -> Change:
    before, after = {one.file.path: one.file.text}, {one.file.path: one.text}
    told = frozenset(place_of(one)), frozenset(consequences_of(one))
    return Change(one.operator.name, one.operator.family, one.folder, before, after, *told)


def rewordings(folders: Sequence[Path], each: int, seeds: Sequence[int]) -> Iterator[Change]:
    """Draw some rewrites for each seed, and a file for each, which is compared as the rewrite would lay it out."""
    for seed in seeds:
        yield from islice(_rewordings(folders, seed), each)


def _rewordings(folders: Sequence[Path], seed: int) -> Iterator[Change]:
    order = random.Random(f"rewordings {seed}")
    for kind in order.sample(REWRITES, len(REWRITES)):
        folder = order.choice(list(folders))
        short = [one for one in files(folder) if _is_short(one)]
        made = ((one, kind(ast.parse(one.text)).files()) for one in order.sample(short, len(short)))
        yield from islice((_rewording(kind.__name__, folder, one, other) for one, other in made if other), 1)


def _rewording(kind: str, folder: Path, file: File, made: dict[str, str]) -> Change:
    beside = Path(file.path).parent
    after = {(beside / name).as_posix(): text for name, text in made.items() if name != "example.py"}
    plain = ast.unparse(ast.parse(file.text))
    return Change(kind, "", folder, {file.path: plain}, {**after, file.path: made["example.py"]})


def _is_short(file: File) -> bool:
    return file.text.count("\n") <= _MOST_LINES
