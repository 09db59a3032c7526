"""Write `docs/yardsticks/key-reuse.md`: case by case, what JAX's checker says and what an audit says.

python tests/yardsticks/key_reuse_table.py

What JAX says comes from `expected.toml` (checked against a real run by `benchmarks/yardsticks/jax_checker.py`); what
an audit says is found out by auditing each program now.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from yardsticks.programs import Program, answer, audited, expected, programs

TABLE = Path(__file__).parents[2] / "docs" / "yardsticks" / "key-reuse.md"

INTRO = """# The yardstick of JAX's own key-reuse checker

JAX can check the use of typed random keys while a program runs (`jax_debug_key_reuse`), and its tests list what that
check must and must not say. The programs in `tests/yardsticks/key_reuse/` carry the same facts, each written anew as a
user would write it, and a few more that JAX's checker does not see or wrongly complains about. This page is generated
by `tests/yardsticks/key_reuse_table.py`; a test holds that it is up to date.

- **typed**: jax 0.10.2 runs the program with the flag on. **raw**: the same with keys from `PRNGKey`, which the flag
  cannot see. **traced**: `main` is traced as a whole and the checker reads the jaxpr, as JAX's own tests do.
- **we say**: what `jaxaudit check` says today, from the source alone and without running it. It is the same for
  typed and raw keys. *clean* means that every obligation is proved, *unknown* that at least one is left open.
- The programs were in sight while the audit was built, so its column tells what it covers, not how it does on code that
  nobody has looked at; `benchmarks/ecosystem` tells that.
- Numbers are lines. The cases of JAX's test file about its own data structures (equality, hashing and printing of its
  signatures) have no counterpart here.
"""


def say(verdict: str) -> str:
    """Put what JAX says into words."""
    kind, _, detail = verdict.partition(":")
    return {"error": f"error {detail}", "fails": f"stops: {detail}"}.get(kind, kind)


def our_answer(program: Program) -> str:
    """Put what an audit says into words, with rule and lines."""
    report = audited(program.path)
    found = report.issues or report.warnings
    if not found:
        return answer(report)
    rules: dict[str, list[int]] = {}
    for finding in found:
        rules.setdefault(finding.rule, []).append(finding.line)
    places = "; ".join(f"`{rule}` {', '.join(map(str, sorted(set(lines))))}" for rule, lines in sorted(rules.items()))
    return f"{answer(report)} {places}"


def note(row: dict[str, Any]) -> str:
    """Say why the answers differ, and what is still missing."""
    gap = f"To do: {row['gap']}" if "gap" in row else ""
    return " ".join(part for part in (row.get("reason", ""), gap) if part)


def table(found: list[Program], rows: dict[str, dict[str, Any]]) -> list[str]:
    """Write one table."""
    lines = ["| program | what it shows | typed | raw | traced | we say | note |", "|---|---|---|---|---|---|---|"]
    for program in found:
        row = rows[program.name]
        jax = " | ".join(say(row[f"jax_{way}"]) for way in ("typed", "raw", "traced"))
        title = program.title.replace("|", "\\|")
        lines.append(f"| {program.name} | {title} | {jax} | {our_answer(program)} | {note(row)} |")
    return lines


def is_about_reuse(program: Program, row: dict[str, Any]) -> bool:
    """Leave out what nobody can decide, and what JAX's checker does not set out to find."""
    rules = {rule for mark in program.errors for rule in mark.rules}
    return row["jaxaudit"] != "unknown" and not rules & {"too-few-subkeys", "python-random-in-traced-code"}


def score(every: list[Program], rows: dict[str, dict[str, Any]]) -> list[str]:
    """Count who finds how many of the reuses, and who complains without reason."""
    counts: Counter[tuple[str, bool]] = Counter()
    found = [program for program in every if is_about_reuse(program, rows[program.name])]
    wrong = [program for program in found if program.errors]
    for program in found:
        row = rows[program.name]
        said = {way: row[f"jax_{way}"].startswith("error") for way in ("typed", "raw", "traced")}
        said["we"] = bool(audited(program.path).issues)
        for who, complained in said.items():
            counts[who, bool(program.errors)] += complained
    lines = ["| | typed | raw | traced | we |", "|---|---|---|---|---|"]
    for label, bad, total in (("mistakes found", True, len(wrong)), ("false alarms", False, len(found) - len(wrong))):
        cells = " | ".join(f"{counts[who, bad]} of {total}" for who in ("typed", "raw", "traced", "we"))
        lines.append(f"| {label} | {cells} |")
    return lines


def render() -> str:
    """Write the whole page."""
    rows = expected()
    order = {name: place for place, name in enumerate(rows)}
    found = sorted(programs("key_reuse"), key=lambda program: order[program.name])
    theirs = [program for program in found if "jax_test" in rows[program.name]]
    ours = [program for program in found if "jax_test" not in rows[program.name]]
    parts = [
        INTRO,
        "## In numbers\n",
        "Two programs are about other mistakes than reuse and one cannot be decided; they are not counted here.\n",
        *score(found, rows),
        "\n## The cases of JAX's tests\n",
        *table(theirs, rows),
        "\n## Cases of our own\n",
        *table(ours, rows),
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    TABLE.write_text(render(), encoding="utf-8")
