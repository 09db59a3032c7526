"""Runs programs, reads them as source, and lists where what source says is not so.

    python -m benchmarks.agreement PATH... [--packages flax,optax] [--numbers] [--cache FOLDER]
    python -m benchmarks.agreement --generated 100 [--first 1000]
    python -m benchmarks.agreement PATH... --traces

Every Python file of the paths is a script. What its expressions give is compared with what source says of them; with
`--packages`, also in the modules of these packages. `--generated` adds programs that are made at random. With
`--traces` it is both front ends that are compared. Runs are kept in the cache, so that after a repair source alone is
read again.
Exits with 1 where there is a contradiction.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.agreement import compare, generate
from benchmarks.agreement.judge import Judge, Verdict
from benchmarks.agreement.observe import NotObservedError, observed
from benchmarks.agreement.said import read
from benchmarks.agreement.watch import kept
from jaxaudit.discover import decode_file, loader, shown_name
from jaxaudit.frontends.base import SourceFile
from jaxaudit.frontends.source.read import read_source

CACHE = Path.home() / ".cache" / "jaxaudit-agreement"


def agreement(path: Path, *, run: bool = True) -> compare.Agreement:
    """Compare both front ends on one script."""
    path = path.resolve()
    traced = observed(path, run=run)
    files = sources({path: shown_name(str(path))})
    return compare.compare(read_source(files, loader(files)).program, traced)


def sources(paths: Mapping[Path, str]) -> list[SourceFile]:
    """Return files under the names they are to have, without those that cannot be decoded."""
    files = (decode_file(shown, path.read_bytes()) for path, shown in paths.items())
    return [file for file in files if isinstance(file, SourceFile)]


def judge(paths: Mapping[Path, str]) -> Judge:
    """Read files as source, with what is said of each expression."""
    files = sources(paths)
    return Judge(read(files, loader(files)))


def verdict(path: Path, seen: Mapping[str, Any]) -> Verdict:
    """Compare what was seen of one script with its source."""
    shown = {path: shown_name(str(path))}
    return judge(shown).program(seen, {str(path): name for path, name in shown.items()})


def verdicts(paths: Sequence[Path], seen: Mapping[Path, Mapping[str, Any]], packages: Sequence[str]) -> Verdict:
    """Compare what was seen of scripts and of the packages that they use with the source of all of them, read once.

    For source the scripts stand beside the first of the packages, so that their calls are followed into it.
    """
    modules = [file for package in packages for file in _modules(package)]
    home = next(file for file in modules if file.name == "__init__.py").parent.parent
    shown = {path: shown_name(str(home / path.name)) for path in paths}
    shown |= {file: shown_name(str(file)) for file in modules}
    reader, total = judge(shown), Verdict()
    for path in paths:
        total.add(reader.program(seen[path], {str(path): name for path, name in shown.items()}))
    return total


def _modules(package: str) -> list[Path]:
    """Return the modules of an installed package, without its tests."""
    spec = importlib.util.find_spec(package)
    folders = () if spec is None else spec.submodule_search_locations or ()
    found = (file for folder in folders for file in sorted(Path(folder).rglob("*.py")))
    return [file for file in found if "test" not in file.stem]


def main() -> int:
    """Compare all programs and print what was found."""
    options = _options()
    files = [file for path in options.paths for file in ([path] if path.is_file() else sorted(path.rglob("*.py")))]
    seeds = range(options.first, options.first + options.generated)
    files += generate.generated(seeds, options.cache / "generated")
    files = [file.resolve() for file in files]
    if options.traces:
        return _traces(files)
    packages = tuple(filter(None, options.packages.split(",")))
    seen = kept(files, options.cache, packages, numbers=options.numbers)
    total = Verdict()
    if packages:
        total = verdicts(files, seen, packages)
        print(*total.contradictions, sep="\n")
    for file in () if packages else files:
        one = verdict(file, seen[file])
        print(*one.contradictions, f"{file.name}: {one}", sep="\n", flush=True)
        total.add(one)
    ended = Counter(seen[file]["types"]["ended"].partition(":")[0] for file in files)
    print(total, f"{ended.total() - ended['']} programs did not run to their end", sep="\n")
    print(
        "shapes are unknown for", *(f"{n:6} {why}" for why, n in total.reasons.most_common(options.reasons)), sep="\n"
    )
    return 1 if total.contradictions else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--packages", default="", help="packages that are watched and read too")
    parser.add_argument("--generated", type=int, default=0, help="how many programs to make at random")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first of them")
    parser.add_argument("--numbers", action="store_true", help="compute, and compare ranges and keys as well")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where runs are kept")
    parser.add_argument("--reasons", type=int, default=20, help="how many reasons of unknown shapes to list")
    parser.add_argument("--traces", action="store_true", help="compare both front ends")
    return parser.parse_args()


def _traces(files: Sequence[Path]) -> int:
    total, left = compare.Agreement(), 0
    for file in files:
        try:
            one = agreement(file)
        except NotObservedError as reason:
            left += 1
            print(f"{file} was left out: {reason}")
            continue
        print(*one.contradictions, sep="\n", end="\n" if one.contradictions else "")
        total.add(one)
    print(f"{total}; {left} programs did not run")
    return 1 if total.contradictions else 0


if __name__ == "__main__":
    sys.exit(main())
