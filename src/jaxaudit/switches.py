"""Switches of JAX that a project turns on outside of its code: `export JAX_ENABLE_X64=1` in a script of the shell.

Only files that start programs or set up where they run are read, of the folder in question and of those above it in its
repository, and of these only the variables of JAX.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

_SUFFIXES = frozenset(".bash .bats .cfg .env .ini .mk .sh .slurm .toml .yaml .yml .zsh".split())
_NAMES = frozenset("makefile dockerfile justfile containerfile .envrc .env procfile".split())
_FOLDERS = ("scripts", "bin", "docker", ".github/workflows")
_MOST_FILES, _MOST_BYTES = 200, 200_000
_ON = re.compile(r"^(?!\s*#).*?\b(JAX_\w+)\b\s*[=:\s]\s*[\"']?(?:1|true|on|yes)\b", re.IGNORECASE | re.MULTILINE)


def switched_on(start: Path) -> tuple[str, ...]:
    """Return the names of the switches that files around a folder turn on, in small letters."""
    found: set[str] = set()
    for at, file in enumerate(_files(start)):
        if at >= _MOST_FILES:
            break
        found.update(name.lower() for name in _ON.findall(_text(file)))
    return tuple(sorted(found))


def _files(start: Path) -> Iterator[Path]:
    for directory in _directories(start):
        for folder in (directory, *(directory / name for name in _FOLDERS)):
            try:
                files = sorted(folder.iterdir())
            except OSError:
                continue
            yield from (file for file in files if _is_read(file))


def _directories(start: Path) -> tuple[Path, ...]:
    """Return a folder and those above it in its repository; the folder alone where it is in none."""
    above = (start, *start.parents)
    top = next((at for at, one in enumerate(above) if os.path.exists(one / ".git")), 0)  # noqa: PTH110
    return above[: top + 1]


def _is_read(file: Path) -> bool:
    name = file.name.lower()
    return name in _NAMES or file.suffix.lower() in _SUFFIXES or name.startswith("dockerfile")


def _text(file: Path) -> str:
    try:
        if os.path.getsize(file) > _MOST_BYTES:  # noqa: PTH202
            return ""
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
