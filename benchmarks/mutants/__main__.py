"""Puts one mistake after the other into public code, and says what the audit makes of it.

    python -m benchmarks.mutants DIR... [--each 8] [--seed 0] [--only NAME...] [--observed] [--list] [--write]

Each mutant is one edit of one file (`operators/`), and that file is audited as it was and with the edit. The mutants
are drawn by the seed, as evenly from all operators and directories as there are places. `--list` prints each one;
`--write` puts the tables into README.md.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.mutants.draw import Mutant, drawn
from benchmarks.mutants.operators import FAMILIES, OPERATORS
from benchmarks.mutants.outcome import KINDS, MISSING, Result, judged

README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- results -->", "<!-- end of results -->"
Judged = Sequence[tuple[Mutant, Result]]


def by_operator(found: Judged) -> Iterator[str]:
    """Write the outcomes of each operator as Markdown."""
    yield "| operator | family | mutants | " + " | ".join(KINDS) + " |"
    yield "| --- " * (3 + len(KINDS)) + "|"
    for operator in OPERATORS:
        own = [result for mutant, result in found if mutant.operator is operator]
        yield _row(operator.name, operator.family, *_counts(own))


def by_family(found: Judged) -> Iterator[str]:
    """Write the outcomes of each family, and what was missing where nothing was found, as Markdown."""
    yield "| family | mutants | " + " | ".join((*KINDS, *MISSING)) + " |"
    yield "| --- " * (2 + len(KINDS) + len(MISSING)) + "|"
    for family in (*FAMILIES, ""):
        own = [result for mutant, result in found if family in ("", mutant.operator.family)]
        missing = Counter(one for result in own for one in result.missing)
        yield _row(family or "all", *_counts(own), *(missing[one] for one in MISSING))


def _counts(found: Sequence[Result]) -> list[int]:
    kinds = Counter(one.kind for one in found)
    return [len(found), *(kinds[one] for one in KINDS)]


def _row(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def write(head: str, tables: Sequence[str]) -> None:
    """Put the tables into README.md."""
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    README.write_text(
        "\n".join([before + BEGIN, "", head, "", *tables, "", END]) + rest.partition(END)[2], encoding="utf-8"
    )


def main() -> int:
    """Draw mutants, audit them and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--each", type=int, default=8, help="mutants of each operator")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=(), help="operators or families")
    parser.add_argument("--observed", action="store_true", help="with what `pytest --jaxaudit` showed of the files")
    parser.add_argument("--list", action="store_true", help="print every mutant and what was said of it")
    parser.add_argument("--write", action="store_true", help="put the tables into README.md")
    options = parser.parse_args()
    folders = [folder.resolve() for folder in options.folders]
    found: list[tuple[Mutant, Result]] = []
    for mutant in drawn(folders, options.each, options.seed, options.only):
        result = judged(mutant, observed=options.observed)
        found.append((mutant, result))
        if options.list:
            print(f"{result.kind:8} {mutant} {', '.join(result.missing)} {result.why}", flush=True)
            print(*_change(mutant), sep="\n", flush=True)
    tables = [*by_family(found), "", *by_operator(found)]
    print(*tables, sep="\n")
    if options.write:
        names = ", ".join(folder.name for folder in options.folders)
        write(f"{len(OPERATORS)} operators, seed {options.seed}, on {names}:", tables)
    return 0


def _change(mutant: Mutant) -> Iterator[str]:
    """Return the lines that the mistake changes, as they were and as they are."""
    for old, new in zip(mutant.file.text.split("\n"), mutant.text.split("\n"), strict=False):
        if old != new:
            yield f"    - {old.strip()}"
            yield f"    + {new.strip()}"


if __name__ == "__main__":
    sys.exit(main())
