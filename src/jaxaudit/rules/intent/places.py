"""Which code nobody's results depend on: tests, benchmarks, and what only a script's own main block does."""

from __future__ import annotations

from pathlib import PurePosixPath

from jaxaudit.ir import Program
from jaxaudit.spans import Span


def in_test(span: Span) -> bool:
    """Whether a place is in a file of tests."""
    path = PurePosixPath(span.path)
    words = path.stem.split("_")
    return "test" in (words[0], words[-1]) or path.stem in ("tests", "conftest") or not _FOLDERS.isdisjoint(path.parts)


_FOLDERS = frozenset(("test", "tests"))


def in_benchmark(span: Span) -> bool:
    """Whether a place is in a file that measures time."""
    path = PurePosixPath(span.path)
    return any(word.startswith("bench") for part in path.with_suffix("").parts for word in part.split("_"))


def in_main_block(span: Span, program: Program) -> bool:
    """Whether a place is under `if __name__ == "__main__"`."""
    block = program.main_blocks.get(span.path)
    return block is not None and block.line < span.line <= block.end_line
