"""Which files are audited, and their text.

Git is the authority on what is ignored; without it, .gitignore files are read the way git reads them. What the user
names is always audited, even when git ignores it. A file that cannot be decoded and a folder that cannot be listed are
a `Problem` each, never an exception: `os.path` is asked what a path is, because `Path` raises below a locked folder.
"""

from __future__ import annotations

import io
import os
import subprocess
import tokenize
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxaudit.config import Config, UsageError
from jaxaudit.frontends.base import Problem, SourceFile

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

NEVER_SOURCE = frozenset({"__pycache__", "node_modules", "site-packages", ".git", ".tox", ".nox", ".venv", "venv"})
"""Directories that hold no source of the project; they are skipped below a directory the user names."""


def common_directory(paths: Sequence[str]) -> Path:
    """Return the directory that holds all the paths: where the search for a configuration starts."""
    places = [_absolute(path) for path in paths] or [Path.cwd()]
    common = Path(os.path.commonpath(places))
    return common if os.path.isdir(common) else common.parent  # noqa: PTH112


def find_files(paths: Sequence[str], config: Config, *, force_exclude: bool = False) -> tuple[Path, ...]:
    """Return the Python files of the paths, once each, in order; `exclude` spares named files unless it is forced.

    Folders that cannot be listed are among them: to read one tells why.
    """
    excluded = exclusion(config)
    found: dict[Path, None] = {}
    for name in paths:
        path = _absolute(name)
        if os.path.isdir(path):  # noqa: PTH112
            found.update((file, None) for file in _in_directory(path) if not excluded(file))
        elif _is_missing(path):
            raise UsageError(f"no such file or directory: {name}")
        elif not (force_exclude and excluded(path)):
            refuse_notebook(name)
            found[path] = None
    return tuple(found)


def refuse_notebook(name: str) -> None:
    """Refuse a notebook that the user names: its cells are no Python file."""
    if name.endswith(".ipynb"):
        raise UsageError(
            f"{name} is a notebook, which cannot be read: `jupyter nbconvert --to script` makes a file of it"
        )


def exclusion(config: Config) -> Callable[[Path | str], bool]:
    """Return the test whether the configuration excludes a path."""
    return matching(config.exclude, config.root)


def read_file(path: Path, *, audited: bool = True) -> SourceFile | Problem:
    """Read one file in the encoding it declares."""
    try:
        data = path.read_bytes()
    except OSError as error:
        kind = "folder" if os.path.isdir(path) else "file"  # noqa: PTH112
        return Problem(show_path(path), 1, 1, f"cannot read the {kind}: {error.strerror or error}")
    return decode_file(show_path(path), data, audited=audited)


def decode_file(shown: str, data: bytes, *, audited: bool = True) -> SourceFile | Problem:
    """Decode Python source by its byte-order mark or coding comment, as UTF-8 without either."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return SourceFile(shown, data.decode(encoding), audited)
    except SyntaxError as error:
        return Problem(shown, 1, 1, f"cannot decode the file: {error.msg}")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Problem(shown, line, 1, f"cannot decode the file: byte {error.start} is not valid {error.encoding}")


Loader = Callable[[str], SourceFile | None]


def loader(
    known: Iterable[SourceFile], asked: dict[str, str | None] | None = None, fetch: Loader | None = None
) -> Loader:
    """Return the function that fetches a project file outside the audited set: None when there is no such file.

    What it fetches is written down in `asked`; `fetch` reads another state of the project than the disk holds.
    """
    fetch = fetch or load_file
    cache: dict[str, SourceFile | None] = {file.path: file for file in known}

    def load(path: str) -> SourceFile | None:
        if path not in cache:
            cache[path] = found = fetch(path)
            if asked is not None:
                asked[path] = found.text if found else None
        return cache[path]

    return load


def show_path(path: Path) -> str:
    """Return the path as reports show it: relative below the current directory, forward slashes, printable."""
    try:
        shown = path.relative_to(Path.cwd())
    except ValueError:
        shown = path
    return shown.as_posix().encode("utf-8", "backslashreplace").decode()


def matching(patterns: Sequence[str], root: Path) -> Callable[[Path | str], bool]:
    """Return the test whether patterns relative to a directory match a path; they never match one outside of it."""
    if not patterns:
        return lambda path: False
    spec = _patterns(patterns)

    def matches(path: Path | str) -> bool:
        relative = os.path.relpath(path, root)
        return not relative.startswith("..") and spec.match_file(relative)

    return matches


def shown_name(path: str) -> str:
    """Return a path that the user typed as reports show it."""
    return show_path(_absolute(path))


def load_file(path: str) -> SourceFile | None:
    """Read a file that is not audited from the disk: None when it is not there or cannot be read."""
    file = _absolute(path)
    if not os.path.isfile(file):  # noqa: PTH113
        return None
    result = read_file(file, audited=False)
    return result if isinstance(result, SourceFile) else None


def _absolute(path: str) -> Path:
    # Not resolve(): a symlinked file is shown under the name the user knows.
    return Path(os.path.abspath(path))  # noqa: PTH100


def _is_missing(path: Path) -> bool:
    """Whether there is surely nothing at a path; what cannot be looked at may be there."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _in_directory(directory: Path) -> Iterator[Path]:
    listed = _git_files(directory)
    if listed is None or (not listed and _git_ignores(directory)):
        yield from sorted(_walk(directory))
        return
    for file in sorted(set(listed)):
        if NEVER_SOURCE.intersection(file.relative_to(directory).parts[:-1]):
            continue
        if os.path.isdir(file):  # noqa: PTH112 # a submodule, another repository inside this one, or a locked folder
            yield from _in_directory(file) if os.access(file, os.R_OK) else (file,)
        elif file.suffix == ".py" and not _is_missing(file):
            yield file


def _git_files(directory: Path) -> list[Path] | None:
    done = _git(directory, "ls-files", "-co", "--exclude-standard", "-z")
    if done is None:
        return None
    listed = [directory / os.fsdecode(name) for name in done.stdout.split(b"\0") if name]
    # Git warns of folders that it could not open, in the user's language, and goes on without them.
    return listed + [path for path in _walk(directory) if os.path.isdir(path)] if done.stderr else listed  # noqa: PTH112


def _git_ignores(directory: Path) -> bool:
    return _git(directory.parent, "check-ignore", "-q", "--", directory.name) is not None


def run_git(
    directory: Path, *arguments: str, given: bytes = b"", apart: bool = False
) -> subprocess.CompletedProcess[bytes] | None:
    """Run git in a directory with something on its standard input: None where there is no git.

    `apart` is as if the directory were in no repository, whatever is around it.
    """
    around = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env = {**around, "GIT_CEILING_DIRECTORIES": str(directory.parent)} if apart else None
    try:
        return subprocess.run(
            ["git", *arguments], cwd=directory, input=given, capture_output=True, check=False, env=env
        )
    except OSError:
        return None


def _git(directory: Path, *arguments: str) -> subprocess.CompletedProcess[bytes] | None:
    done = run_git(directory, *arguments)
    return done if done is not None and done.returncode == 0 else None


def _walk(top: Path) -> Iterator[Path]:
    """Return the Python files below a directory, and the directories that cannot be listed."""
    specs: dict[Path, list[tuple[Path, GitIgnoreSpec]]] = {}
    locked: list[OSError] = []
    for name, directories, files in os.walk(top, onerror=locked.append):
        here = Path(name)
        rules = [*specs.get(here.parent, []), *_gitignore(here)]
        specs[here] = rules
        directories[:] = [
            child
            for child in sorted(directories)
            if _is_source(here / child) and not _ignored(here / child, rules, "/")
        ]
        yield from (here / file for file in files if file.endswith(".py") and not _ignored(here / file, rules))
    yield from (Path(error.filename) for error in locked)


def _is_source(directory: Path) -> bool:
    hidden = directory.name.startswith(".")
    return not hidden and directory.name not in NEVER_SOURCE and not os.path.exists(directory / "pyvenv.cfg")  # noqa: PTH110


def _gitignore(directory: Path) -> list[tuple[Path, GitIgnoreSpec]]:
    try:
        text = (directory / ".gitignore").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return [(directory, _patterns(text.splitlines()))]


def _patterns(lines: Iterable[str]) -> GitIgnoreSpec:
    # Most projects have no patterns of ours, and git answers for its own.
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(lines)


def _ignored(path: Path, rules: list[tuple[Path, GitIgnoreSpec]], end: str = "") -> bool:
    # The innermost .gitignore that says anything about a path decides, as in git.
    for base, spec in reversed(rules):
        verdict = spec.check_file(path.relative_to(base).as_posix() + end).include
        if verdict is not None:
            return verdict
    return False
