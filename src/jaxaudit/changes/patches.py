"""A patch on standard input: the states before and after it, whether or not the working tree has it already.

Git applies it, to copies of the files that it names, in a directory of its own.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from jaxaudit.changes.repository import Repository
from jaxaudit.changes.states import Comparison, State, working_tree
from jaxaudit.config import Config, UsageError
from jaxaudit.discover import find_files, run_git, show_path

_NAMES = ("--- ", "+++ ", "rename from ", "rename to ", "copy from ", "copy to ")


def patched(repository: Repository | None, patch: bytes, config: Config) -> Comparison:
    """Return the states before and after a patch, of which the working tree is one."""
    root = repository.root if repository is not None else Path.cwd()
    here = working_tree(repository, config) if repository is not None else _on_disk(config)
    named = sorted(set(_python_files(patch)))
    if not named and patch.strip() and not patch.startswith((b"diff ", b"--- ", b"From ")) and b"\n+++ " not in patch:
        raise UsageError("what stands on standard input is no patch; `git diff | jaxaudit diff -` gives one")
    shown = {name: show_path(root / name) for name in named}
    if not named:
        return Comparison(here, here)
    for reverse in (False, True):
        texts = _applied(patch, {name: here.files.get(path) for name, path in shown.items()}, reverse=reverse)
        if texts is not None:
            other = here.with_files({shown[name]: text for name, text in texts.items()}, "the patch")
            without = State("the files without the patch", other.files)
            return Comparison(without, here) if reverse else Comparison(here, other)
    raise UsageError("the patch fits neither the files as they are nor as they would be without it")


def _python_files(patch: bytes) -> Iterator[str]:
    """Return the Python files that a patch names, without the `a/` and `b/` of git."""
    for line in patch.decode("utf-8", "surrogateescape").splitlines():
        start = next((one for one in _NAMES if line.startswith(one)), "")
        name = line[len(start) :].partition("\t")[0] if start else ""
        name = name.partition("/")[2] if start in _NAMES[:2] and name.startswith(("a/", "b/")) else name
        if name.endswith(".py"):
            yield name


def _applied(patch: bytes, files: dict[str, bytes | None], *, reverse: bool) -> dict[str, bytes | None] | None:
    """Return the files after a patch, None where it does not fit them."""
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        for path, text in files.items():
            place = Path(os.path.normpath(top / path))
            if not place.is_relative_to(top):
                raise UsageError(f"the patch names a file outside of the project: {path}")
            if text is not None:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(text)
        level = "-p1" if b"\n+++ b/" in b"\n" + patch or b"\ndiff --git a/" in b"\n" + patch else "-p0"
        how = ["apply", level, "--include=*.py", "--whitespace=nowarn", *(["-R"] if reverse else []), "-"]
        done = run_git(top, *how, given=patch, apart=True)
        if done is None:
            raise UsageError("git is not installed, and `diff` needs it to apply a patch")
        if done.returncode:
            return None
        return {path: (top / path).read_bytes() if (top / path).is_file() else None for path in files}


def _on_disk(config: Config) -> State:
    files = find_files(["."], config)
    return State("the files as they are", {show_path(path): path.read_bytes() for path in files if path.is_file()})
