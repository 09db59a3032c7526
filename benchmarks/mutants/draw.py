"""Which mistakes are made where: every place of an operator, and a draw of them by a seed."""

from __future__ import annotations

import random
import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path

from benchmarks.mutants.edits import Edit, File
from benchmarks.mutants.operators import OPERATORS, Operator


@dataclass(frozen=True)
class Mutant:
    """One mistake in one file."""

    operator: Operator
    folder: Path
    file: File
    edit: Edit

    @property
    def text(self) -> str:
        """The file with the mistake."""
        return self.file.edited(self.edit)

    def __str__(self) -> str:
        return f"{self.folder.name}/{self.file.path}:{self.edit.node.lineno} {self.operator.name}"


def drawn(folders: Sequence[Path], each: int, seed: int, only: Collection[str] = ()) -> Iterator[Mutant]:
    """Draw some mutants of each operator, one from each folder in turn."""
    for operator in OPERATORS:
        if only and operator.name not in only and operator.family not in only:
            continue
        queues = []
        for folder in folders:
            order = random.Random(f"{seed} {operator.name} {folder.name}")
            shuffled = list(files(folder))
            order.shuffle(shuffled)
            queues.append(_places(operator, folder, shuffled, order))
        yield from islice(_in_turn(queues), each)


def _in_turn(queues: Sequence[Iterator[Mutant]]) -> Iterator[Mutant]:
    """Return one mutant of each queue after the other; none is looked for that nobody asks for."""
    open_ones = list(queues)
    while open_ones:
        for queue in list(open_ones):
            one = next(queue, None)
            if one is None:
                open_ones.remove(queue)
            else:
                yield one


def _places(operator: Operator, folder: Path, shuffled: Sequence[File], order: random.Random) -> Iterator[Mutant]:
    """Return at most one mutant of each file."""
    for file in shuffled:
        if places := possible(operator, folder, file):
            yield order.sample(places, 1)[0]


def possible(operator: Operator, folder: Path, file: File) -> list[Mutant]:
    """Return every place of a file where an operator applies, and leaves valid Python that is not the same."""
    found: dict[tuple[int, int], Mutant] = {}
    for edit in operator.edits(file):
        one = Mutant(operator, folder, file, edit)
        place = (edit.node.lineno, edit.node.col_offset)
        if place not in found and one.text != file.text and _is_valid(one.text):
            found[place] = one
    return list(found.values())


@cache
def files(folder: Path) -> Sequence[File]:
    """Return the files of a folder that name JAX and can be parsed, without tests."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")
        if "test" not in path.relative_to(folder).as_posix() and "jax" in text and _is_valid(text):
            found.append(File(path.relative_to(folder).as_posix(), text))
    return found


def _is_valid(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "mutant", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True
