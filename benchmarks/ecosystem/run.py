"""Audit the installed sources of well-known JAX packages, or checkouts of projects, and tell how that went.

    python benchmarks/ecosystem/run.py [NAME...] [--site-packages DIR | --projects DIR | --fresh DIR] [--raw DIR]
                                       [--write] [--check-judgements]

`projects.toml` says at which commit each project is checked out into the folder of its name. `--fresh` audits the
packages that were chosen after the rules were built, installed into DIR.

Each package is audited by a process of its own. Prints a table; `--raw` also writes every error and the
reasons for `unknown` as JSON. `judgements.toml` holds our verdict on each error, keyed by package, path, rule and the
text of the line, so that it outlives new versions; `--check-judgements` lists the errors that nobody has judged yet.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import time
import tomllib
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

from audit import Audit, audit_package, version_of
from judgements import Judgement, read_judgements, unjudged

README = Path(__file__).with_name("README.md")
PROJECTS = Path(__file__).with_name("projects.toml")
RESULTS = {"packages": "## Results", "projects": "## Results on projects", "fresh": "## Results on fresh packages"}
END = "<!-- end of results -->"
PACKAGES = ("flax", "optax", "equinox", "distrax", "rlax", "gymnax", "brax", "blackjax", "numpyro")
PACKAGES += ("haiku", "diffrax", "chex", "jaxopt", "lineax", "optimistix")
FRESH = ("jraph", "objax", "dm_pix", "clu", "qdax", "e3nn_jax", "evojax", "kfac_jax", "flowjax", "sbx", "pgx", "tinygp")
FRESH += ("jax_cosmo", "ott", "coax", "bayeux", "dynamiqs", "navix", "bijx", "elegy", "flaxmodels", "xlb", "jaxns")
FRESH += ("scico",)
HEADINGS = (
    "package", "files", "lines", "functions", "entered", "obligations", "proved", "violated", "unknown", "coverage",
    "errors", "per 1000 lines", "true", "false", "debatable", "performance", "speed / ast.parse", "crashes",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Result:
    """One package: what the audit said, and how it compares with only parsing the same files."""

    audit: Audit
    version: str
    lines: int
    parse_seconds: float
    verdicts: Counter[str]

    def row(self) -> list[str]:
        """Return the cells of the table."""
        audit = self.audit
        count = audit.coverage
        decided = count["proved"] + count["violated"]
        cells = [f"{audit.package} {self.version}", count["files"], self.lines, count["functions"], count["entered"]]
        cells += [count[name] for name in ("obligations", "proved", "violated", "unknown")]
        cells += [f"{100 * decided / max(1, count['obligations']):.0f}%", len(audit.errors)]
        cells += [f"{1000 * len(audit.errors) / max(1, self.lines):.2f}"]
        cells += [self.verdicts[name] for name in ("true", "false", "debatable")]
        cells += [audit.slow]
        cells += [f"1/{audit.seconds / max(1e-9, self.parse_seconds):.0f}", len(audit.crashes)]
        return [str(cell) for cell in cells]


def find_package(name: str, site_packages: Path | None) -> Path | None:
    """Return the directory of a package, without importing it."""
    if site_packages is not None:
        found = site_packages / name
        return found if found.is_dir() else None
    spec = find_spec(name)
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places else None


def parse_all(directory: Path) -> tuple[int, float]:
    """Count the lines of all Python files of a package, and time `ast.parse` of them."""
    texts = [path.read_bytes() for path in sorted(directory.rglob("*.py"))]
    start = time.perf_counter()
    for text in texts:
        with suppress(SyntaxError):
            ast.parse(text)
    return sum(text.count(b"\n") for text in texts), time.perf_counter() - start


def project_commits() -> dict[str, str]:
    """Return the commit that each project is checked out at."""
    return {one["name"]: one["commit"] for one in tomllib.loads(PROJECTS.read_text(encoding="utf-8"))["project"]}


def measure(name: str, directory: Path, version: str, judged: list[Judgement]) -> Result:
    """Audit one package or project."""
    lines, seconds = parse_all(directory)
    audit = audit_package(name, directory)
    by_key = {one.key: one.verdict for one in judged}
    verdicts = Counter(by_key.get(error.key, "unjudged") for error in audit.errors)
    return Result(audit, version, lines, seconds, verdicts)


def table(results: list[Result]) -> str:
    """Write the results as a Markdown table."""
    rows = [HEADINGS, ["---"] * len(HEADINGS), *(result.row() for result in results)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def summary(results: list[Result]) -> str:
    """Say in a sentence how many of the errors are true."""
    verdicts: Counter[str] = Counter()
    for result in results:
        verdicts.update(result.verdicts)
    counts = ", ".join(f"{number} {verdict}" for verdict, number in verdicts.most_common())
    lines = sum(result.lines for result in results)
    rate = 1000 * verdicts.total() / max(1, lines)
    return f"{verdicts.total()} errors in {lines} lines ({rate:.2f} a thousand): {counts or 'none'}."


def families(results: list[Result]) -> str:
    """Tell how many obligations of each family are decided, and why most of the others are not."""
    total: Counter[str] = Counter()
    left: Counter[str] = Counter()
    why: Counter[tuple[str, str]] = Counter()
    for result in results:
        why.update(result.audit.unknown)
        for family, (obligations, unknown) in result.audit.families.items():
            total[family] += obligations
            left[family] += unknown
    rows = ["| family | obligations | decided | most frequent reason for `unknown` |", "| --- | --- | --- | --- |"]
    for family, number in sorted(total.items()):
        if number:
            most = Counter({reason: times for (one, reason), times in why.items() if one == family}).most_common(1)
            reason = f"{most[0][0]} ({most[0][1]})" if most else ""
            rows.append(f"| {family} | {number} | {100 * (number - left[family]) / number:.0f}% | {reason} |")
    decided = 100 * (total.total() - left.total()) / max(1, total.total())
    return "\n".join([*rows, f"| all | {total.total()} | {decided:.0f}% | |"])


def reasons(results: list[Result], count: int) -> str:
    """List the most frequent reasons for `unknown`, names in them left out."""
    total: Counter[str] = Counter()
    for result in results:
        total.update(result.audit.reasons)
    lines = [f"| {number} | {reason} |" for reason, number in total.most_common(count)]
    return "\n".join(["| times | reason for `unknown` |", "| --- | --- |", *lines])


def write_readme(results: list[Result], count: int, kind: str) -> None:
    """Put the results into README.md, between the line that announces them and the one that ends them."""
    before, heading, rest = README.read_text(encoding="utf-8").partition(f"{RESULTS[kind]}\n")
    after = rest.partition(END)[2]
    told = [table(results), summary(results), families(results), reasons(results, count)]
    parts = [before + heading.rstrip(), *told, END + after]
    README.write_text("\n\n".join(parts), encoding="utf-8")


def write_raw(results: list[Result], directory: Path) -> None:
    """Write each package's errors and reasons."""
    directory.mkdir(parents=True, exist_ok=True)
    for result in results:
        audit = result.audit
        content = {
            "package": audit.package,
            "version": result.version,
            "errors": [asdict(error) for error in audit.errors],
            "unknown_reasons": dict(audit.reasons.most_common()),
            "skipped_reasons": dict(audit.skipped.most_common()),
            "crashes": audit.crashes,
        }
        (directory / f"{audit.package}.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("names", nargs="*", help="which packages or projects (default: all)")
    add("--projects", type=Path, help="audit the projects checked out in this directory instead of packages")
    add("--site-packages", type=Path, help="where they are (default: where this interpreter finds them)")
    add("--fresh", type=Path, help="audit the packages that no rule was built on, installed into this directory")
    add("--raw", type=Path, help="write every error and every reason into this directory")
    add("--reasons", type=int, default=10, help="how many reasons for unknown to list")
    add("--write", action="store_true", help="put the results into README.md")
    add("--check-judgements", action="store_true", help="list errors without a judgement; exit 1 if any")
    return parser.parse_args()


def main() -> int:
    """Audit the packages and print the table."""
    options = parse_arguments()
    judged = read_judgements()
    results: list[Result] = []
    commits = project_commits() if options.projects else {}
    kind = "projects" if options.projects else "fresh" if options.fresh else "packages"
    for name in options.names or commits or (FRESH if options.fresh else PACKAGES):
        directory = find_package(name, options.projects or options.fresh or options.site_packages)
        if directory is None:
            print(f"{name} is not there", file=sys.stderr)
            continue
        version = commits[name][:10] if commits else version_of(directory)
        results.append(measure(name, directory, version, judged))
    told = [table(results), summary(results), families(results), reasons(results, options.reasons)]
    print(*told, sep="\n\n")
    if options.write:
        write_readme(results, options.reasons, kind)
    if options.raw:
        write_raw(results, options.raw)
    for result in results:
        for crash in result.audit.crashes:
            print(f"{result.audit.package}: {crash}", file=sys.stderr)
    if not options.check_judgements:
        return 0
    left = unjudged([error for result in results for error in result.audit.errors], judged)
    print("\n".join(f"no judgement: {error.package} {error.path}:{error.line} {error.rule}" for error in left))
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
