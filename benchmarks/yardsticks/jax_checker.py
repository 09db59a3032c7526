"""Ask JAX's own key-reuse checker about each program of the yardstick.

    python benchmarks/yardsticks/jax_checker.py [--check]

Needs jax (0.10 or later) in the running interpreter. JAX can be asked in three ways:

- `typed`: the program runs as written with the flag `jax_debug_key_reuse` on;
- `raw`: the same with `jax.random.key` replaced by the older `PRNGKey`, whose keys are plain arrays;
- `traced`: `main` is traced as a whole and the checker reads its jaxpr, as JAX's own tests do. It sees the most.

Prints JSON; with `--check` it compares with what `expected.toml` records instead, and exits 1 where they differ.
"""

from __future__ import annotations

import contextlib
import io
import json
import runpy
import sys
import tomllib
import traceback
from collections.abc import Callable
from pathlib import Path

import jax
from jax.experimental.key_reuse._core import check_key_reuse

PROGRAMS = Path(__file__).parents[2] / "tests" / "yardsticks" / "key_reuse"
NEW_KEY = jax.random.key


def last_line_in(error: BaseException, path: Path) -> int:
    """Return the line of the program where an exception came from, 0 when it never passed through it."""
    # An error found in a jaxpr names the traced line in its cause; one found in a run names the first use there.
    traced = type(error.__cause__).__name__ == "JaxStackTraceBeforeTransformation"
    for raised in (error.__cause__ if traced else None, error):
        frames = traceback.extract_tb(raised.__traceback__ if raised else None)
        lines = [frame.lineno or 0 for frame in frames if frame.filename == str(path)]
        if lines:
            return lines[-1]
    return 0


def run_main(path: Path) -> None:
    """Run a program with the flag on."""
    with jax.debug_key_reuse(True):
        runpy.run_path(str(path), run_name="__main__")


def trace_main(path: Path) -> None:
    """Return the checker the jaxpr of a program's `main`."""
    check_key_reuse(runpy.run_path(str(path))["main"])


def verdict(path: Path, run: Callable[[Path], None]) -> str:
    """Run one program under the checker: "clean", "error:LINE", or "fails:WHY" when it cannot run this way."""
    jax.clear_caches()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            run(path)
    except jax.errors.KeyReuseError as error:
        return f"error:{last_line_in(error, path)}"
    except Exception as error:  # noqa: BLE001 - a program that cannot run with this kind of key is an answer too
        return f"fails:{type(error).__name__}"
    return "clean"


def ask() -> dict[str, dict[str, str]]:
    """Ask about all programs in all three ways."""
    answers: dict[str, dict[str, str]] = {}
    ways = (("typed", NEW_KEY, run_main), ("raw", jax.random.PRNGKey, run_main), ("traced", NEW_KEY, trace_main))
    for way, make, run in ways:
        jax.random.key = make
        for path in sorted(PROGRAMS.glob("*.py")):
            answers.setdefault(path.stem, {})[way] = verdict(path, run)
    jax.random.key = NEW_KEY
    return answers


def differences(answers: dict[str, dict[str, str]]) -> list[str]:
    """Say where the record and the answers differ."""
    recorded = tomllib.loads((PROGRAMS / "expected.toml").read_text(encoding="utf-8"))
    found: list[str] = []
    for name, answer in answers.items():
        for way, said in answer.items():
            record = recorded.get(name, {}).get(f"jax_{way}", "nothing")
            if said != record:
                found.append(f"{name}: asked {way}, JAX says {said!r}, expected.toml says {record!r}")
    return found


def main() -> int:
    """Print what JAX says, or check the record."""
    answers = ask()
    if "--check" not in sys.argv[1:]:
        print(json.dumps(answers, indent=1))
        return 0
    found = differences(answers)
    print("\n".join(found) or f"jax {jax.__version__}: all {len(answers)} programs as recorded")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
