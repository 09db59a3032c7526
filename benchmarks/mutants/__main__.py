"""Puts one mistake after the other into public code, and says what the audit makes of it.

    python -m benchmarks.mutants DIR... [--count 50] [--seed 0] [--list] [--write]

Each mutant is one edit of one file (`operators.py`), and that file is audited alone, as it was and with the edit. The
mutants are drawn by the seed, as evenly from all operators and directories as there are places. `--list` prints each
one; `--write` puts the table into README.md.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path

from benchmarks.mutants.edits import Edit, File
from benchmarks.mutants.operators import OPERATORS, Operator
from jaxaudit.config import Config
from jaxaudit.reports.model import Report
from jaxaudit.session import audit_text

README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- results -->", "<!-- end of results -->"
OUTCOMES = ("error", "warning", "proved", "unknown", "silent")


@dataclass(frozen=True)
class Mutant:
    """One mistake in one file."""

    operator: Operator
    folder: Path
    file: File
    edit: Edit

    @property
    def line(self) -> int:
        """The line of the mistake."""
        return self.edit.node.lineno

    def __str__(self) -> str:
        return f"{self.folder.name}/{self.file.path}:{self.line} {self.operator.name}"


@cache
def audited(folder: Path, path: str, text: str) -> Report:
    """Audit one file as the disk has its neighbours."""
    os.chdir(folder)
    return audit_text(path, text.encode(), Config(), sections=False).report


def outcome(mutant: Mutant) -> tuple[str, str]:
    """Say what the audit makes of a mutant, and the finding or the rule that shows it."""
    before = audited(mutant.folder, mutant.file.path, mutant.file.text)
    after = audited(mutant.folder, mutant.file.path, mutant.file.edited(mutant.edit))
    for kind, old, new in (("error", before.issues, after.issues), ("warning", before.warnings, after.warnings)):
        known = {(one.rule, one.line) for one in old}
        for one in new:
            if (one.rule, one.line) not in known:
                return kind, f"{one.rule} at line {one.line}: {one.message}"
    there = {one.rule for one in before.verified if _is_there(one, mutant)}
    proved = [one for one in after.verified if _is_there(one, mutant) and one.rule in there]
    if proved:
        return "proved", f"{proved[0].rule}: {proved[0].reason}"
    unknown = [one for one in after.unknown if one.line == mutant.line]
    return ("unknown", f"{unknown[0].rule}: {unknown[0].reason}") if unknown else ("silent", "")


def _is_there(one: object, mutant: Mutant) -> bool:
    """Whether an obligation stands on the line of the mistake and is of its family."""
    return (getattr(one, "line", 0), getattr(one, "family", "")) == (mutant.line, mutant.operator.family)


def possible(operator: Operator, folder: Path) -> list[Mutant]:
    """Return every place of a folder where an operator applies once, and leaves valid Python that is not the same."""
    found: dict[tuple[str, int, int], Mutant] = {}
    for file in files(folder):
        for edit in operator.edits(file):
            place = (file.path, edit.node.lineno, edit.node.col_offset)
            if place not in found and file.edited(edit) != file.text and _is_valid(file.edited(edit)):
                found[place] = Mutant(operator, folder, file, edit)
    return list(found.values())


@cache
def files(folder: Path) -> Sequence[File]:
    """Return the files of a folder that can be parsed, without tests."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")
        if "test" not in path.relative_to(folder).as_posix() and _is_valid(text):
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


def drawn(folders: Sequence[Path], count: int, seed: int) -> list[Mutant]:
    """Draw mutants: one of each operator in turn, and of each operator one from each folder in turn."""
    order = random.Random(seed)
    queues = []
    for operator in OPERATORS:
        places = [possible(operator, folder) for folder in folders]
        for one in places:
            order.shuffle(one)
        queues.append(_in_turn(places))
    return list(_in_turn(queues))[:count]


def _in_turn(queues: Sequence[Sequence[Mutant]]) -> list[Mutant]:
    return [one for one in chain.from_iterable(zip_longest(*queues)) if one is not None]


def table(found: Mapping[str, Counter[str]]) -> Iterator[str]:
    """Write the outcomes by operator as Markdown."""
    yield "| operator | family | mutants | " + " | ".join(OUTCOMES) + " |"
    yield "| --- " * (3 + len(OUTCOMES)) + "|"
    total: Counter[str] = Counter()
    for operator in OPERATORS:
        counts = found.get(operator.name, Counter())
        total += counts
        cells = [operator.name, operator.family, counts.total(), *(counts[one] for one in OUTCOMES)]
        yield "| " + " | ".join(map(str, cells)) + " |"
    yield "| " + " | ".join(map(str, ["all", "", total.total(), *(total[one] for one in OUTCOMES)])) + " |"


def main() -> int:
    """Draw mutants, audit them and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--list", action="store_true", help="print every mutant and what was said of it")
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    options = parser.parse_args()
    found: dict[str, Counter[str]] = {}
    for mutant in drawn([folder.resolve() for folder in options.folders], options.count, options.seed):
        kind, why = outcome(mutant)
        found.setdefault(mutant.operator.name, Counter())[kind] += 1
        if options.list:
            print(f"{kind:8} {mutant} {why}", flush=True)
    lines = list(table(found))
    print(*lines, sep="\n")
    if options.write:
        before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
        names = ", ".join(folder.name for folder in options.folders)
        head = f"{len(found)} operators, seed {options.seed}, on {names}:"
        README.write_text(
            "\n".join([before + BEGIN, "", head, "", *lines, "", END]) + rest.partition(END)[2], encoding="utf-8"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
