"""Lays out programs for a reader who is not to know which of them are wrong, and keeps the key elsewhere.

    python -m benchmarks.agents.layout OUT --key KEY.json [--cases DIR...] [--mutants DIR...] [--project DIR...]
        [--wrong 60] [--right 30] [--lines 60 600] [--each 10] [--seed 0]

Marks are stripped, files are called `p001.py` and on, in an order drawn by the seed. `--cases` takes folders of
`bad.py` and `good.py`, `--mutants` folders of public code. `--project` copies the Python files of a whole project with
`--each` mistakes in as many files.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.agents.programs import Program, mistaken, of_cases, of_mutants
from benchmarks.mutants.draw import Mutant, drawn

Key = dict[str, dict[str, object]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the programs into one folder and the key into a file that is not below it."""
    options = _options(arguments)
    out, key_file = options.out.resolve(), options.key.resolve()
    problem = _problem(options, out, key_file)
    if problem:
        print(problem, file=sys.stderr)
        return 2
    out.mkdir(parents=True, exist_ok=True)
    key = lay_out(chosen(options), out, options.seed)
    for folder in options.project:
        key |= copy_project(folder.resolve(), out, options.each, options.seed)
    key_file.parent.mkdir(parents=True, exist_ok=True)
    key_file.write_text(json.dumps({"seed": options.seed, "programs": key}, indent=1) + "\n", encoding="utf-8")
    wrong = sum(bool(one["lines"]) for one in key.values())
    print(f"{len(key)} programs, {wrong} of them with a mistake, in {options.out}; the key is {options.key}")
    return 0


def _problem(options: argparse.Namespace, out: Path, key: Path) -> str:
    """Say what is wrong with what was asked for, if anything."""
    folders = [*options.cases, *options.mutants, *options.project]
    missing = [one for one in folders if not one.is_dir()]
    if missing:
        return f"there is no folder {missing[0]}"
    if not folders:
        return "nothing to lay out: name --cases, --mutants or --project"
    if key.is_relative_to(out):
        return "the key must not lie where the reader looks"
    return f"{options.out} is not empty" if out.is_dir() and any(out.iterdir()) else ""


def chosen(options: argparse.Namespace) -> list[Program]:
    """Choose programs with and without a mistake from all that is given, as evenly as there are any."""
    folders = [one.resolve() for one in options.mutants]
    sources = [of_cases(one.resolve(), options.seed) for one in options.cases]
    sources += [of_mutants(folders, options.wrong, options.seed, tuple(options.lines))] if folders else []
    wrong = evenly([one for one, _ in sources], options.wrong)
    return wrong + evenly([one for _, one in sources], options.right)


def evenly(sources: Sequence[Sequence[Program]], count: int) -> list[Program]:
    """Take programs from all sources in turn, until there are enough or no more."""
    longest = max(map(len, sources), default=0)
    turns = (source[at] for at in range(longest) for source in sources if at < len(source))
    return [one for _, one in zip(range(count), turns, strict=False)]


def lay_out(programs: Sequence[Program], out: Path, seed: int) -> Key:
    """Write programs under neutral names, in a drawn order; return what each one is."""
    order = list(programs)
    random.Random(f"{seed} order").shuffle(order)
    key: Key = {}
    for number, one in enumerate(order, 1):
        name = f"p{number:03}"
        (out / f"{name}.py").write_text(one.text, encoding="utf-8")
        key[name] = {"origin": one.origin, "kind": one.kind, "lines": list(one.lines)}
    return key


def copy_project(folder: Path, out: Path, each: int, seed: int) -> Key:
    """Copy the Python files of a project with mistakes in some of them; return where these are, one name each."""
    for path in sorted(folder.rglob("*.py")):
        target = out / folder.name / path.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    key: Key = {}
    for number, one in enumerate(_apart(folder, each, seed), 1):
        (out / folder.name / one.file.path).write_text(one.text, encoding="utf-8")
        place = f"{folder.name}/{one.file.path}"
        lines = list(mistaken(one))
        key[f"{folder.name}#{number}"] = {"origin": str(one), "kind": one.operator.name, "path": place, "lines": lines}
    return key


def _apart(folder: Path, each: int, seed: int) -> list[Mutant]:
    """Draw mutants of different operators in different files."""
    found = list(drawn([folder], 1, seed))
    random.Random(f"{seed} {folder.name}").shuffle(found)
    return list({one.file.path: one for one in found}.values())[:each]


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--key", type=Path, required=True)
    for name in ("--cases", "--mutants", "--project"):
        parser.add_argument(name, nargs="*", type=Path, default=[])
    parser.add_argument("--wrong", type=int, default=60)
    parser.add_argument("--right", type=int, default=30)
    parser.add_argument("--lines", type=int, nargs=2, default=(60, 600))
    parser.add_argument("--each", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
