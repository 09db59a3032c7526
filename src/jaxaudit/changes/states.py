"""States of the project's files: the working tree, a commit, or either with some files replaced.

Paths are those that reports show. Nothing is checked out: a commit is read from git's objects.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jaxaudit.changes.repository import Repository
from jaxaudit.config import Config, UsageError
from jaxaudit.discover import exclusion, show_path


@dataclass(frozen=True, slots=True)
class State:
    """The Python files of a project at one time."""

    name: str
    """What to call it: `the working tree`, `HEAD (3f2c1a9)`."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """The content of every file, by the path that reports show."""

    def with_files(self, changed: Mapping[str, bytes | None], name: str = "") -> State:
        """Return this state with some files replaced, or taken away where their content is None."""
        files = {**self.files, **changed}
        return State(name or self.name, {path: text for path, text in files.items() if text is not None})


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two states to compare, and what whoever asked should know of them."""

    before: State
    after: State
    remarks: tuple[str, ...] = ()

    @property
    def changed(self) -> tuple[str, ...]:
        """The files that differ, of either state."""
        before, after = self.before.files, self.after.files
        return tuple(sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path)))


def compared(repository: Repository | None, base: str, config: Config) -> Comparison:
    """Return the two states that a base means: nothing, `A`, `A..B` or `A...B`."""
    if repository is None:
        raise UsageError(
            f"{Path.cwd()} is not in a git repository, so there is no earlier state to compare with; "
            "`jaxaudit check` audits the files as they are, `jaxaudit diff -` takes a patch on standard input"
        )
    if ".." in base:
        return _between(repository, base, config)
    after = working_tree(repository, config)
    if not base and repository.is_empty:
        remark = "this repository has no commits yet, so all of it counts as new"
        return Comparison(State("nothing"), after, (remark,))
    before = commit_state(repository, base or "HEAD", config)
    return Comparison(before, after, (*_submodules(repository, base or "HEAD", ""), *_merge(repository)))


def working_tree(repository: Repository, config: Config) -> State:
    """Return the Python files of the working tree, saved or not yet committed."""
    wanted = _python(repository, repository.working_files(), config)
    texts = {shown: _on_disk(repository.root / name) for shown, name in wanted.items()}
    return State("the working tree", {path: text for path, text in texts.items() if text is not None})


def commit_state(repository: Repository, name: str, config: Config) -> State:
    """Return the Python files of a commit."""
    commit = repository.commit(name)
    tree = repository.tree(commit)
    wanted = _python(repository, tree, config)
    texts = repository.blobs(tree[inner] for inner in wanted.values())
    short = commit[:7]
    files = {shown: texts[tree[inner]] for shown, inner in wanted.items() if tree[inner] in texts}
    return State(short if commit.startswith(name) else f"{name} ({short})", files)


def _between(repository: Repository, base: str, config: Config) -> Comparison:
    dots = "..." if "..." in base else ".."
    one, _, other = base.partition(dots)
    one, other = one or "HEAD", other or "HEAD"
    first = repository.merge_base(one, other) if dots == "..." else one
    before, after = commit_state(repository, first, config), commit_state(repository, other, config)
    return Comparison(before, after, _submodules(repository, first, other))


def _python(repository: Repository, names: Mapping[str, str] | tuple[str, ...], config: Config) -> dict[str, str]:
    """Return the Python files among those of a repository, by the path to show, and their name inside."""
    excluded = exclusion(config)
    paths = ((repository.root / name, name) for name in names if name.endswith(".py"))
    return {show_path(path): name for path, name in paths if not excluded(path)}


def _on_disk(path: Path) -> bytes | None:
    try:
        return path.read_bytes() if not os.path.islink(path) else None  # noqa: PTH114
    except OSError:
        return None


def _submodules(repository: Repository, before: str, after: str) -> tuple[str, ...]:
    old = repository.submodules(repository.commit(before))
    new = repository.submodules(repository.commit(after) if after else "")
    moved = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    return tuple(f"the submodule `{name}` changed; its own files are not compared" for name in moved)


def _merge(repository: Repository) -> tuple[str, ...]:
    if not repository.merging:
        return ()
    told = f"a merge of {repository.merging[:7]} is under way: what it brings counts as changed"
    left = len(repository.conflicts)
    files = "1 file still has conflicts" if left == 1 else f"{left} files still have conflicts"
    return (f"{told}, and {files}" if left else told,)
